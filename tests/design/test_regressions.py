"""Studies of regressions: every kind of release is predicted, and on real tables the prediction is right."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.calibration.expected_columns import ExpectedColumns
from tacit.calibration.plausible_tables import PlausibleTables
from tacit.design.regressions import by_normal_equations, clamped, guessed

ROOT = Path(__file__).parents[2]
TABLES = "TACIT_TABLES"  # names the folder of the public tables, which no clone has
SCHEMA = tacit.Schema(y=(0, 100), ill=["no", "yes"], visits=(0, 20), age=(18, 90), sex=["f", "m"])
BUDGET = tacit.ApproxDP(epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    ("model", "mechanism"),
    [
        (tacit.LinearRegression("y ~ age + sex"), tacit.AddNoise()),
        (tacit.LinearRegression("y ~ age"), tacit.Local()),
        (tacit.LogisticRegression("ill ~ age + sex"), tacit.AddNoise()),
        (tacit.LogisticRegression("ill ~ sex"), tacit.AddNoise()),
        (tacit.PoissonRegression("visits ~ age"), tacit.AddNoise()),
    ],
    ids=lambda value: getattr(value, "formula", getattr(value, "kind", None)),
)
def test_what_is_expected_of_a_column_counts_for_sums_and_reports(model, mechanism):
    """Seed 0, the same tables otherwise: less spread, and a rarer level, make a wider interval. Planted fault: what is
    expected is read and then forgotten.
    """
    plan = tacit.Plan(model, SCHEMA, BUDGET, mechanism)
    name, more, less = ("age", (40, 16), (40, 5)) if "age" in model.formula else ("sex", {"f": 0.5}, {"f": 0.95})
    wide, narrow = (
        tacit.design(plan, n=20_000, expect={name: said}, parameters=6).cells[0].numbers[1].width
        for said in (less, more)
    )
    assert wide > 1.5 * narrow


def test_which_columns_are_guessed_and_clamped():
    plan = tacit.Plan(tacit.LinearRegression("y ~ age + sex"), SCHEMA, BUDGET)
    assert by_normal_equations(plan)
    assert guessed(plan, ExpectedColumns()) == ("y", "age", "sex")
    said = ExpectedColumns(numbers={"age": (40.0, None), "y": (95.0, 10.0)}, shares={"sex": (0.5, 0.5)})
    assert guessed(plan, said) == ("age",)
    shares = clamped(plan, PlausibleTables(plan, said, 4, 0).every())
    assert shares["age"] == 0
    assert 0.2 < shares["y"] < 0.4  # of a normal response beyond half an sd: 0.31
    counts = replace(plan, model=tacit.PoissonRegression("visits ~ age"))
    assert not by_normal_equations(counts)
    assert guessed(counts, ExpectedColumns(numbers={"visits": (3.0, None)})) == ("age",)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), [("pressure", 1.0), ("costs", 4.0)])
def test_widths_on_real_tables(name, epsilon, tmp_path, monkeypatch):
    """The median over coefficients is within a factor of 1.5, with columns, correlations and effects as the tables have
    them. The ratios were 0.93 and 0.99 when measured. Noise comes from the operating system, so that an alarm may
    be false; how often was not measured. Both planted faults fail.
    """
    folder = os.environ.get(TABLES)
    if not folder:
        pytest.skip(f"NOT TESTED: predictions on real tables; {TABLES} names no folder of tables")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import design_tables

    case = next(one for one in design_tables.CASES if one.name == name)
    found = {}
    for fault in (None, "bounds", "noiseless"):
        said = argparse.Namespace(out=tmp_path, data=Path(folder), releases=12, fault=fault, known=("all",))
        design_tables.cell(case, epsilon, said)
        path = tmp_path / f"{name}-{epsilon:g}{'-' + fault if fault else ''}.json"
        found[fault] = design_tables.middle(design_tables.json.loads(path.read_text()), "all")
    assert 1 / 1.5 < found[None] < 1.5, found
    assert not 1 / 1.5 < found["bounds"] < 1.5, found
    assert not 1 / 1.5 < found["noiseless"] < 1.5, found
    for module in ("design_tables", "table_cases", "score_mechanism"):
        sys.modules.pop(module, None)
    assert np.isfinite(list(found.values())).all()
