"""Integers up to the boundary: rounding is total, sums and products are exact, balls hold in integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import TacitError
from tacit.schema import Number
from tacit.statistics import lattice
from tacit.statistics.counts import Counts


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_products_of_a_full_batch_stay_exact(degree):
    assert lattice.resolution(degree) ** degree * lattice.batch_rows(degree) <= 2**53


@given(
    low=st.floats(-1e300, 1e300),
    width=st.floats(1e-300, 1e300),
    place=st.floats(0, 1),
    steps=st.sampled_from([1, 2**15, 2**30]),
)
def test_rounding_is_total_and_stays_in_range(low, width, place, steps):
    high = low + width
    if not (low < high and math.isfinite(high - low)):
        return
    column = Number(low, high)
    cell = np.array([min(max(low + place * (high - low), low), high), low, high])
    signed, unsigned = lattice.signed(cell, column, steps), lattice.unsigned(cell, column, steps)
    assert np.all(signed == np.rint(signed))
    assert np.all(np.abs(signed) <= steps)
    assert np.all((unsigned >= 0) & (unsigned <= steps))


def test_rounding_is_to_the_nearest_point():
    column = Number(-1, 1)
    cells = np.array([-1, -0.51, 0.26, 0.24, 1.0])
    assert lattice.signed(cells, column, 2).tolist() == [-2, -1, 1, 0, 2]
    assert lattice.unsigned(cells, column, 2).tolist() == [0, 0, 1, 1, 2]


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 60), columns=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_gram_is_exact_against_fractions(seed, rows, columns):
    rng = np.random.default_rng(seed)
    steps = lattice.resolution(2)
    q = rng.integers(-steps, steps + 1, (rows, columns))
    exact = [[sum(Fraction(int(r[i])) * int(r[j]) for r in q) for j in range(columns)] for i in range(columns)]
    assert lattice.exact_gram(q.astype(float)) == exact


def test_gram_of_extreme_rows_is_exact_in_a_full_batch():
    """Every row at the corner: the largest sum a batch can hold, 2^52, and one unit beside it."""
    steps, rows = lattice.resolution(2), lattice.batch_rows(2)
    q = np.full((rows, 2), float(steps))
    q[0, 1] = steps - 1
    assert lattice.exact_gram(q) == [
        [steps * steps * rows, steps * steps * rows - steps],
        [steps * steps * rows - steps, steps * steps * (rows - 1) + (steps - 1) ** 2],
    ]


def test_the_guard_of_exact_sums_is_no_sentence_to_a_user():
    """No declared plan and no row gets there; were a sentence raised, it would tell of the rows."""
    for sums in (lattice.exact_gram, lambda rows: lattice.exact_products(rows, rows)):
        with pytest.raises(ArithmeticError) as caught:
            sums(np.full((4, 1), 2.0**26))
        assert not isinstance(caught.value, TacitError)
        assert "4" not in str(caught.value)


def test_sums_go_past_two_to_the_63():
    counts = Counts("x", ("a", "b"), steps=2**62)
    one = counts.batch_sum({"x": np.ones(1000, np.int64)})
    assert one == [1000 * 2**62]
    assert sum(one[0] for _ in range(10)) == 10_000 * 2**62 > 2**63


@given(
    seed=st.integers(0, 2**32),
    dimension=st.integers(1, 8),
    radius=st.fractions(Fraction(1, 50), Fraction(3), max_denominator=1000),
    steps=st.sampled_from([4, 2**10, 2**15]),
)
@settings(max_examples=100, deadline=None)
def test_balls_hold_in_integers(seed, dimension, radius, steps):
    rng = np.random.default_rng(seed)
    points = rng.integers(-steps, steps + 1, (50, dimension)).astype(float)
    inside = lattice.into_ball(points, radius, steps)
    assert np.all(inside == np.rint(inside))
    assert np.all(np.abs(inside) <= np.abs(points))
    limit = math.floor(radius**2 * steps**2)
    for before, after in zip(points, inside, strict=True):
        assert sum(int(v) ** 2 for v in after) <= limit
        if sum(int(v) ** 2 for v in before) <= limit:
            assert np.array_equal(before, after)


def test_a_point_on_the_sphere_stays_and_one_step_outside_moves():
    steps = 5
    stays = lattice.into_ball(np.array([[3.0, 4.0]]), Fraction(1), steps)
    assert stays.tolist() == [[3.0, 4.0]]
    moved = lattice.into_ball(np.array([[4.0, 4.0]]), Fraction(1), steps)
    assert (moved**2).sum() <= 25


def test_counts_keep_one_number_for_two_levels():
    assert Counts("x", ("no", "yes")).entries == ("x=yes",)
    assert Counts("x", ("a", "b", "c")).entries == ("x=a", "x=b", "x=c")
