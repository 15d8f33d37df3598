"""A delimited text file: `lines` says what a row and a cell are, `cells` what a cell means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from os import SEEK_END
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from tacit._support.cell_forms import SPACES
from tacit.errors import expected
from tacit.schema import Column, Gaps, Number, Schema, Screened
from tacit.sources.base import (
    Batch,
    FileState,
    Pull,
    Source,
    check_batch_rows,
    file_state,
    label_of,
    locate,
    unbroken,
)
from tacit.sources.classes import parse_text
from tacit.sources.lines import split_block, split_line

_SEMICOLON = b";"
_SEPARATED = rf"\A[{SPACES}]*[+-]?[0-9]{{1,3}}(?:\.[0-9]{{3}})+,[0-9]*[{SPACES}]*\z"
_BLOCK_BYTES = 2**22
_PIECE_BYTES = 2**25
_HEADER_BYTES = 2**20
_BOM = b"\xef\xbb\xbf"
_kernels: Any = pyarrow.compute  # made at run time: the type checker knows none of them


@dataclass(frozen=True)
class CsvFile(Source):
    """A file whose first line names the columns and whose other lines are rows, one each.

    A quoted cell can not span lines (see `lines`), so the number of rows is the number of lines behind the header; a
    newline at the very end of the file starts no further row, and a last line without one is a row all the same.

    That takes care of writers that leave out the last newline, but for one case: with a single column, a last cell that
    is empty leaves nothing behind the newline before it, and the number of rows, which is public, would depend on that
    cell. So a file with one column must end every row, the last one too, with a newline. Its last byte alone decides;
    without the newline it is refused before anything is paid. With more columns there is a delimiter in every row that
    a writer makes, whatever the cells hold. Cells are bytes, UTF-8 or not. Types
    are never guessed: the schema says what a column is.

    Spreadsheets of many countries write semicolons between cells, because a comma is their decimal point. The header
    line alone decides (`delimiter_of`): it holds names and no row. In such a file a comma in a cell of a number counts
    as a point, each cell by itself, so that ``1,5`` is 1.5 and ``1.5`` too. Points between thousands are dropped where
    a comma follows them, so that ``1.234,5`` is 1234.5; alone, ``1.234`` is a little more than 1.
    """

    path: Path
    delimiter: bytes
    body: int
    """Where the rows begin, in bytes."""
    size: int
    """Where they end. What is added to the file later is not read."""
    start: int
    """Rows whose line begins before this byte are left to another piece of the file."""
    stop: int
    """So are rows whose line begins at this byte or behind it."""

    @property
    def typed_elsewhere(self) -> bool:
        """No: a cell is its bytes."""
        return False

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse columns that the header does not name, or names twice."""
        locate(self.label, self.names, columns)

    def has_no_rows(self, columns: Sequence[str]) -> bool:
        """Whether the file ends with its header."""
        return self.size <= self.body

    def pieces(self, columns: Sequence[str], least_rows: int) -> tuple[Source, ...]:
        """Stretches of bytes. Which lines are whose is decided by where they begin, so no line is looked at here."""
        cuts = [*range(self.start, self.stop, _PIECE_BYTES), self.stop]
        return tuple(replace(self, start=start, stop=stop) for start, stop in pairwise(cuts))

    @property
    def portable(self) -> bool:
        return True

    def reachable(self) -> bool:
        """Whether this process sees the file."""
        return self.path.is_file()

    def files(self) -> tuple[FileState, ...]:
        return (file_state(self.path),)

    def pulls(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Pull]:
        check_batch_rows(batch_rows)
        fields = locate(self.label, self.names, columns)
        blocks = (partial(_parse_block, block, self.delimiter, fields, schema) for block in self._blocks())
        yield from unbroken(self.label, blocks)

    def _blocks(self) -> Iterator[bytes]:
        """The rows as bytes, some whole lines at a time, the last line ended with a newline if it had none."""
        with self.path.open("rb") as file:
            place = self.start
            if place > self.body:  # the line that is under way at the byte before is another piece's
                file.seek(place - 1)
                place += len(file.readline(self.size - place + 1)) - 1
            else:
                file.seek(place)
            rest = b""
            while place < self.stop:
                block = file.read(min(_BLOCK_BYTES, self.stop - place))
                if not block:
                    raise EOFError  # the file was cut short
                place += len(block)
                if place == self.stop and place < self.size and not block.endswith(b"\n"):
                    block += file.readline(self.size - place)
                cut = block.rfind(b"\n") + 1
                if cut:
                    yield rest + block[:cut]
                    rest = b""
                rest += block[cut:]
        if rest:
            yield rest + b"\n"


def _parse_block(block: bytes, delimiter: bytes, fields: dict[str, int], schema: Schema) -> Batch:
    rows, cells = split_block(block, delimiter, list(fields.values()))
    if delimiter == _SEMICOLON:
        cells = [_with_points(one, schema[name]) for name, one in zip(fields, cells, strict=True)]
    return Batch(rows, {name: parse_text(column, schema[name]) for name, column in zip(fields, cells, strict=True)})


def _with_points(cells: pa.Array, column: Column) -> pa.Array:
    """Decimal commas as points, in cells of a number. Levels and identifiers stay as they are."""
    declared = column.column if isinstance(column, Screened | Gaps) else column
    if not isinstance(declared, Number):
        return cells
    separated = _kernels.match_substring_regex(cells, _SEPARATED)
    whole = _kernels.if_else(separated, _kernels.replace_substring(cells, ".", ""), cells)
    return _kernels.replace_substring(whole, ",", ".")


def delimiter_of(header: bytes) -> bytes:
    """What stands between the cells of a ``.csv`` file: a semicolon where its header has more of them than commas.

    What stands between quotes is not counted.
    """
    plain = re.sub(rb'"[^"]*"', b"", header)
    return _SEMICOLON if plain.count(_SEMICOLON) > plain.count(b",") else b","


def open_csv(path: Path, delimiter: bytes | None = None) -> CsvFile:
    """Read the header of the file at ``path``, and the last byte: is it a newline?

    Without a ``delimiter`` the header says which it is (`delimiter_of`).
    """
    label = label_of(path)
    line: bytes | None = None
    size = 0
    ended = True
    with suppress(OSError), path.open("rb") as file:
        line = file.readline(_HEADER_BYTES)
        size = file.seek(0, SEEK_END)
        if size > len(line):
            file.seek(-1, SEEK_END)
            ended = file.read(1) == b"\n"
    if line is None:  # raised out here: see `unbroken`
        raise expected("data", label, "to be a file that can be read")
    if len(line) == _HEADER_BYTES:
        raise expected("data", label, "to begin with a header line of less than 1 MiB")
    body = len(line)
    line = line.removeprefix(_BOM).removesuffix(b"\n").removesuffix(b"\r")
    if not line.strip():
        raise expected("data", label, "to begin with a header line that names its columns")
    if b"\r" in line:
        # With the line ends of old Macs the whole file would pass for its header, and its rows for names.
        raise expected("data", label, "to end its lines with a newline, or a carriage return and a newline")
    delimiter = delimiter_of(line) if delimiter is None else delimiter
    try:
        names = tuple(cell.decode().strip() for cell in split_line(line, delimiter))
    except UnicodeDecodeError:
        names = None
    older = "UTF-16" if line[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
    if names is None:  # raised out here: the decoder's error would carry the bytes along
        raise expected("data", label, f"to have a header in UTF-8; `iconv -f {older} -t UTF-8` converts older files")
    if len(names) == 1 and not ended:
        raise expected("data", label, "to end its last line with a newline, as it has only one column")
    return CsvFile(label, names, path, delimiter, body, size, body, size)
