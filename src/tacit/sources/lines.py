"""A block of delimited text, split into lines and cells.

A row is a line: it ends at ``\\n``, and one ``\\r`` before that belongs to the line's end. Inside a line the quotes of
RFC 4180 work: a cell that begins with ``"`` runs to the next ``"`` that is not doubled, and delimiters in between are
text. But a quoted cell can not span lines: a quote that is still open at the end of its line ends there. So the number
of rows is the number of lines, and no cell, however it is quoted, can change what another row holds or if it counts.

The last line may lack its newline and is a row all the same; nothing at all behind the last newline is no line. So a
row that may be an empty line, as in a file with one column, must end with a newline (`csv_file` sees to that).

Lines are never refused. Cells that a short line lacks are empty, what a long line has too many is ignored, a blank line
is a row of empty cells, and a quote inside an unquoted cell or text after a closing quote are taken as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_kernels: Any = pyarrow.compute  # made at run time: the type checker knows none of them


def split_line(line: bytes, delimiter: bytes) -> list[bytes]:
    """The cells of one line, which comes without its line end."""
    cells: list[bytes] = []
    position = 0
    while True:
        head = b""
        if line.startswith(b'"', position):
            head, position = _quoted(line, position + 1)
        stop = line.find(delimiter, position)
        if stop < 0:
            cells.append(head + line[position:])
            return cells
        cells.append(head + line[position:stop])
        position = stop + 1


def _quoted(line: bytes, position: int) -> tuple[bytes, int]:
    """The text from just behind an opening quote, and the position just behind the closing one."""
    pieces: list[bytes] = []  # joined once: adding to the text would take time quadratic in its quotes
    while True:
        stop = line.find(b'"', position)
        if stop < 0:
            return b"".join([*pieces, line[position:]]), len(line)
        if not line.startswith(b'"', stop + 1):
            return b"".join([*pieces, line[position:stop]]), stop + 1
        pieces.append(line[position : stop + 1])
        position = stop + 2


def split_block(block: bytes, delimiter: bytes, fields: Sequence[int]) -> tuple[int, list[pa.Array]]:
    """The number of lines in ``block``, which ends with a newline, and the cells of the wanted ``fields``, as bytes.

    Every line comes out as from `split_line`. Plain lines, and lines whose quotes enclose whole cells, are split by
    array arithmetic; the few others, with quotes that are misplaced or left open, one by one.
    """
    data = np.frombuffer(block, np.uint8)
    newlines = np.flatnonzero(data == _NEWLINE)
    starts = np.concatenate([[0], newlines[:-1] + 1])
    ends = newlines - (data[newlines - 1] == _RETURN)  # in front of a blank line stands a newline; so it does at -1
    delimiters = np.flatnonzero(data == delimiter[0])
    odd_lines = np.zeros(len(newlines), bool)
    quotes = np.flatnonzero(data == _QUOTE)
    doubled = b'""' in block
    if len(quotes):
        before = np.searchsorted(quotes, starts)
        odd_lines = _misquoted(data, delimiter, quotes, before, np.searchsorted(newlines, quotes), starts, ends)
        # Behind an odd number of quotes a delimiter is text.
        depth = np.searchsorted(quotes, delimiters) - before[np.searchsorted(newlines, delimiters)]
        delimiters = delimiters[depth % 2 == 0]
    first = np.searchsorted(delimiters, starts)
    count = np.searchsorted(delimiters, ends) - first
    padded = np.append(delimiters, 0)  # what stands at an index past the line's delimiters is never used

    columns: list[pa.Array] = []
    last = len(delimiters)
    for field in fields:
        stops = np.where(field < count, padded[np.minimum(first + field, last)], ends)
        begins = starts
        if field:
            begins = np.where(field <= count, padded[np.minimum(first + field - 1, last)] + 1, ends)
        if len(quotes):
            enclosed = ~odd_lines & (begins < stops) & (data[begins] == _QUOTE)
            begins, stops = begins + enclosed, stops - enclosed
        cells = _cut(block, begins, stops)
        columns.append(_kernels.replace_substring(cells, '""', '"') if doubled else cells)

    if odd_lines.any():
        lines = [split_line(block[starts[i] : ends[i]], delimiter) for i in np.flatnonzero(odd_lines)]
        for i, field in enumerate(fields):
            cells = pa.array([line[field] if field < len(line) else b"" for line in lines], pa.large_binary())
            columns[i] = _kernels.replace_with_mask(columns[i], pa.array(odd_lines), cells)
    return len(newlines), columns


def _misquoted(
    data: np.ndarray,
    delimiter: bytes,
    quotes: np.ndarray,
    before: np.ndarray,
    line: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> np.ndarray:
    """Which lines hold a quote that is neither doubled nor opens or closes a whole cell.

    ``quotes`` are the positions of all quotes, ``line`` the line of each, ``before`` how many stand before each line.
    In the other lines the quotes open and close in turn, an opening one at a cell's start, a closing one at its end; a
    doubled quote inside a quoted cell passes for one that closes and one that opens at once.
    """
    opens = (np.arange(len(quotes)) - before[line]) % 2 == 0
    left, right = data[quotes - 1], data[quotes + 1]
    at_start = (quotes == starts[line]) | (left == delimiter[0]) | (left == _QUOTE)
    at_end = (quotes + 1 == ends[line]) | (right == delimiter[0]) | (right == _QUOTE)
    wrong = line[~np.where(opens, at_start, at_end)]
    misquoted = np.bincount(line, minlength=len(starts)) % 2 == 1
    misquoted[wrong] = True
    return misquoted


def _cut(block: bytes, begins: np.ndarray, stops: np.ndarray) -> pa.Array:
    """The pieces ``block[begins[i]:stops[i]]``, which stand in order and do not overlap."""
    # Seen as begin, stop, begin, stop, ... the positions cut the block into wanted and unwanted pieces by turns.
    offsets = np.stack([begins, stops], axis=1).ravel().astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    pieces = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    return pieces.take(pa.array(np.arange(0, len(offsets), 2)))
