"""The latent Gram matrix of designs with levels: every matrix that rows can have must be possible."""

from __future__ import annotations

import numpy as np

import tacit
from tacit.infer import _chain, check_settings, posterior_arrays, problem_for
from tacit.likelihoods.row_laws import LawCoordinates
from tacit.samplers import free_gram

SCHEMA = tacit.Schema(y=(-1, 1), a=(-1, 1), f=["low", "high"])
PLAN = tacit.Plan(tacit.LinearRegression("y ~ a + f + a:f"), SCHEMA, tacit.ZCDP(1e6))


def _unequal_rows():
    """4,000 rows, seed 1: a varies 6 times as much in the second level as in the first."""
    rng = np.random.default_rng(1)
    high = rng.random(4000) < 0.5
    a = np.where(high, 0.36, 0.06) * rng.standard_normal(4000) + np.where(high, 0.1, -0.1)
    y = 0.1 + 0.3 * a + 0.1 * high - 0.2 * a * high + 0.1 * rng.standard_normal(4000)
    return {"y": y, "a": a, "f": np.where(high, "high", "low")}


def _theta(values, method):
    problem = problem_for(PLAN.model, SCHEMA, None, 4000, PLAN.noise())
    settings = check_settings(warmup=300, draws=1000, chains=2, seed=0)
    draws, _ = posterior_arrays(problem, method, settings, [values], chains=2, seed=0)
    theta = draws["theta"][0].reshape(-1, 4)
    return theta.mean(axis=0), theta.std(axis=0)


def test_numbers_may_vary_more_in_one_level_than_in_another(monkeypatch):
    """With next to no noise `free` has the conjugate posterior, which `naive` then is.

    Fresh entropy for noise far below the rows' own scatter; seed 0 for chains. 4 means within 0.25 and 4 sds within 15%
    of each other, at more than 500 effective draws, which is 5 standard errors: false-alarm rate 1e-5. The planted
    fault, one covariance for all cells, cannot make both sums of squares.
    """
    release = tacit.privatize(_unequal_rows(), PLAN, dataset="unequal", ledger=None)
    (mean, sd), (right, spread) = _theta(release.values, "free"), _theta(release.values, "naive")
    assert np.max(np.abs(mean - right) / spread) < 0.25
    assert np.max(np.abs(sd / spread - 1)) < 0.15
    monkeypatch.setattr(free_gram, "LawCoordinates", lambda prior, own: LawCoordinates(prior))
    _chain.cache_clear()  # or the right chain is found again
    wrong, wide = _theta(release.values, "free")
    _chain.cache_clear()
    assert max(np.max(np.abs(wrong - right) / spread), np.max(np.abs(wide / spread - 1))) > 1
