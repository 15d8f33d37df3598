"""The Gram statistic of functions of numbers: no pair of records beats the claim, which splines make much smaller."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tacit
from tacit.audit.sensitivity import search_sensitivity
from tacit.models.regression import design_for
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.design import Indicator, Scaled, sign
from tacit.statistics.gram import Gram
from tacit.statistics.gram_groups import grouped_bounds
from tacit.statistics.gram_sensitivity import gram_sensitivity

SCHEMA = tacit.Schema(y=(-2, 10), ill=["no", "yes"], age=(18, 90), dose=(1, 10), loss=(-10, -5), sex=["f", "m", "x"])
FORMULAS = [
    "y ~ bs(age, knots=[30, 60])",
    "y ~ bs(age, knots=[40], degree=1) + dose + sex - 1",
    "y ~ bs(age, knots=[40], degree=2)*sex",
    "y ~ bs(age, knots=[], degree=2):dose + bs(dose, knots=[5], degree=1)",
    "y ~ bs(age, knots=[], degree=1) + loss + dose - 1",
    "y ~ poly(age, 3) + log(dose)",
    "y ~ age + I(age**2) + sqrt(dose):sex",
    "y ~ age*log(dose) - 1",
    "ill ~ bs(age, knots=[50], degree=2) + sex",
]


def gram(formula):
    design = design_for(formula, SCHEMA)
    return Gram(design.columns, sign("ill", SCHEMA) if formula.startswith("ill") else design.number_response)


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_pair_of_records_beats_the_claim_and_one_comes_as_near_as_it_says(formula):
    """Seed 1, real cells through the real code. A pair that beats the claim is a proof, so there is no false alarm."""
    statistic = gram(formula)
    claimed = statistic.sensitivity()
    found = search_sensitivity(statistic, SCHEMA, seed=1, records=60, rounds=8)
    assert not found.violates(claimed), (found.l1_pair, found.l2_pair)
    assert found.l1 >= Fraction(statistic.attained[0]) * claimed.l1
    assert found.l2_squared >= Fraction(statistic.attained[1]) * claimed.l2_squared
    planted = Sensitivity(found.l1 * Fraction(99, 100), found.l2_squared * 10, claimed.relative_scales)
    assert found.violates(planted)


def test_splines_that_count_as_levels_of_no_size_are_caught():
    """The planted fault: the bound of the design without its splines, as if they never moved."""
    statistic = gram(FORMULAS[0])
    rest = [column for column in statistic.design if isinstance(column, Indicator)]
    l1, l2_squared = grouped_bounds(rest, statistic.response, statistic.steps)
    found = search_sensitivity(statistic, SCHEMA, seed=1, records=40, rounds=4)
    assert found.l1 > l1
    assert found.l2_squared > l2_squared


def test_splines_need_less_noise_than_as_many_free_numbers():
    statistic = gram("y ~ bs(age, knots=[30, 45, 60])")
    free = gram_sensitivity(list(statistic.layout[0]), statistic.steps)
    claimed = statistic.sensitivity()
    assert claimed.l2_squared < free.l2_squared / 3
    assert claimed.l1 < free.l1 / 3
    assert all(isinstance(column, Scaled | Indicator) for column in statistic.design)
