"""The error sentence: what was declared stands in it, and rows that were given in the place of it do not."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit
from tacit.errors import expected

PLAN = tacit.Plan(tacit.Bernoulli("k"), tacit.Schema(k=["no", "yes"]), tacit.PureDP(1.0))
ROWS = {"k": ["canary-7731"] * 3}
TABLES = {
    "dictionary": ROWS,
    "pandas": pd.DataFrame(ROWS),
    "column of pandas": pd.Series(ROWS["k"]),
    "polars": pl.DataFrame(ROWS),
    "arrow": pa.table(ROWS),
    "array": np.array(ROWS["k"]),
    "column": ROWS["k"],
    "records": [{"k": "canary-7731"}],
}
PLACES = {
    "plan": lambda rows: tacit.privatize(PLAN, rows, ledger=None),
    "ledger": lambda rows: tacit.privatize(ROWS, PLAN, ledger=rows, dataset="d"),
    "dataset": lambda rows: tacit.privatize(ROWS, PLAN, ledger=None, dataset=rows),
    "engine": lambda rows: tacit.privatize(ROWS, PLAN, ledger=None, engine=rows),
    "progress": lambda rows: tacit.privatize(ROWS, PLAN, ledger=None, progress=rows),
    "screen": lambda rows: tacit.screen(ROWS, PLAN, ledger=None, epsilon=rows),
    "bounds": lambda rows: tacit.bounds(ROWS, rows, within=(0, 1), epsilon=1.0, ledger=None),
    "model": lambda rows: tacit.Plan(rows, PLAN.schema, PLAN.budget),
    "record": lambda rows: tacit.randomize(rows, PLAN),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("table", TABLES)
def test_rows_in_the_place_of_something_else_are_not_shown(place, table):
    """Such as the rows and the plan in the other order: before, the sentence held the first of them."""
    with pytest.raises(tacit.InputError) as caught:
        PLACES[place](TABLES[table])
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("cells", [[1917, 41, 58, 33, 20], [date(1917, 7, 31)] * 5])
def test_cells_in_the_place_of_bounds_are_not_shown(cells):
    with pytest.raises(tacit.InputError) as caught:
        tacit.Schema({"age": cells})
    assert "1917" not in str(caught.value)
    with pytest.raises(tacit.InputError, match=re.escape("column=[0, 10, 20]")):
        tacit.Schema({"age": [0, 10, 20]})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([0, "b", True, None, 1.5], "[0, 'b', True, None, 1.5]"),
        (((0, 1), [2.5]), "((0, 1), [2.5])"),
        ({"epsilon": 1.0, "levels": ["a"]}, "{'epsilon': 1.0, 'levels': <list>}"),
        (Fraction(1, 3), "Fraction(1, 3)"),
        (np.float64(0.5), "np.float64(0.5)"),
        (np.array([1, 2]), "<ndarray>"),
        ([[[1]] * 2, {"age": 30}], "[[[1], [1]], <dict>]"),
        (tacit.PureDP(1.0), repr(tacit.PureDP(1.0))),
        ([10**5000], "<list>"),
    ],
)
def test_what_was_declared_is_shown(value, shown):
    assert str(expected("it", value, "to be right")).startswith(f"Expected it={shown[:70]}")
