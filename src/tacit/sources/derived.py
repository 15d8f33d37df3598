"""A table whose rows have more columns than are stored: those that a plan derives, and whether a row counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tacit.expressions.derive import RowFilter
from tacit.expressions.rows import Reading
from tacit.schema import Schema
from tacit.sources.base import Batch, FileState, Pull, Source
from tacit.sources.open import open_source


@dataclass(frozen=True)
class DerivedRows(Source):
    """The rows of ``table`` with what ``reading`` derives of each.

    They are the same rows, as many and in the same order, whatever they hold: of a row that does not pass the filter
    the batch says that it does not count. Who asks for rows asks for the columns of ``reading``, by its schema.
    """

    table: Source
    reading: Reading

    @property
    def typed_elsewhere(self) -> bool:
        """Whether the table is."""
        return self.table.typed_elsewhere

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse what the table refuses of the columns that have to be read."""
        self.table.check(self.reading.parsed_by, self.reading.of_table)

    def rows(self, columns: Sequence[str]) -> int | None:
        """The table's."""
        return self.table.rows(self.reading.of_table)

    def has_no_rows(self, columns: Sequence[str]) -> bool:
        """Whether the table has none."""
        return self.table.has_no_rows(self.reading.of_table)

    def pieces(self, columns: Sequence[str], least_rows: int) -> tuple[Source, ...]:
        """Those of the table."""
        found = self.table.pieces(self.reading.of_table, least_rows)
        return tuple(replace(self, label=piece.label, names=piece.names, table=piece) for piece in found)

    @property
    def portable(self) -> bool:
        """Whether the table is."""
        return self.table.portable

    @property
    def read_once(self) -> bool:
        """Whether the table is."""
        return self.table.read_once

    def reachable(self) -> bool:
        """Whether the table is."""
        return self.table.reachable()

    def files(self) -> tuple[FileState, ...]:
        """The table's."""
        return self.table.files()

    @property
    def labels(self) -> tuple[str, ...]:
        """The table's."""
        return self.table.labels

    def pulls(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Pull]:
        """The table's, each followed by what is derived of its rows."""
        for pull in self.table.pulls(self.reading.parsed_by, self.reading.of_table, batch_rows):
            yield partial(_derived, pull, self.reading)


def _derived(pull: Pull, reading: Reading) -> Batch:
    batch = pull()
    columns, kept = reading.derive(batch.columns)
    return Batch(batch.rows, columns, kept)


def open_rows(data: Any, columns: Sequence[str], schema: Schema, rows: RowFilter | None = None) -> Source:
    """Open ``data``, one table that has, or from which follow, ``columns``; ``rows`` says which of its rows count."""
    reading = Reading(schema, tuple(columns), rows)
    if rows is None and not reading.made:
        return open_source(data, columns, schema)
    table = open_source(data, reading.of_table, reading.parsed_by)
    return DerivedRows(table.label, table.names, table, reading)
