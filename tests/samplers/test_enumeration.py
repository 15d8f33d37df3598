"""Draws of a latent count by enumeration, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import betabinom

import tacit
from tacit.infer import posterior_arrays, problem_for
from tacit.runtime.chain import Settings


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
