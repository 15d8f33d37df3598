"""Data sets that differ in one unit of privacy, for a mechanism of the central kind: rows that nobody gave.

All rows but the last unit's are stand-ins: every cell missing. For a sum they do not matter. Where they do, bounds and
levels at either end are tried as well (`fillings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.mechanisms.mechanism import Accumulator
from tacit.mechanisms.person import PERSON, ROW
from tacit.plan import Plan
from tacit.privacy.neighbours import ADD_REMOVE
from tacit.schema import Category
from tacit.sources.open import open_source

Record = Mapping[str, Any]


def fillings(plan: Plan) -> list[Record]:
    """The records that the rest of a data set may be made of: stand-ins, and both ends of every column."""
    columns = plan.calibrated_mechanism().columns
    ends: list[Record] = [dict.fromkeys(columns)]
    for side in (0, -1):
        cells: dict[str, Any] = {}
        for name in columns:
            column = plan.schema.declared(name)
            cells[name] = column.levels[side] if isinstance(column, Category) else (column.low, column.high)[side]
        ends.append(cells)
    return ends


def may_be_absent(plan: Plan) -> bool:
    """Whether a unit that is there in one data set may add nothing to the other."""
    person = plan.mechanism.person
    return (
        plan.budget.neighbours == ADD_REMOVE
        or plan.row_filter is not None
        or (person is not None and person.weight == ROW)
    )


def table(plan: Plan, record: Record | None, n: int, filling: Record) -> dict[str, list[Any]]:
    """n units: n - 1 of ``filling`` and one of ``record``, or none in its place, as columns of raw cells."""
    person = plan.mechanism.person
    rows = 1 if person is None else person.max_rows
    some = [filling] * ((n - 1) * rows) + ([] if record is None else [record] * rows)
    found: dict[str, list[Any]] = {name: [one[name] for one in some] for name in plan.calibrated_mechanism().columns}
    if person is not None:
        found[person.id] = [i // rows for i in range(len(some))]
    return found


def collected(plan: Plan, records: Sequence[Record | None], n: int, filling: Record) -> list[Accumulator]:
    """What the mechanism keeps of each of the data sets `table` makes, without repeating the filling's rows."""
    calibrated, person = plan.calibrated_mechanism(), plan.mechanism.person
    rows = 1 if person is None or person.weight == PERSON else person.max_rows  # the mean of equal rows is one of them
    columns = calibrated.columns
    there = [one for one in records if one is not None]
    cells = {name: [one[name] for one in (filling, *there)] for name in columns}
    source = open_source(cells, columns, plan.schema)
    parsed: list[dict[str, Any]] = []
    for batch in source.batches(plan.schema, columns, 2**16):
        count = len(next(iter(batch.columns.values())))
        parsed += [{name: values[i : i + 1] for name, values in batch.columns.items()} for i in range(count)]
    first, *others = parsed
    given = iter(others)
    found: list[Accumulator] = []
    for one in records:
        accumulator = calibrated.accumulator()
        if n > 1:
            accumulator.add(first, times=(n - 1) * rows)
        if one is not None:
            accumulator.add(next(given), times=rows)
        found.append(accumulator)
    return found
