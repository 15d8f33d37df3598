"""A delimited text file: `lines` says what a row and a cell are, `cells` what a cell means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path

from tacit.errors import expected
from tacit.schema import Schema
from tacit.sources.base import Batch, Source, check_batch_rows, label_of, locate
from tacit.sources.columns import parse_text
from tacit.sources.lines import split_block, split_line

_BLOCK_BYTES = 2**22
_HEADER_BYTES = 2**20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvFile(Source):
    """A file whose first line names the columns and whose other lines are rows, one each.

    A quoted cell can not span lines (see `lines`), so the number of rows is the number of lines behind the header; a
    newline at the very end of the file starts no further row, and a last line without one is a row all the same.

    That takes care of writers that leave out the last newline, but for one case: with a single column, a last cell that
    is empty leaves nothing behind the newline before it, and the number of rows, which is public, would depend on that
    cell. So a file with one column must end every row, the last one too, with a newline. Its last byte alone decides;
    without the newline it is refused before anything is paid. With more columns there is a delimiter in every row that
    a writer makes, whatever the cells hold. Cells are UTF-8; bytes that are not are replaced. Types
    are never guessed: the schema says what a column is.
    """

    path: Path
    delimiter: bytes
    body: int
    """Where the rows begin, in bytes."""

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse columns that the header does not name, or names twice."""
        locate(self.label, self.names, columns)

    def has_no_rows(self, columns: Sequence[str]) -> bool:
        """Whether the file ends with its header."""
        try:
            return self.path.stat().st_size <= self.body
        except OSError:  # it was there a moment ago; reading it will say what is wrong
            return False

    def batches(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Parse the file block by block."""
        check_batch_rows(batch_rows)
        fields = locate(self.label, self.names, columns)
        for block in self._blocks():
            rows, cells = split_block(block, self.delimiter, list(fields.values()))
            parsed = {name: parse_text(column, schema[name]) for name, column in zip(fields, cells, strict=True)}
            yield from Batch(rows, parsed).split(batch_rows)

    def _blocks(self) -> Iterator[bytes]:
        """The rows as bytes, some whole lines at a time, the last line ended with a newline if it had none."""
        pieces: list[bytes] = []
        broken = False
        try:
            with self.path.open("rb") as file:
                file.seek(self.body)
                while piece := file.read(_BLOCK_BYTES):
                    cut = piece.rfind(b"\n") + 1
                    if cut:
                        yield b"".join([*pieces, piece[:cut]])
                        pieces = []
                    pieces.append(piece[cut:])
        except OSError:
            broken = True
        if broken:  # raised out here: see `unbroken`
            raise expected("data", self.label, "to be readable to its end")
        if tail := b"".join(pieces):
            yield tail + b"\n"


def open_csv(path: Path, delimiter: bytes) -> CsvFile:
    """Read the header of the file at ``path``, and the last byte: is it a newline?"""
    label = label_of(path)
    line: bytes | None = None
    ended = True
    with suppress(OSError), path.open("rb") as file:
        line = file.readline(_HEADER_BYTES)
        if file.seek(0, SEEK_END) > len(line):
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
    try:
        names = tuple(cell.decode().strip() for cell in split_line(line, delimiter))
    except UnicodeDecodeError:
        names = None
    if names is None:  # raised out here: the decoder's error would carry the bytes along
        raise expected("data", label, "to have a header in UTF-8")
    if len(names) == 1 and not ended:
        raise expected("data", label, "to end its last line with a newline, as it has only one column")
    return CsvFile(label, names, path, delimiter, body)
