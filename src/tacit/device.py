"""One person's side: a record goes in, one randomised report comes out, and nothing else leaves the device.

This module needs the standard library and numpy. It reads a row, so it stands left of the boundary; the row is the
sender's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import expected
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan, as_plan
from tacit.schema import Category, Gaps, Schema


def randomize(record: Mapping[str, Any], plan: Plan | str | Path) -> tuple[int, ...]:
    """The report of one person, whole numbers, under a plan whose mechanism is local.

    A cell that cannot be read counts as the column's stand-in, as everywhere; a column that is not there is refused.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"),
    ...     tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(1.0), tacit.Local())
    >>> len(tacit.randomize({"smoker": "yes"}, plan))
    1

    ```
    """
    randomizer = as_plan(plan).local_randomizer()
    if not isinstance(record, Mapping):
        raise expected("record", "...", "to be a mapping of columns to values")
    columns = parsed_record(record, randomizer.columns, randomizer.schema)
    return tuple(int(v) for v in randomizer.reports(columns, OSEntropy())[0])


def parsed_record(record: Mapping[str, Any], columns: Sequence[str], schema: Schema) -> dict[str, Any]:
    """The ``columns`` of one record, each as an array of one, those among them that are derived from others."""
    from tacit.expressions.rows import Reading

    reading = Reading(schema, tuple(columns))
    parsed = {name: parsed_cell(record, name, reading.parsed_by) for name in reading.of_table}
    return reading.derive(parsed)[0]


def parsed_cell(record: Mapping[str, Any], name: str, schema: Schema) -> Any:
    """One cell as an array of one: a number inside its bounds, or the code of a level; NaN or -1 for a gap."""
    import numpy as np

    from tacit.sources.cells import coder, number_of

    if name not in record:
        raise expected("record", name, "to be one of its columns")
    column, gaps = schema.declared(name), isinstance(schema[name], Gaps)
    if isinstance(column, Category):
        return np.array([coder(column, missing=-1 if gaps else None)(record[name])])
    number = number_of(record[name])
    filled = column.missing if number != number and not gaps else number
    return np.clip(np.array([filled], np.float64), column.low, column.high)
