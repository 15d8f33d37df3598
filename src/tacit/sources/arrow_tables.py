"""Arrow data in memory or on its way: tables, streams, record batches and datasets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from tacit.errors import expected
from tacit.sources.arrow_rows import ArrowRows, one_part


def open_table(table: pa.Table) -> ArrowRows:
    """The rows of a table."""

    def read(columns: Sequence[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        return table.select([table.schema.names.index(name) for name in columns]).to_batches(batch_rows)

    return one_part("the table", table.schema, read, lambda: table.num_rows == 0)


def open_stream(data: Any) -> ArrowRows:
    """The rows of any object that speaks the Arrow C stream protocol; many can be read only once."""
    label = f"the {type(data).__name__}"
    waiting: list[Any] = []
    with suppress(Exception):
        waiting.append(pa.RecordBatchReader.from_stream(data))
    if not waiting:  # raised out here: see `unbroken`
        raise expected("data", label, "to stream Arrow record batches")
    schema = waiting[0].schema

    def read(columns: Sequence[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        # The first stream was opened for its schema and has given no row yet.
        return waiting.pop() if waiting else pa.RecordBatchReader.from_stream(data)

    return one_part(label, schema, read)


def open_dataset(dataset: Any, columns: Sequence[str]) -> ArrowRows:
    """The rows of a dataset whose files have types of their own.

    Text formats are refused, because Arrow guesses their types from values; so are files that differ in the type of a
    needed column, because Arrow would cast one to the other and fail on some values; so is a filter, because the number
    of rows is public and would depend on them.
    """
    _check_formats(dataset, columns)

    def read(columns: Sequence[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        return dataset.to_batches(columns=list(columns), batch_size=batch_rows)

    return one_part("the dataset", dataset.schema, read, lambda: dataset.count_rows() == 0)


def _check_formats(dataset: Any, columns: Sequence[str]) -> None:
    import pyarrow.dataset as ds  # it imports pandas where that is installed

    if "filter" in getattr(dataset, "_scan_options", {}):
        raise expected("data", "the dataset", "to be whole, without a filter")
    if isinstance(dataset, ds.UnionDataset):
        for child in dataset.children:
            _check_formats(child, columns)
    if not isinstance(dataset, ds.FileSystemDataset):
        return
    if isinstance(dataset.format, ds.CsvFileFormat | ds.JsonFileFormat):
        raise expected("data", "the dataset", "to hold Parquet or Arrow files; give a CSV file by its path")
    for name in columns:
        kinds = {dataset.schema.field(i).type for i in dataset.schema.get_all_field_indices(name)}
        for fragment in dataset.get_fragments():
            inside = fragment.physical_schema
            kinds |= {inside.field(i).type for i in inside.get_all_field_indices(name)}
        if len(kinds) > 1:
            raise expected("column", name, "to have the same type in every file of the dataset")
