"""What privacy adds to a posterior from scores in rounds: hardly anything where noise is small, else most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.report.gram_split import split_of_sums
from tacit.report.rows import widening_sentence
from tacit.report.score_split import split_of_scores
from tacit.report.uncertainty import Split

SCHEMA = tacit.Schema(age=(20, 80), smoker=["no", "yes"])
MODEL = tacit.LogisticRegression("smoker ~ age")


def posterior(mu):
    """2,000 rows, seed 4."""
    plan = tacit.Plan(MODEL, SCHEMA, tacit.GDP(mu))
    release = tacit.simulate(plan, n=2000, seed=4, parameters={"theta": [-0.5, 1.0]}).release
    return tacit.infer(release, draws=500, chains=2, seed=1)


@pytest.mark.parametrize(("mu", "least", "most"), [(300.0, 0.85, 1.15), (0.03, 1.5, 20.0)])
def test_the_part_of_privacy(mu, least, most):
    """A standard deviation of some 500 effective draws is known to 3%, so 15% is 5 of its standard errors. Information
    of twice as many rows would be 41% off, and of the prior alone far more."""
    found = split_of_scores(posterior(mu))
    assert [one.name for one in found] == ["theta[Intercept]", "theta[age]"]
    ratios = [np.sqrt(one.total / one.sampling) for one in found]
    assert all(least < ratio < most for ratio in ratios), ratios


def test_sums_of_a_linear_regression_with_levels():
    """The naive method draws what exact sums would give, were they those released: so nothing is there because of
    privacy. 4,000 independent draws know a variance to 2.2%, so 10% is 4 of its standard errors.
    Without the products of levels and numbers it would be further off.
    """
    schema = tacit.Schema(cost=(0, 10), age=(20, 80), region=["north", "south", "west"])
    plan = tacit.Plan(tacit.LinearRegression("cost ~ age * region"), schema, tacit.PureDP(20.0))
    release = tacit.simulate(plan, n=3000, seed=6).release
    found = split_of_sums(tacit.infer(release, method="naive", chains=4, draws=1000, seed=2))
    assert len(found) == 6
    assert all(0.9 < one.total / one.sampling < 1.1 for one in found), [one.total / one.sampling for one in found]


def test_none_for_other_releases_and_a_sentence_for_a_reader():
    plan = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0))
    share = tacit.infer(tacit.simulate(plan, n=300, seed=2).release, draws=100, chains=2, anyway=True)
    assert split_of_scores(share) == []
    one = Split("a", 4.0, 1.0)
    assert "2.0 times as wide" in widening_sentence([one])
    assert "2.0 to 20 times as wide" in widening_sentence([one, replace(one, total=400.0)])
    assert widening_sentence([replace(one, total=1.0)]) == "Privacy makes these intervals hardly wider."
    assert widening_sentence([]) == ""
