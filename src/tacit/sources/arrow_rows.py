"""Rows that come as Arrow record batches, whatever they come out of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from tacit.schema import Schema
from tacit.sources.base import Batch, Source, check_batch_rows, locate, unbroken
from tacit.sources.columns import check_type, parse_arrow


@dataclass(frozen=True)
class Part:
    """One stretch of the rows, such as one file of several, with a schema of its own.

    ``read`` takes the column names and the largest batch that is wanted, and gives record batches that hold at least
    these columns. Larger batches than wanted are cut. ``empty`` tells from a length or from metadata if there is no row
    at all, and says False where only reading would tell.
    """

    label: str
    schema: pa.Schema
    read: Callable[[Sequence[str], int], Iterable[pa.RecordBatch]]
    empty: Callable[[], bool] = lambda: False

    def is_empty(self) -> bool:
        """Whether there is certainly no row."""
        with suppress(Exception):  # a medium that breaks here breaks again when it is read, and that is told then
            return self.empty()
        return False


@dataclass(frozen=True)
class ArrowRows(Source):
    """The rows of ``parts``, one after the other. Each part is parsed by its own types: none is cast to another's."""

    parts: tuple[Part, ...]

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse columns that some part does not have, has twice, or has with a type that can not be parsed."""
        for part in self.parts:
            for name, position in locate(part.label, part.schema.names, columns).items():
                check_type(part.label, name, part.schema.field(position).type, schema[name])

    def has_no_rows(self, columns: Sequence[str]) -> bool:
        """Whether every part is known to be empty."""
        return all(part.is_empty() for part in self.parts)

    def batches(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Parse part by part."""
        check_batch_rows(batch_rows)
        self.check(schema, columns)
        for part in self.parts:
            yield from unbroken(part.label, _parse_part(part, schema, columns, batch_rows))


def one_part(
    label: str,
    schema: pa.Schema,
    read: Callable[[Sequence[str], int], Iterable[pa.RecordBatch]],
    empty: Callable[[], bool] = lambda: False,
) -> ArrowRows:
    """Rows that are all in one part."""
    return ArrowRows(label, tuple(schema.names), (Part(label, schema, read, empty),))


def _parse_part(part: Part, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
    for batch in part.read(columns, batch_rows):
        for start in range(0, batch.num_rows, batch_rows):
            yield _parse(batch.slice(start, batch_rows), schema, columns)


def _parse(batch: pa.RecordBatch, schema: Schema, columns: Sequence[str]) -> Batch:
    names = batch.schema.names
    return Batch(batch.num_rows, {name: parse_arrow(batch.column(names.index(name)), schema[name]) for name in columns})
