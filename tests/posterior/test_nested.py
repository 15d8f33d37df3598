"""Nested models by evidence: the closed form against evidence computed otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import tacit
from tacit.posterior.nested import compared


def test_the_closed_form_is_the_ratio_of_evidences():
    """z ~ N(theta, C) and a normal prior, where both evidences are normal densities of z, by importance sampling too.

    Seed 3, 200,000 draws from the prior: the estimate is within 5 of its standard errors (6e-7). The planted fault, the
    prior's part left out, is caught, and so is a prior twice as wide that is not told.
    """
    rng = np.random.default_rng(3)
    a = rng.normal(size=(3, 3))
    noise = a @ a.T + 0.2 * np.eye(3)
    mean, sd, z = np.array([0.5, 0.0, -0.2]), np.array([2.0, 1.5, 0.7]), np.array([1.0, 0.8, -0.5])
    covariance = np.linalg.inv(np.linalg.inv(noise) + np.diag(sd**-2.0))
    centre = covariance @ (np.linalg.solve(noise, z) + mean / sd**2)
    places = [1, 2]

    def evidences(wider):
        spread = sd.copy()
        spread[places] *= wider
        whole = multivariate_normal(mean, noise + np.diag(spread**2)).logpdf(z)
        kept = np.array([mean[0], 0.0, 0.0]), noise + np.diag([sd[0] ** 2, 0.0, 0.0])
        return whole - multivariate_normal(*kept).logpdf(z)

    found = compared(("b", "c"), centre[places], covariance[np.ix_(places, places)], mean[places], sd[places])
    assert found.log_bayes_factor == pytest.approx(evidences(1.0), abs=1e-9)
    assert found.half_as_wide == pytest.approx(evidences(0.5), abs=1e-9)
    assert found.twice_as_wide == pytest.approx(evidences(2.0), abs=1e-9)
    assert found.prior_part - found.posterior_part == pytest.approx(found.log_bayes_factor)
    draws = mean + sd * rng.standard_normal((200_000, 3))
    likelihood = multivariate_normal(np.zeros(3), noise).pdf(draws - z)
    nested = multivariate_normal(np.zeros(3), noise).pdf(draws * [1, 0, 0] - z)
    ratio = likelihood.mean() / nested.mean()
    error = np.hypot(likelihood.std() / likelihood.mean(), nested.std() / nested.mean()) / np.sqrt(len(draws))
    assert abs(np.log(ratio) - found.log_bayes_factor) < 5 * error
    assert abs(np.log(ratio) + found.posterior_part) > 50 * error
    assert abs(np.log(ratio) - found.twice_as_wide) > 50 * error


@pytest.mark.slow
def test_the_closed_form_agrees_with_bridge_sampling_of_the_chains():
    """Seed 4: log B of `dose` in a logistic regression (n = 5,000, epsilon = 2) against a bridge of six priors of
    `dose`, each about a quarter as wide as the one before, down to a fiftieth of the posterior's sd, by chains of
    their own.

    With p_k the prior density of `dose` and E_k the mean over draws under it, Z_k+1 / Z_k is
    E_k[sqrt(p_k+1 / p_k)] / E_k+1[sqrt(p_k / p_k+1)] (Meng and Wong, 1996, the geometric bridge). 4,000 draws each:
    the sum of five logarithms has a standard error of about 0.06, and the tolerance is 0.3. Leaving the prior's part
    out
    would move it by 1.8. (With 0 at 4 standard deviations, theta = 0.25, both differed by 0.4 of 4.7.)
    """
    schema = tacit.Schema(ill=["no", "yes"], age=(18, 90), dose=(0, 10))
    plan = tacit.Plan(tacit.LogisticRegression("ill ~ age + dose"), schema, tacit.ApproxDP(epsilon=2, delta=1e-6))
    release = tacit.simulate(plan, n=5000, seed=4, parameters={"theta": [-0.5, 1.0, 0.1]}).release
    sds = [0.5 / 4**k for k in range(6)]
    posteriors = [tacit.infer(release, prior={"dose": (0.0, sd)}, seed=0) for sd in sds]
    total = 0.0
    for one, two, wide, narrow in zip(posteriors, posteriors[1:], sds, sds[1:], strict=False):

        def log_ratio(draws, wide=wide, narrow=narrow):
            return np.log(wide / narrow) - draws**2 * (narrow**-2 - wide**-2) / 2

        forward = np.mean(np.exp(log_ratio(one.draws("dose")) / 2))
        total += np.log(forward) - np.log(np.mean(np.exp(-log_ratio(two.draws("dose")) / 2)))
    found = posteriors[0].compare("ill ~ age")
    assert abs(-total - found.log_bayes_factor) < 0.3
    assert found.distance < 3
    assert abs(found.prior_part) > 0.6
