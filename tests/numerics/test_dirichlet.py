"""Shares of groups whose concentrations are small: none is lost, and each is as likely to be small as it should."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

import tacit
from tacit.numerics.dirichlet import LEAST, draw_shares, shares_of_logs

SMALL = 0.003


def p_value(shares, rng):
    """Of the test that the lesser share has the distribution of Beta(a, a): below x with probability x^a, up to one
    part in 400. What counts as 0 lies anywhere below `LEAST`.
    """
    lesser = shares.min(axis=-1)
    return kstest(np.where(lesser > 0, lesser**SMALL, LEAST**SMALL * rng.random(len(lesser))), "uniform").pvalue


def test_small_shares_have_their_distribution():
    """Seed 3, 5,000 draws, level 1e-4. Planted: quotients of two shares of a larger whole, as floats have them."""
    rng = np.random.default_rng(3)
    assert p_value(draw_shares(rng, np.full((5000, 2), SMALL)), rng) > 1e-4
    whole = rng.dirichlet(np.full(6, SMALL), size=5000)[:, :2]
    lost = whole / np.maximum(whole.sum(axis=1, keepdims=True), 1e-300)
    assert p_value(lost, rng) < 1e-4


def test_shares_add_up_whatever_their_logarithms_are():
    logs = np.array([[-1e6, -1e6 - 700], [3.0, 3.0], [-1e5, 4.0]])
    found = shares_of_logs(logs, np)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.allclose(found[1], 0.5)
    assert found[0, 1] == found[2, 0] == 0


def test_every_group_has_shares_that_add_up_where_concentrations_are_tiny():
    """Drawn and inferred, n known and not: a group that is lost beside the others would have shares of 0 alone."""
    schema = tacit.Schema(x=["no", "yes"], g=["p", "q", "r"])
    prior = {"concentration": 0.01}
    for neighbours in ("replace-one", "add-remove"):
        budget = tacit.PureDP(1.0, neighbours=neighbours)
        plan = tacit.Plan(tacit.Shares("x", by="g"), schema, budget, tacit.AddNoise())
        simulation = tacit.simulate(plan, n=40, seed=4, prior=prior)
        assert np.allclose(simulation.parameters["share"].sum(axis=1), 1)
        found = tacit.infer(simulation.release, seed=1, chains=1, draws=200, warmup=50, prior=prior, anyway=True)
        assert np.allclose(found.parameter("share").sum(axis=-1), 1)
