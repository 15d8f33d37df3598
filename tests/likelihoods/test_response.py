"""Linear regression where the share of the response that is explained is an unknown."""

from __future__ import annotations

import jax
import numpy as np

import tacit
from tacit.infer import prior_for
from tacit.likelihoods.coefficient_prior import column_moments
from tacit.likelihoods.response import Fit, given_sigma
from tacit.runtime.backend import float64


def test_the_evidence_of_rows_is_that_of_a_sum_over_sigma_and_the_explained_share():
    """Two responses of 7 rows, by sums over (e, h) and, written anew, over (log sigma^2, h) with the rows' own
    covariance. Planted: a prior of slopes that forgets the share is off by far more than the tolerance.
    """
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(7), rng.uniform(-1, 1, (7, 2))])
    responses = [0.1 + 0.3 * x[:, 1] + 0.02 * rng.standard_normal(7), 0.4 * rng.standard_normal(7)]
    model = tacit.LinearRegression("y ~ a + b")
    schema = tacit.Schema(y=(-1, 1), a=(-1, 1), b=(-1, 1))
    prior = prior_for(model, schema, {"explained": (0.5, 0.5)}).response(model.design(schema))
    h = np.linspace(-9, 9, 181)

    def by_formula(y):
        gram = x.T @ x
        estimate = np.linalg.solve(gram, x.T @ y)
        fits = Fit(gram[None], estimate[None], np.array([np.sum((y - x @ estimate) ** 2)]))
        e = np.linspace(-16, 16, 321)
        points = np.stack(np.meshgrid(e, h, indexing="ij"), -1).reshape(-1, 2)
        with float64():
            logs = np.asarray(jax.vmap(lambda one: given_sigma(fits, 7, prior, one).log_evidence)(points))
        return np.log(np.sum(np.exp(logs - logs.max()))) + logs.max()

    def anew(y, forgets=False):
        centre, squares = (np.asarray(one) for one in column_moments(x.T @ x, 7, intercept=True))
        found = []
        for log_v in np.linspace(-22, 4, 261):
            for one in h:
                v, w = np.exp(log_v), np.exp(2 * one)
                tau, share = np.sqrt(v * (1 + w)), w / (1 + w)
                log_prior = np.log(tau) - tau**2 / (2 * 0.5**2) + 0.5 * np.log(share) + 0.5 * np.log1p(-share)
                said = prior.coefficients
                precisions = said.precisions(squares, v, 1.0 if forgets else w)
                half = x @ np.linalg.inv(said.rows + said.lifted[:, None] * centre) / np.sqrt(precisions)
                covariance = v * np.eye(7) + half @ half.T
                found.append(log_prior - np.linalg.slogdet(covariance)[1] / 2 - y @ np.linalg.solve(covariance, y) / 2)
        return np.log(np.sum(np.exp(np.array(found) - max(found)))) + max(found)

    ours, theirs, planted = ([f(y) for y in responses] for f in (by_formula, anew, lambda y: anew(y, forgets=True)))
    assert abs((ours[0] - ours[1]) - (theirs[0] - theirs[1])) < 0.01
    assert abs((ours[0] - ours[1]) - (planted[0] - planted[1])) > 0.1


def test_the_unknown_of_the_explained_share_stays_in_place_as_the_residuals_vanish():
    """Residuals of 1, 1/100 and 1/10,000 of the squares move the likeliest h by log(100); what is sampled by less than
    1. A chain on h itself left draws with tiny residuals out, and one in ten diverged.
    """
    model, schema = tacit.LinearRegression("y ~ x"), tacit.Schema(y=(-1, 1), x=(-1, 1))
    prior = prior_for(model, schema, {"explained": (0.5, 0.5)}).response(model.design(schema))
    grid = np.linspace(-6, 6, 241)
    gram, estimate = np.array([[[1000.0, 100.0], [100.0, 90.0]]]), np.array([[0.1, 0.4]])
    found = []
    for rss in (10.0, 0.1, 0.001):
        fits = Fit(gram, estimate, np.array([rss]))
        points = np.stack([np.zeros(241), grid], axis=1)
        with float64():
            logs = jax.vmap(lambda one, fits=fits: given_sigma(fits, 1000.0, prior, one).log_evidence)(points)
        found.append(grid[int(np.argmax(logs))])
    assert max(found) - min(found) < 1, found
    assert max(map(abs, found)) < 2, found
