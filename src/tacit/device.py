"""One person's side: a record goes in, one randomised report comes out, and nothing else leaves the device.

This module needs the standard library and numpy. It reads a row, so it stands left of the boundary; the row is the
sender's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.errors import expected
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan, as_plan
from tacit.schema import Category, Schema


def randomize(record: Mapping[str, Any], plan: Plan | str | Path) -> tuple[int, ...]:
    """The report of one person, whole numbers, under a plan whose mechanism is local.

    A cell that cannot be read counts as the column's stand-in, as everywhere; a column that is not there is refused.
    """
    randomizer = as_plan(plan).local_randomizer()
    if not isinstance(record, Mapping):
        raise expected("record", "...", "to be a mapping of columns to values")
    columns = {name: parsed_cell(record, name, randomizer.schema) for name in randomizer.columns}
    return tuple(int(v) for v in randomizer.reports(columns, OSEntropy())[0])


def parsed_cell(record: Mapping[str, Any], name: str, schema: Schema) -> Any:
    """One cell as an array of one: a number inside its bounds, or the code of a level."""
    import numpy as np

    from tacit.sources.cells import coder, number_of

    if name not in record:
        raise expected("record", name, "to be one of its columns")
    column = schema.declared(name)
    if isinstance(column, Category):
        code = coder(column)(record[name])
        return np.array([column.missing_code if code < 0 else code])
    number = number_of(record[name])
    return np.clip(np.array([column.missing if number != number else number], np.float64), column.low, column.high)
