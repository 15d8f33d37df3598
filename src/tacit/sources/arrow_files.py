"""Files with types of their own: Parquet, one or a folder of them, and Arrow IPC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.errors import expected
from tacit.sources.arrow_rows import ArrowRows, Part
from tacit.sources.base import label_of


def open_parquet(path: Path, files: Sequence[Path]) -> ArrowRows:
    """The rows of ``files``, in that order; each is read by its own schema. Only the footers are read here."""
    parts = tuple(_parquet_part(file) for file in files)
    return ArrowRows(label_of(path), tuple(parts[0].schema.names), parts)


def open_ipc(path: Path) -> ArrowRows:
    """The rows of one Arrow IPC file, which is also what Feather (version 2) writes."""
    label = label_of(path)
    schema: Any = None
    with suppress(Exception), pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        schema = reader.schema
    if schema is None:  # raised out here: see `unbroken`
        raise expected("data", label, "to be an Arrow IPC file")

    def read(columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        options = pa.ipc.IpcReadOptions(included_fields=[schema.names.index(name) for name in columns])
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file, options=options) as reader:
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)

    def empty() -> bool:
        # Batches may be empty. Their headers say how long they are; the first one with a row ends the search.
        return not any(batch.num_rows for batch in read(schema.names[:1], 1))

    return ArrowRows(label, tuple(schema.names), (Part(label, schema, read, empty),))


def _parquet_part(path: Path) -> Part:
    label = label_of(path)
    footer: tuple[Any, int] | None = None
    with suppress(Exception), pa.OSFile(str(path)) as file, _reader(file) as reader:
        footer = reader.schema_arrow, reader.metadata.num_rows
    if footer is None:  # raised out here: see `unbroken`
        raise expected("data", label, "to be a Parquet file")
    schema, rows = footer

    def read(columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(path)) as file, _reader(file) as reader:
            yield from reader.iter_batches(batch_size=batch_rows, columns=list(columns))

    return Part(label, schema, read, lambda: rows == 0)


def _reader(file: Any) -> Any:
    from pyarrow import parquet  # slow to import, and many tables come another way

    # Without this a whole row group is held in memory, however small the batches are.
    return parquet.ParquetFile(file, pre_buffer=False)
