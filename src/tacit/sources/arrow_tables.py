"""Arrow data in memory or on its way: tables, streams, record batches and datasets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tacit.errors import expected
from tacit.sources.arrow_rows import ArrowRows, Part, one_part
from tacit.sources.base import is_a
from tacit.sources.folders import check_plain, has_twice


@dataclass(frozen=True)
class TablePart(Part):
    """The rows of a table."""

    table: pa.Table

    def rows(self) -> int:
        return self.table.num_rows

    def read(self, columns: Sequence[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        positions = [self.table.schema.names.index(name) for name in columns]
        return self.table.select(positions).to_batches(batch_rows)


@dataclass(frozen=True)
class StreamPart(Part):
    """The rows of an object that streams them, which may be read only once."""

    data: Any
    waiting: list[Any]
    """The stream that was opened for its schema and has given no row yet."""

    @property
    def read_once(self) -> bool:
        """It may be, unless it is a frame, which streams its rows anew each time."""
        return not is_a(self.data, "polars", "DataFrame")

    def read(self, columns: Sequence[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        return self.waiting.pop() if self.waiting else pa.RecordBatchReader.from_stream(self.data)


@dataclass(frozen=True)
class DatasetPart(Part):
    """The rows of a dataset, or of one of its fragments, which every process can read that gets at its files."""

    dataset: Any

    @property
    def portable(self) -> bool:
        """Whether its rows are in files."""
        import pyarrow.dataset as ds

        return isinstance(self.dataset, ds.FileSystemDataset | ds.FileFragment)

    def rows(self) -> int:
        return self.dataset.count_rows()

    def pieces(self, least_rows: int) -> Sequence[Part]:
        """The fragments. Read by itself, a fragment has only its own columns, so the dataset's schema goes along."""
        import pyarrow.dataset as ds

        if not isinstance(self.dataset, ds.FileSystemDataset):
            return (self,)
        return [DatasetPart(self.label, self.schema, fragment) for fragment in self.dataset.get_fragments()]

    def read(self, columns: Sequence[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        """Few batches ahead: the default holds hundreds of megabytes."""
        import pyarrow.dataset as ds

        names = [name for name in self.schema.names if name in columns]
        options: dict[str, Any] = {"schema": self.schema} if isinstance(self.dataset, ds.Fragment) else {}
        return self.dataset.to_batches(
            columns=names, batch_size=batch_rows, batch_readahead=2, fragment_readahead=1, use_threads=False, **options
        )


def open_table(table: pa.Table) -> ArrowRows:
    """The rows of a table."""
    return one_part(TablePart("the table", table.schema, table))


def open_stream(data: Any) -> ArrowRows:
    """The rows of any object that speaks the Arrow C stream protocol; many can be read only once."""
    label = f"the {type(data).__name__}"
    data = _narrowed(data) if is_a(data, "polars", "DataFrame") else data
    waiting: list[Any] = []
    with suppress(Exception):
        waiting.append(pa.RecordBatchReader.from_stream(data))
    if not waiting:  # raised out here: see `unbroken`
        raise expected("data", label, "to stream Arrow record batches")
    return one_part(StreamPart(label, waiting[0].schema, data, waiting))


def _narrowed(frame: Any) -> Any:
    """A polars frame whose integers of 128 bits, for which Arrow has no type, are text that spells them."""
    wide = [name for name, kind in frame.schema.items() if str(kind) in {"Int128", "UInt128"}]
    return frame.cast(dict.fromkeys(wide, sys.modules["polars"].String)) if wide else frame


def open_dataset(dataset: Any, columns: Sequence[str]) -> ArrowRows:
    """The rows of a dataset whose files have types of their own.

    Text formats are refused, because Arrow guesses their types from values; so are files that differ in the type of a
    needed column, because Arrow would cast one to the other and fail on some values; so is a filter, because the number
    of rows is public and would depend on them. So is a needed column that is the names of folders, whatever its type:
    Arrow guesses that from all of the names, so one person's folder would decide about it.
    """
    _check_dataset(dataset, columns)
    files = list(_files(dataset))
    if has_twice(files):
        raise expected("data", "the dataset", "to name every file once; a link is another name")
    check_plain("the dataset", filter(os.path.exists, files))
    return one_part(DatasetPart("the dataset", dataset.schema, dataset))


def _files(dataset: Any) -> Iterator[str]:
    """The paths of all files, whole where they are on this machine."""
    import pyarrow.dataset as ds
    from pyarrow import fs

    if isinstance(dataset, ds.UnionDataset):
        for child in dataset.children:
            yield from _files(child)
    if isinstance(dataset, ds.FileSystemDataset):
        below = dataset.filesystem.base_path if isinstance(dataset.filesystem, fs.SubTreeFileSystem) else ""
        yield from (os.path.join(below, file) for file in dataset.files)


def _check_dataset(dataset: Any, columns: Sequence[str]) -> None:
    import pyarrow.dataset as ds  # it imports pandas where that is installed

    if "filter" in getattr(dataset, "_scan_options", {}):
        raise expected("data", "the dataset", "to be whole, without a filter, which would make n depend on the data")
    if isinstance(dataset, ds.UnionDataset):
        for child in dataset.children:
            _check_dataset(child, columns)
    if not isinstance(dataset, ds.FileSystemDataset):
        return
    if isinstance(dataset.format, ds.CsvFileFormat | ds.JsonFileFormat):
        raise expected("data", "the dataset", "to hold Parquet or Arrow files; give a CSV file by its path")
    fragments = list(dataset.get_fragments())
    folders = _folder_columns(dataset, fragments)
    for name in columns:
        if name in folders:
            raise expected(
                "column",
                name,
                "to be stored in the files of the dataset, not in the names of its folders, whose type Arrow guesses "
                "from all of them; give the path of the folder instead, whose names tacit reads as text",
            )
        declared = _types(dataset.schema, name)
        stored = [_types(fragment.physical_schema, name) for fragment in fragments]
        if declared and not all(stored):
            raise expected("column", name, "to be stored in every file of the dataset")
        if len(declared.union(*stored)) > 1:
            raise expected("column", name, "to have the same type in every file of the dataset")


def _folder_columns(dataset: Any, fragments: Sequence[Any]) -> set[str]:
    """The columns that come from the names of folders, as far as Arrow tells."""
    import pyarrow.dataset as ds

    partitioning = getattr(dataset, "partitioning", None)  # None where the fragments were put together by hand
    found = set() if partitioning is None else set(partitioning.schema.names)
    for fragment in fragments:
        found |= set(ds.get_partition_keys(fragment.partition_expression))
    return found


def _types(schema: pa.Schema, name: str) -> set[Any]:
    return {schema.field(i).type for i in schema.get_all_field_indices(name)}
