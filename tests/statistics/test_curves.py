"""Curves: what they are, that every value depends on its own cell alone, and that splines add up to at most 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import legendre
from scipy.interpolate import BSpline

from tacit.schema import Schema
from tacit.statistics.curves import PublicFunction
from tacit.statistics.design import Mapped, mapped

FUNCTIONS = {"log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt}
CURVES = [
    *(PublicFunction(name, 0.5, 400.0) for name in FUNCTIONS),
    *(PublicFunction("power", -3.0, 5.0, (float(k),)) for k in (2, 3, 8)),
    *(PublicFunction("poly", -3.0, 5.0, (float(k),)) for k in (1, 2, 5, 8)),
    *(PublicFunction("bs", 0.0, 10.0, (float(d), float(j), 2.0, 2.5, 7.0)) for d in (1, 3, 5) for j in (1, 2, d + 3)),
    PublicFunction("identity", 0.0, 1.0),
]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS.items())
def test_logarithms_and_roots_are_right_to_the_last_digits(name, function):
    """Seed 1: values over the whole range of float64, the last three binary places aside."""
    x = np.exp(np.random.default_rng(1).uniform(-700, 700, 50_000))
    found = PublicFunction(name, 0.0, 1.7e308).of(x)
    assert np.abs(found - function(x)).max() <= 4e-16 * 710
    near = x[(x > 1e-6) & (x < 1e6)]
    error = np.abs(PublicFunction(name, 0.0, 1e300).of(near) - function(near)) / np.maximum(
        np.abs(function(near)), 1e-9
    )
    assert error.max() < (2e-15 if name != "log1p" else 1e-9)  # 1 + x is rounded first: as exact as the lattice is


def test_polynomials_are_those_of_legendre_on_the_bounds():
    x = np.linspace(-3, 5, 101)
    for k in range(1, 9):
        expected = legendre.legval((x - 1) / 4, np.eye(9)[k])
        assert np.abs(PublicFunction("poly", -3.0, 5.0, (float(k),)).of(x) - expected).max() < 1e-13
    assert (np.abs(PublicFunction("poly", -3.0, 5.0, (8.0,)).of(np.linspace(-9, 9, 10_001))) <= 1 + 1e-13).all()


@given(
    degree=st.integers(1, 5),
    knots=st.lists(st.floats(-0.99, 0.99), max_size=6, unique_by=lambda x: round(x, 2)),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_splines_are_those_of_scipy_and_add_up_to_no_more_than_one_in_whole_numbers(degree, knots, seed):
    knots = sorted(knots)
    inner = np.array([-1.0] * (degree + 1) + knots + [1.0] * (degree + 1))
    x = np.append(np.random.default_rng(seed).uniform(-1, 1, 300), [-1.0, 1.0, *knots])
    curves = [
        PublicFunction("bs", -1.0, 1.0, (float(degree), float(j), *knots)) for j in range(len(knots) + degree + 1)
    ]
    found = np.array([curve.of(x) for curve in curves])
    assert np.abs(found - BSpline.design_matrix(x, inner, degree).toarray().T).max() < 1e-12
    assert found.min() >= 0
    whole = [Mapped(("x",), 0.0, 1.0, 0.0, 1.0, (curve,)).values({"x": x}, 2**12) for curve in curves]
    assert np.min(whole) >= 0
    assert np.sum(whole, axis=0).max() <= 2**12
    assert np.sum(whole, axis=0).min() >= 2**12 - len(curves)


def test_splines_that_are_rounded_to_the_nearest_would_add_up_to_more():
    """The planted fault of the test above: rounding to the nearest whole number takes the sum beyond the bound."""
    x = np.linspace(0, 1, 5001)
    curves = [PublicFunction("bs", 0.0, 1.0, (3.0, float(j), 0.3, 0.6)) for j in range(6)]
    assert np.sum([np.rint(4096 * curve.of(x)) for curve in curves], axis=0).max() > 4096


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_a_value_depends_on_its_own_cell_alone(curve):
    """Seed 2: bit for bit the same whatever stands beside it, before it or after it, and at every stride."""
    x = np.random.default_rng(2).uniform(curve.low - 1, curve.high + 1, 257)
    whole = curve.of(x)
    assert [float(curve.of(x[i : i + 1])[0]) for i in range(len(x))] == whole.tolist()
    for shift in range(1, 9):
        assert curve.of(x[shift:].copy()).tolist() == whole[shift:].tolist()
    assert curve.of(np.repeat(x, 3)[::3]).tolist() == whole.tolist()
    assert np.isfinite(whole).all()
    assert (curve.of([-1e308, 1e308]) == curve.of([curve.low, curve.high])).all()


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_the_range_holds_every_value(curve):
    values = curve.of(np.linspace(curve.low, curve.high, 20_001))
    low, high = curve.range
    assert values.min() >= low - 1e-12 * max(1, abs(low))
    assert values.max() <= high + 1e-12 * max(1, abs(high))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_mapped_values_lie_on_the_lattice_between_their_bounds(curve, centred):
    """Seed 3, with another number as a factor and without one, cells far beyond their bounds among them."""
    schema = Schema(x=(curve.low, curve.high), z=(-2, 3))
    rng = np.random.default_rng(3)
    cells = {"x": rng.uniform(curve.low - 1, curve.high + 1, 500), "z": rng.uniform(-2, 3, 500)}
    for parts in ([("x", curve)], [("x", curve), ("z", None)]):
        number = mapped(parts, schema, centred=centred)
        whole = number.values(cells, 2**12)
        low, high = number.bounds(2**12)
        assert (whole == np.rint(whole)).all()
        assert low <= whole.min() <= whole.max() <= high
        assert math.isclose(max(abs(low), abs(high)), 2**12)
        back = number.offset + number.scale * whole / 2**12
        assert np.abs(back - number.raw(cells)).max() <= number.scale / 2**12 * 1.0001
