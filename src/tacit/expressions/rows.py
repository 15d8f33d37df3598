"""What has to be read of a table so that derived columns, and the filter, are known; and how they are made of it.

Everything is done column by column over whatever rows come together. Each operation gives each row a value that is the
same in any company (see `numbers`), so that neither the batch nor a thread has a part in it.

Proof: that a release of derived columns under a filter has the price of one whose columns are all in the table, under
either neighbour relation, in whatever norm the statistic's sensitivity is stated. The cells of the derived columns, and
whether the row passes, are a function of that row's cells alone, total, with values in the declared bounds and levels,
by the last step of each column here. So the table of all columns is made row by row, and two tables that differ in one
row, or in the rows of one person, are made into two that do. A row that does not pass is one whose vector is 0: with
rows added or removed the sum moves by at most one record's vector, which is what its sensitivity is about. []
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.expressions.cells import Numeric, RowCells
from tacit.expressions.derive import Derived, RowFilter, asks, reads
from tacit.schema import Category, Number, Schema, Screened


@dataclass(frozen=True)
class Reading:
    """The ``columns`` that are wanted of each row, and the ``rows`` that count (None: all)."""

    schema: Schema
    columns: tuple[str, ...]
    rows: RowFilter | None = None

    @property
    def _wanted(self) -> tuple[str, ...]:
        return (*self.columns, *(() if self.rows is None else sorted(self.rows.named)))

    @cached_property
    def of_table(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        return self.schema.read_for(self._wanted)

    @cached_property
    def made(self) -> tuple[str, ...]:
        """The derived columns that are needed, each behind those that it names."""
        needed = self.schema.needed_for(self._wanted)
        return tuple(name for name in self.schema.derived if name in needed)

    @cached_property
    def asked(self) -> frozenset[str]:
        """The columns of which it matters whether a cell is missing."""
        found = set() if self.rows is None else set(asks(self.rows.condition))
        for name in self.made:
            found |= asks(_derived(self.schema, name).expression)
        for name in reversed(self.made):  # what is asked of a derived column is asked of those that it reads
            if name in found:
                found |= reads(_derived(self.schema, name).expression)
        return frozenset(found)

    @cached_property
    def parsed_by(self) -> Schema:
        """The schema by which the table's columns are parsed."""
        return self.schema.with_gaps(name for name in self.of_table if name in self.asked)

    def derive(self, parsed: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """The wanted columns of some rows, and which of the rows count (None: all of them)."""
        import numpy as np

        with np.errstate(all="ignore"):
            cells = self._filled(parsed)
            for name in self.made:
                self._make(name, cells)
            kept = None if self.rows is None else np.array(self.rows.condition.truths(cells)[0])
        return {name: cells.values[name] for name in self.columns}, kept

    def _filled(self, parsed: Mapping[str, Any]) -> RowCells:
        import numpy as np

        values, missing = dict(parsed), {}
        for name in self.asked & set(self.of_table):
            column, found = self.schema.declared(name), parsed[name]
            gaps = found < 0 if isinstance(column, Category) else np.isnan(found)
            stand_in = column.missing_code if isinstance(column, Category) else column.missing
            values[name], missing[name] = np.where(gaps, stand_in, found), gaps
        return RowCells(values, missing)

    def _make(self, name: str, cells: RowCells) -> None:
        """Derive the column ``name`` and put it beside the others."""
        import numpy as np

        one = _derived(self.schema, name)
        column = one.column
        length = len(next(iter(cells.values.values())))
        if isinstance(column, Category):
            assert not isinstance(one.expression, Numeric)
            codes = np.broadcast_to(one.expression.codes(cells), length)
            none = codes < 0
            found = np.where(none, column.missing_code, codes).astype(np.int64)
        else:
            assert isinstance(one.expression, Numeric)
            numbers = np.broadcast_to(one.expression.numbers(cells), length)
            none = np.isnan(numbers)
            found = np.where(none, column.missing, np.clip(numbers, column.low, column.high)).astype(np.float64)
        cells.values[name] = found  # type: ignore[index]
        if name in self.asked:
            for other in reads(one.expression):
                none = none | cells.missing[other]
            cells.missing[name] = none  # type: ignore[index]


def _derived(schema: Schema, name: str) -> Derived:
    found = schema.derived[name]
    assert isinstance(found, Derived)
    return found


def empty_row(schema: Schema, columns: Iterable[str]) -> dict[str, Any]:
    """A row whose every cell is missing: what a person has who has fewer rows than count."""
    import numpy as np

    reading = Reading(schema, tuple(columns))
    parsed: dict[str, Any] = {}
    for name in reading.of_table:
        column, asked = schema[name], name in reading.asked
        if isinstance(column, Number):
            parsed[name] = np.array([np.nan if asked else column.missing], np.float64)
        else:
            assert isinstance(column, Category | Screened)
            parsed[name] = np.array([-1 if asked else column.missing_code], np.int64)
    return reading.derive(parsed)[0]
