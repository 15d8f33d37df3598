"""Curves of a report: the model's expectation along a number, from draws that are known. Seed 1."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tacit
from tacit.report.curves import curve_plots

SCHEMA = tacit.Schema(y=(0, 10), count=(0, 20), ill=["no", "yes"], age=(20, 60), sex=["f", "m"], wait=(0, 30))


def posterior(model, **draws):
    plan = SimpleNamespace(model=model, schema=SCHEMA)
    return SimpleNamespace(plan=plan, parameter=lambda name: draws[name])


def theta(model, values):
    """Draws close to these coefficients, in mapped units."""
    size = len(model.design(SCHEMA).names)
    rng = np.random.default_rng(1)
    return np.array(values[:size]) + 0.01 * rng.standard_normal((400, size))


def test_a_polynomial_is_drawn_as_what_the_model_expects():
    model = tacit.LinearRegression("y ~ poly(age, 2) + sex")
    draws = theta(model, [0.0, 0.0, 0.5, 0.0])
    plots, said = curve_plots(posterior(model, theta=draws))
    (plot,) = plots
    assert said == "What the model expects, with a 95% interval, where sex = f."
    assert (plot.low, plot.high, plot.across) == (20, 60, "age")
    (line,) = plot.lines
    assert len(line.x) == 61
    at = dict(zip(line.x, line.y, strict=True))
    assert at[20.0] == pytest.approx(at[60.0], abs=0.2)  # a parabola
    assert at[40.0] < at[20.0] - 1
    new = {"age": [20.0, 40.0], "sex": ["f", "f"]}
    expected = model.predict({"theta": draws, "sigma": np.zeros(400)}, SCHEMA, new, np.random.default_rng(2))
    assert [at[20.0], at[40.0]] == pytest.approx(np.median(expected, axis=0), abs=0.02)
    (band,) = plot.ribbons
    assert all(low <= y <= high for low, y, high in zip(band.low, line.y, band.high, strict=True))


def test_levels_that_change_the_curve_have_their_own():
    model = tacit.LogisticRegression("ill ~ poly(age, 2):sex + sex")
    plots, said = curve_plots(posterior(model, theta=theta(model, [0.0] * 9)))
    assert [plot.name for plot in plots] == ["age, f", "age, m"]
    assert said == "What the model expects, with a 95% interval."
    assert all(0.4 < y < 0.6 for plot in plots for y in plot.lines[0].y)


def test_a_curve_ends_where_the_response_does():
    """The planted fault: an expected count of e^20 at one end would flatten all the rest."""
    model = tacit.PoissonRegression("count ~ poly(age, 2)", link="log")
    ((plot,), _) = curve_plots(posterior(model, theta=theta(model, [0.0, 10.0, 10.0])))
    assert plot.top <= 21
    (line,) = plot.lines
    assert 0 < len(line.x) < 61, "beyond the response's bounds there is no line"
    assert sum(y > plot.top for y in line.y) <= 2
    assert "<polygon" in plot.svg()


def test_a_waiting_time_has_its_curve():
    rate = np.full(200, 0.1)
    ((plot,), said) = curve_plots(posterior(tacit.Exponential("wait"), rate=rate))
    assert "waits longer" in said
    assert plot.lines[0].y[0] == 1.0
    assert plot.lines[0].y[20] == pytest.approx(np.exp(-1.0))


@pytest.mark.parametrize("model", [tacit.Mean("y"), tacit.LinearRegression("y ~ age + sex")])
def test_plain_plans_have_none(model):
    assert curve_plots(posterior(model)) == ([], "")


def test_a_logarithm_over_a_wide_range_has_a_logarithmic_axis():
    schema = tacit.Schema(y=(0, 10), size=(1, 100_000), age=(20, 60))
    for formula, ratio in [("y ~ log(size)", True), ("y ~ log(age)", False), ("y ~ log(size) + sqrt(size)", False)]:
        model = tacit.LinearRegression(formula)
        draws = np.full((50, len(model.design(schema).names)), 0.1)
        plan = SimpleNamespace(model=model, schema=schema)
        ((plot, *_), _) = curve_plots(SimpleNamespace(plan=plan, parameter=lambda name, draws=draws: draws))
        assert plot.ratio == ratio, formula
        if ratio:
            assert (plot.low, plot.high) == pytest.approx((0.0, np.log(1e5)))
            (line,) = plot.lines
            assert np.allclose(np.diff(line.y, 2), 0), "a straight line"
            assert ">100,000<" in plot.svg()
            assert ">100<" in plot.svg()
