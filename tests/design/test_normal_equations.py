"""The normal equations with noise: against closed forms, and against releases of tables that no model made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tacit
from obtained_widths import BOUNDS, knowledge, made_up, obtained, ratios
from tacit.calibration.expected_columns import ExpectedColumns
from tacit.calibration.plausible_tables import PlausibleTables
from tacit.design.normal_equations import normal_equations
from tacit.design.points import noise_of
from tacit.infer import prior_for

BUDGET = tacit.ApproxDP(epsilon=1, delta=1e-6)
FACTOR = 1.5


def test_without_noise_it_is_least_squares():
    """sigma^2 (X'X + lambda0)^-1, the conjugate posterior given sigma; sigma / sqrt(2 n) but for its prior, which
    a0 = 1e-3 makes flat. Exact but for the last: 1%.
    """
    schema = tacit.Schema(y=(0, 100), x=(0, 10), group=["a", "b"])
    plan = tacit.Plan(tacit.LinearRegression("y ~ x + group"), schema, BUDGET)
    (table,) = PlausibleTables(plan, ExpectedColumns(), 1, 0).every()
    prior = prior_for(plan.model, plan.schema, {"lambda0": 2.0, "a0": 1e-3, "b0": 1e-3})
    n, sums = 500, len(plan.statistic().entries)
    found = normal_equations(plan, np.zeros(sums), prior, [table], n)
    inverse = np.linalg.inv(n * table.moments() + 2 * np.eye(3))
    slope = 3.92 * table.sigma * np.sqrt(inverse[1, 1]) * 50 / 5  # 50 and 5 are half of the ranges
    assert found["x"].width[0] == pytest.approx(slope, rel=1e-3)
    assert found["x"].width[0] == found["x"].exact[0]
    assert found["sigma"].width[0] == pytest.approx(3.92 * 50 * table.sigma / np.sqrt(2 * n), rel=0.01)


def test_noise_on_either_side_counts():
    """Sums of x alone: theta solves (n + E) theta = g + e. With s the sd of both, n = 0.09 rows' squares, and theta =
    0.5 the error has the variance s^2 (1 + theta^2) / G^2 beside sigma^2 / G: checked by 4,000 draws of the noise,
    seed 0, within 5% (four standard errors of an sd).
    """
    plan = tacit.Plan(tacit.LinearRegression("y ~ x - 1"), tacit.Schema(y=(-1, 1), x=(-1, 1)), BUDGET)
    (table,) = PlausibleTables(plan, ExpectedColumns(numbers={"x": (0.0, 0.4)}, effects={"x": 0.5}), 1, 0).every()
    n, s = 4000, 20.0
    prior = prior_for(plan.model, plan.schema, {"lambda0": 1e-6})
    found = normal_equations(plan, np.full(len(plan.statistic().entries), s), prior, [table], n)["x"]
    gram = n * float(table.moments()[0, 0])
    rng = np.random.default_rng(0)
    noise = s * rng.standard_normal((2, 4000))
    errors = (0.5 * gram + noise[0] + table.sigma * gram**0.5 * rng.standard_normal(4000)) / (gram + noise[1]) - 0.5
    assert found.width[0] == pytest.approx(3.92 * errors.std(), rel=0.05)
    assert found.exact[0] < 0.9 * found.width[0]


def linear(n, epsilon):
    rows, eta, rng = made_up(n, 1)
    cost = 50 + 6 * eta + 8 * rng.standard_normal(n)
    expect = {**knowledge(rows), "cost": (round(float(cost.mean())), round(float(cost.std())))}
    schema = tacit.Schema(cost=(0, 100), **BOUNDS)
    model = tacit.LinearRegression("cost ~ income + grade + lean")
    return tacit.Plan(model, schema, replace(BUDGET, epsilon=epsilon)), {**rows, "cost": cost}, expect


def within(found):
    return all(1 / FACTOR < ratio < FACTOR for ratio in found.values())


def test_widths_are_those_of_releases_of_other_tables():
    """Skewed, discrete and U-shaped columns, nothing said of effects; 6 releases at epsilon 1, seed 0, so fixed: no
    false alarm. Ratios are 1.0 to 1.2. Planted faults: bounds taken for the spread, noise of X'X left out, all noise.
    """
    n = 4000
    plan, rows, expect = linear(n, 1.0)
    widths = obtained(plan, rows, 6)
    found = tacit.design(plan, n=n, expect=expect)
    assert within(ratios(found, widths)), ratios(found, widths)
    bounds = {name: ((low + high) / 2, (high - low) / 12**0.5) for name, (low, high) in BOUNDS.items()}
    filled = tacit.design(plan, n=n, expect={**expect, **bounds})
    assert not within(ratios(filled, widths)), "the bounds were taken for the spread"
    numbers = found.cells[0].numbers
    assert not within({one.name: one.width / one.to_exact / widths[one.name] for one in numbers}), "no noise"


def test_forgotten_noise_of_the_covariates_shows():
    """The planted fault of noise on X'y alone: with a large effect most of the error comes from X'X. Seed 0."""
    schema = tacit.Schema(y=(0, 100), x=(0, 10))
    plan = tacit.Plan(tacit.LinearRegression("y ~ x"), schema, BUDGET)
    said = ExpectedColumns(numbers={"x": (4.0, 1.0), "y": (50.0, 30.0)}, effects={"x": 28.0})
    tables = PlausibleTables(plan, said, 2, 0).every()
    noise, prior = noise_of(plan), prior_for(plan.model, plan.schema, None)
    assert noise is not None
    with_y = np.array(["*y" in name for name in plan.statistic().entries])
    right, wrong = (
        normal_equations(plan, sds, prior, tables, 20_000)["x"].width[0]
        for sds in (noise.sds(20_000), np.where(with_y, noise.sds(20_000), 0.0))
    )
    assert right > FACTOR * wrong
