"""Gibbs steps between latent counts, against enumeration of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import tacit
from tacit.infer import posterior_arrays, problem_for
from tacit.runtime.chain import SamplerSettings


@pytest.mark.parametrize("budget", [tacit.PureDP(0.5), tacit.ZCDP(0.1)], ids=repr)
def test_gibbs_agrees_with_enumeration_of_all_counts(budget):
    """Three levels, n = 12: all 91 count vectors can be weighed. Seed 2.

    64,000 draws, thinned; the posterior mean of each count must be within 5 standard errors (below 2e-6 in all).
    """
    n = 12
    plan = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), budget)
    alpha = np.array([0.5, 1.0, 3.0])
    values = tuple(round(v * plan.statistic().unit) for v in (7.3, -2.1, 4.0))
    problem = problem_for(plan.model, plan.schema, {"concentration": tuple(alpha)}, n, plan.noise())
    arrays, _ = posterior_arrays(problem, "gibbs", SamplerSettings(200, 16_000), [values], chains=4, seed=2)
    draws = arrays["count"][0]
    table = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    log_prior = (gammaln(table + alpha) - gammaln(table + 1)).sum(axis=1)
    unit = plan.statistic().unit
    residual = np.array(values) - table * unit
    log_weights = log_prior + plan.noise().log_pmf(residual).sum(axis=1)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    exact = weights @ table
    from arviz_stats.base import array_stats

    for level in range(3):
        x = draws[:, :, level]
        error = x.std() / np.sqrt(array_stats.ess(x, method="mean"))
        assert abs(x.mean() - exact[level]) < 5 * error
        assert abs(x.mean() - (weights[::-1] @ table)[level]) > 5 * error, "power: wrong weights must be seen"


@pytest.mark.parametrize(("n", "epsilon"), [(1_000, 0.001), (10_000_000, 0.5), (10_000_000, 1e-6), (5, 5.0)])
def test_gibbs_mixes_at_every_scale(n, epsilon):
    """Seed 3: R-hat below 1.02 and at least 200 effective draws of 4,000, whatever n and epsilon."""
    plan = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c", "d", "e"]), tacit.PureDP(epsilon))
    unit = plan.statistic().unit
    shares = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    sd = plan.noise().sd[0] / unit
    noise = np.random.default_rng(3).laplace(size=5) * sd / np.sqrt(2)
    values = tuple(round(float(v) * unit) for v in np.rint(shares * n) + noise)
    release = tacit.Release(plan=plan, n=n, values=values, dataset="x", id="x", simulated=True)
    rows = tacit.infer(release, seed=3).summary()
    assert max(r.r_hat for r in rows if r.r_hat == r.r_hat) < 1.02
    assert min(min(r.ess_bulk, r.ess_tail) for r in rows if r.r_hat == r.r_hat) > 200
