"""The kernels against independent computations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import betabinom

import tacit
from tacit.infer import posterior_arrays, problem_for
from tacit.runtime.chain import Settings


@pytest.mark.parametrize("a", [0.001, 0.5, 1.0, 2.0, 17.5, 1e4])
def test_gamma_ratio_is_stable(a):
    """Against exact products for whole a, and against high precision elsewhere, to 1e-11 relative."""
    import mpmath

    from tacit.numerics.gamma_ratio import log_gamma_ratio
    from tacit.runtime.backend import float64

    x = np.array([0, 1, 5, 63, 64, 65, 1e3, 1e6, 1e9, 1e12, 1e15])
    with float64():
        ours = np.asarray(log_gamma_ratio(x, a))
    with mpmath.workdps(60):
        exact = [float(mpmath.loggamma(mpmath.mpf(v) + a) - mpmath.loggamma(mpmath.mpf(v) + 1)) for v in x]
    np.testing.assert_allclose(ours, exact, rtol=1e-11, atol=1e-11)
    plain = gammaln(x + a) - gammaln(x + 1)
    if a != 1.0:
        assert np.max(np.abs(plain - exact)) > 1e-6, "the planted fault: the plain difference must be worse"


def _exact_weights(plan, n, value, a, b):
    """p(count | release) by brute force in plain numpy."""
    counts = np.arange(n + 1)
    residual = (value / plan.statistic().unit - counts) * plan.statistic().unit
    log_weights = betabinom.logpmf(counts, n, a, b) + plan.noise().log_pmf(np.rint(residual)[:, None])[:, 0]
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


@pytest.mark.parametrize("budget", [tacit.PureDP(0.3), tacit.ZCDP(0.05), tacit.GDP(0.3)], ids=repr)
@pytest.mark.parametrize("share", [-0.4, 0.0, 0.3, 1.0, 1.6])
def test_bernoulli_draws_the_exact_mixture(budget, share):
    """Seed 1; 40,000 latent counts against brute force by chi-square; false-alarm rate 1e-6 a case.

    The planted fault, weights from another prior, is rejected at 1e-12.
    """
    from scipy.stats import chisquare

    n = 60
    plan = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), budget)
    value = round(share * n * plan.statistic().unit)
    problem = problem_for(plan.model, plan.schema, {"a": 2.0, "b": 5.0}, n, plan.noise())
    arrays, _ = posterior_arrays(problem, "exact", Settings(0, 40_000), [(value,)], chains=1, seed=1)
    seen = np.bincount(arrays["count"][0, 0].astype(int), minlength=n + 1)

    def p_value(weights):
        expected = 40_000 * weights
        cells = expected >= 5
        observed = np.append(seen[cells], seen[~cells].sum())
        predicted = np.append(expected[cells], expected[~cells].sum())
        if predicted[-1] < 5:
            observed[-2] += observed[-1]
            predicted[-2] += predicted[-1]
            observed, predicted = observed[:-1], predicted[:-1]
        return chisquare(observed, predicted * observed.sum() / predicted.sum()).pvalue

    assert p_value(_exact_weights(plan, n, value, 2.0, 5.0)) > 1e-6
    assert p_value(_exact_weights(plan, n, value, 2.0, 60.0)) < 1e-12


@pytest.mark.parametrize(
    ("n", "epsilon", "a", "b", "share"),
    [
        (10**7, 0.5, 1e6, 1e6, 0.5001),
        (10**6, 1e-4, 0.01, 3.0, -0.1),
        (10**6, 1e-6, 2.0, 2.0, 0.9),
        (1, 1.0, 0.001, 1.0, 1.0),
    ],
)
def test_bernoulli_stays_exact_for_any_prior_and_size(n, epsilon, a, b, share):
    """Sharp priors, spiky ones, hopeless noise: mean and sd of the count against a sum over all counts. Seed 4.

    20,000 draws; alarm at 5 standard errors of the mean (6e-7 a case) and 5% of the sd.
    """
    plan = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.PureDP(epsilon))
    value = round(share * n * plan.statistic().unit)
    problem = problem_for(plan.model, plan.schema, {"a": a, "b": b}, n, plan.noise())
    arrays, _ = posterior_arrays(problem, "exact", Settings(0, 20_000), [(value,)], chains=1, seed=4)
    counts = np.arange(n + 1)
    log_weights = betabinom.logpmf(counts, n, a, b) - np.abs(value / plan.statistic().unit - counts) * epsilon
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    mean = float(weights @ counts)
    sd = float(np.sqrt(weights @ (counts - mean) ** 2))
    drawn = arrays["count"][0, 0]
    assert abs(drawn.mean() - mean) < 5 * sd / np.sqrt(20_000)
    if a >= 1:  # spiky laws have too heavy tails for a useful bound on the sampled sd
        assert drawn.std() == pytest.approx(sd, rel=0.05)


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
    arrays, _ = posterior_arrays(problem, "gibbs", Settings(200, 16_000), [values], chains=4, seed=2)
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
    """Seed 3: R-hat below 1.02 and at least 300 effective draws of 4,000, whatever n and epsilon."""
    plan = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c", "d", "e"]), tacit.PureDP(epsilon))
    unit = plan.statistic().unit
    shares = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    sd = plan.noise().sd[0] / unit
    noise = np.random.default_rng(3).laplace(size=5) * sd / np.sqrt(2)
    values = tuple(round(float(v) * unit) for v in np.rint(shares * n) + noise)
    release = tacit.Release(plan=plan, n=n, values=values, dataset="x", id="x", simulated=True)
    rows = tacit.infer(release, seed=3).summary()
    assert max(r.r_hat for r in rows if r.r_hat == r.r_hat) < 1.02
    assert min(min(r.ess_bulk, r.ess_tail) for r in rows if r.r_hat == r.r_hat) > 300
