"""A plan whose posterior would take hours unless the noise is small says so before it is spent."""

from __future__ import annotations

import re

import pytest

import tacit
from tacit.report.many_columns import about_many_columns
from tacit.report.plan_text import explain


def plan_of(count: int, budget: float) -> tacit.Plan:
    names = [f"x{i}" for i in range(count)]
    schema = tacit.Schema(y=(-1, 1), **dict.fromkeys(names, (-1, 1)))
    return tacit.Plan(tacit.LinearRegression("y ~ " + " + ".join(names)), schema, tacit.ApproxDP(budget, 1e-6))


@pytest.mark.parametrize("count", [3, 30])
def test_few_columns_have_a_posterior_whatever_the_number_of_rows(count: int) -> None:
    assert about_many_columns(plan_of(count, 1.0)) == []


def test_many_columns_say_how_many_rows_they_need_and_fewer_with_a_larger_budget() -> None:
    rows = []
    for budget in (0.5, 5.0):
        (line,) = about_many_columns(plan_of(45, budget))
        found = re.search(r"with 46 numbers in a row there is a posterior from about ([\d,]+) rows on", line)
        assert found is not None
        rows.append(int(found[1].replace(",", "")))
    assert 10_000 < rows[1] < rows[0] < 10**8


def of_levels(count: int) -> tacit.Plan:
    schema = tacit.Schema(y=(-1, 1), a=(-1, 1), f=[f"f{i}" for i in range(count)])
    return tacit.Plan(tacit.LinearRegression("y ~ a + f"), schema, tacit.PureDP(1.0))


def test_so_many_levels_that_a_posterior_would_take_hours_are_refused_before_anything_is_sampled() -> None:
    assert about_many_columns(of_levels(20)) == []
    plan = of_levels(110)
    (line,) = about_many_columns(plan)
    assert line.startswith("Inference: refused. Expected formula='y ~ a + f' to have fewer levels: 110 combinations")
    release = tacit.simulate(plan, n=2000, seed=1).release
    with pytest.raises(tacit.RefusedError, match=r"^Expected formula=[^\n]* to have fewer levels[^\n]*\.$"):
        tacit.infer(release)


@pytest.mark.parametrize("count", [19, 29])
def test_scores_of_many_coefficients_say_that_a_posterior_takes_minutes(count: int) -> None:
    names = [f"x{i}" for i in range(count)]
    schema = tacit.Schema(y=["no", "yes"], **dict.fromkeys(names, (-1, 1)))
    model = tacit.LogisticRegression("y ~ " + " + ".join(names))
    said = [
        line
        for line in explain(tacit.Plan(model, schema, tacit.ApproxDP(1.0, 1e-6), tacit.Newton()))
        if "minutes" in line
    ]
    assert [line.startswith("Inference: with 30 coefficients") for line in said] == ([True] if count == 29 else [])
