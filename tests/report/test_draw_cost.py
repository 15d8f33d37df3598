"""What a plan of draws says of its sampler: the class of the guarantee, and what it takes of the budget."""

from __future__ import annotations

import pytest

import tacit
from tacit.report.plan_text import explain

SCHEMA = tacit.Schema(ill=["no", "yes"], dose=(-1, 1))
MODEL = tacit.LogisticRegression("ill ~ dose")


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        ({}, "proved, for every table. Draws are exact: by rejection under the tightest of three certified envelopes"),
        ({"sampler": "langevin", "gamma": 2e-2, "n": 20}, "proved, for every table. That takes about 74% of delta."),
        ({"sampler": "mcmc", "assume": "converged", "gamma": 1e-2}, "the density. That takes about 37% of delta."),
    ],
)
def test_a_plan_says_what_its_draws_pay_for_the_way_they_are_made(mechanism, said):
    """(1 + e) gamma of delta = 0.1 at epsilon = 1, gamma = 0.01 (0.02): 37% (74%)."""
    plan = tacit.Plan(MODEL, SCHEMA, tacit.ApproxDP(1.0, 0.1), tacit.PosteriorSample(**mechanism))
    assert said in " ".join(explain(plan))
