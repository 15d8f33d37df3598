"""Files with types of their own: Parquet and Arrow IPC.

What is remembered of a file when it is opened, the types of its columns and its number of rows, must still hold when it
is read, perhaps by another process and later: a file that was changed or cut short in between is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.errors import expected
from tacit.sources.arrow_rows import ArrowRows, FilePart, Part
from tacit.sources.base import label_of

_BUFFER_BYTES = 2**16  # read ahead of each column


@dataclass(frozen=True)
class ParquetPart(FilePart):
    """Some row groups of one Parquet file, from ``first`` on.

    ``group_rows`` is the number of rows in each. ``folders`` are columns that are not in the file but in the names of
    the folders that it lies in, with the text of their one cell.
    """

    group_rows: tuple[int, ...]
    first: int = 0
    folders: Mapping[str, str | None] = field(default_factory=dict[str, str | None])

    def rows(self) -> int:
        return sum(self.group_rows)

    def pieces(self, least_rows: int) -> Sequence[Part]:
        """Runs of row groups."""
        found: list[Part] = []
        begin, rows = 0, 0
        for i, more in enumerate(self.group_rows):
            rows += more
            if rows >= least_rows or i == len(self.group_rows) - 1:
                found.append(replace(self, group_rows=self.group_rows[begin : i + 1], first=self.first + begin))
                begin, rows = i + 1, 0
        return found

    def read(self, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """One row group at a time, page by page."""
        stored = [name for name in columns if name not in self.folders]
        groups = list(range(self.first, self.first + len(self.group_rows)))
        seen = 0
        with pa.OSFile(str(self.path)) as file, _reader(file) as reader:
            self._check_same(reader, stored)
            for batch in reader.iter_batches(batch_rows, row_groups=groups, columns=stored, use_threads=False):
                seen += batch.num_rows
                yield self._with_folders(batch, columns)
        if seen != self.rows():
            raise EOFError  # whoever reads it says so

    def _check_same(self, reader: Any, stored: Sequence[str]) -> None:
        now = reader.schema_arrow
        same = [now.field(name).type == self.schema.field(name).type for name in stored]
        rows = [reader.metadata.row_group(self.first + i).num_rows for i in range(len(self.group_rows))]
        if not all(same) or tuple(rows) != self.group_rows:
            raise EOFError

    def _with_folders(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        for name in columns:
            if name in self.folders:
                cell = pa.scalar(self.folders[name], pa.string())
                batch = batch.append_column(name, pa.repeat(cell, batch.num_rows))
        return batch


@dataclass(frozen=True)
class IpcPart(FilePart):
    """One Arrow IPC file, of so many record ``batches``. ``names`` are all of its columns, in order."""

    names: tuple[str, ...]
    batches: int

    def rows(self) -> int:
        """From the headers of the batches."""
        return sum(batch.num_rows for batch in self.read(self.names[:1], 1))

    def read(self, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Record batch by record batch, only the columns that are needed."""
        options = pa.ipc.IpcReadOptions(included_fields=[self.names.index(name) for name in columns])
        with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file, options=options) as reader:
            if reader.num_record_batches != self.batches:
                raise EOFError  # whoever reads it says so
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)


def open_parquet(label: str, files: Sequence[tuple[Path, str, Mapping[str, str | None]]]) -> ArrowRows:
    """The rows of ``files``, in that order; each is read by its own schema. Only the footers are read here.

    A file comes with the name that messages call it by, and with what the names of its folders say.
    """
    parts = tuple(_parquet_part(*file) for file in files)
    return ArrowRows(label, tuple(parts[0].schema.names), parts)


def open_ipc(path: Path) -> ArrowRows:
    """The rows of one Arrow IPC file, which is also what Feather (version 2) writes."""
    label = label_of(path)
    found: tuple[Any, int] | None = None
    with suppress(Exception), pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        found = reader.schema, reader.num_record_batches
    if found is None:  # raised out here: see `unbroken`
        raise expected("data", label, "to be an Arrow IPC file")
    schema, batches = found
    names = tuple(schema.names)
    return ArrowRows(label, names, (IpcPart(label, schema, path, names, batches),))


def _parquet_part(path: Path, label: str, folders: Mapping[str, str | None]) -> Part:
    footer: tuple[Any, tuple[int, ...]] | None = None
    with suppress(Exception), pa.OSFile(str(path)) as file, _reader(file) as reader:
        metadata = reader.metadata
        # A footer by itself, as `_metadata` is, tells of row groups in other files.
        groups = range(metadata.num_row_groups if metadata.num_columns else 0)
        if any(metadata.row_group(i).column(0).file_path for i in groups):
            raise ValueError
        footer = reader.schema_arrow, tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if footer is None:  # raised out here: see `unbroken`
        raise expected("data", label, "to be a Parquet file that holds its rows")
    schema, group_rows = footer
    for name in folders:
        schema = schema.append(pa.field(name, pa.string()))
    return ParquetPart(label, schema, path, group_rows, 0, folders)


def _reader(file: Any) -> Any:
    from pyarrow import parquet  # slow to import, and many tables come another way

    # Without these two a whole row group is held in memory, however small the batches are. A small buffer, which stays
    # in a core's cache, is also the fastest.
    return parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER_BYTES)
