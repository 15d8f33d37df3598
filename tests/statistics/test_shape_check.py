"""Counts beside sums: they are a tenth of a pure budget, and a pair of records reaches the claim."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tacit
from tacit.audit.sensitivity import search_sensitivity
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.power_sums import PowerSums
from tacit.statistics.shape_check import ShapeCheck

SUMS = {"normal": PowerSums("x", 0, 30, (1, 2), signed=True), "counts": PowerSums("x", 0, 30, (1,), signed=False)}


@pytest.mark.parametrize("name", SUMS)
def test_no_pair_of_records_beats_it_and_one_reaches_it(name):
    """Seed 1. The planted fault is a claim that is one percent too small."""
    statistic = ShapeCheck(SUMS[name])
    claimed = statistic.sensitivity()
    found = search_sensitivity(statistic, tacit.Schema(x=(0, 30)), seed=1)
    assert not found.violates(claimed)
    assert found.l1 >= Fraction(999, 1000) * claimed.l1
    assert found.l2_squared >= Fraction(999, 1000) * claimed.l2_squared
    less = Fraction(99, 100)
    assert found.violates(Sensitivity(claimed.l1 * less, claimed.l2_squared * less, claimed.relative_scales))


@pytest.mark.parametrize("name", SUMS)
def test_counts_take_a_tenth_of_a_pure_budget(name):
    own, both = SUMS[name].sensitivity().l1, ShapeCheck(SUMS[name]).sensitivity().l1
    assert own / both == Fraction(9, 10)


def test_cells_are_the_bounds_and_the_quarters_between_them():
    cells = np.array([0.0, 0.1, 7.5, 15.0, 29.9, 30.0, 30.0])
    statistic = ShapeCheck(SUMS["counts"])
    assert [v // statistic.unit for v in statistic.batch_sum({"x": cells})[1:]] == [1, 1, 1, 1, 1, 2]
