"""Sums by group in three soft bins: what they add up to, exactly, and that one row weighs one unit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.statistics.bounded_moments import BoundedMoments
from tacit.statistics.factors import Factors
from tacit.statistics.fine_lattice import steps_of
from tacit.statistics.group_moments import GroupMoments

BY = Factors(("sex", "region"), (("f", "m"), ("north", "east", "south")))
STATISTIC = GroupMoments("wage", 0, 100, BY)


def test_the_three_sums_give_size_mean_and_square_of_every_group():
    """Seed 1: 50,000 rows on the lattice, so that the sums are exact in fractions."""
    rng = np.random.default_rng(1)
    n, steps = 50_000, STATISTIC.steps
    q = rng.integers(0, steps + 1, n)
    columns = {"wage": 100 * q / steps, "sex": rng.integers(0, 2, n), "region": rng.integers(0, 3, n)}
    sums = [Fraction(v, STATISTIC.unit) for v in STATISTIC.batch_sum(columns)]
    for group in range(BY.size):
        own = [int(v) for v in q[columns["sex"] * 3 + columns["region"] == group]]
        low, middle, high = sums[3 * group : 3 * group + 3]
        assert low + middle + high == len(own)
        assert middle / 2 + high == Fraction(sum(own), steps)
        assert high == Fraction(sum(v * v for v in own), steps * steps)


def test_a_row_weighs_one_unit_whatever_its_number():
    """Also at the bounds and at numbers that are no lattice points."""
    for cell in (0.0, 100.0, 50.0, 1 / 3, 99.999999999):
        sums = STATISTIC.batch_sum({"wage": np.array([cell]), "sex": np.array([1]), "region": np.array([2])})
        assert sum(sums) == STATISTIC.unit
        assert min(sums) >= 0


def test_groups_are_named_with_their_factors():
    assert BY.labels[:2] == ("f, north", "f, east")
    assert STATISTIC.entries[:3] == (
        "wage low, sex=f, region=north",
        "wage middle, sex=f, region=north",
        "wage high, sex=f, region=north",
    )


@pytest.mark.parametrize(("low", "high"), [(0, 30), (1, 5), (-7, 20), (0, 1_000_000)])
def test_whole_numbers_between_whole_bounds_are_met_exactly(low, high):
    """The mean of whole cells is that of the lattice; the planted fault is a lattice of 2^24 steps for these bounds."""
    statistic = BoundedMoments("x", low, high)
    cells = np.unique(np.linspace(low, high, 31).round())
    first, second = (Fraction(v, statistic.unit) for v in statistic.batch_sum({"x": cells}))
    half, middle = Fraction(high - low, 2), Fraction(high + low, 2)
    exact = [(Fraction(int(cell)) - middle) / half for cell in cells]
    assert first == sum(exact)
    assert second == sum(c * c for c in exact)
    if low == 1:
        assert 2**24 % (2 * (high - low)) == 0 or steps_of(low, high) != 2**24


def test_any_number_of_rows_adds_up_exactly():
    """More rows than a chunk, all at the bound: 100,000 units."""
    statistic = BoundedMoments("x", 0.1, 0.7)
    assert statistic.batch_sum({"x": np.full(100_000, 0.7)}) == [100_000 * statistic.unit] * 2
