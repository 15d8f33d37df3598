"""Logistic regression from reports of inputs, the distribution of x learned: the likelihood and the coordinates."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.likelihoods.coefficient_prior import CoefficientPrior
from tacit.likelihoods.learned_covariates import GridShares, LearnedCovariates
from tacit.likelihoods.report_densities import logistic_report
from tacit.samplers import logistic_inputs
from tacit.samplers.learned_inputs import LearnedCoordinates, grid_log_likelihood
from tacit.samplers.logistic_inputs import LabelledReports


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def reports_of(d, noise, rng, n=1000):
    """Covariates of two or three values, and what devices make of them."""
    x = rng.choice([-1.0, 0.2, 1.0], size=(n, d), p=[0.5, 0.1, 0.4])
    labels = (rng.random(n) < 1 / (1 + np.exp(-0.3 - 2 * x.sum(axis=1)))).astype(int)
    return labels, x + np.sqrt(noise) * rng.standard_normal(x.shape)


def one_by_one(reports, labels, z, slopes, intercept, grid):
    """The finite sum, report by report."""
    points = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1).reshape(-1, len(slopes))
    yes = 1 / (1 + np.exp(-intercept - points @ slopes))
    b = np.exp(-reports.epsilon)
    of_label = np.stack([1 - yes + b * yes, yes + b * (1 - yes)]) / (1 + b)
    variances = np.asarray(reports.noise)
    distance = ((z[:, None] - points) ** 2 / variances + np.log(2 * np.pi * variances)).sum(axis=2) / 2
    return np.log((np.exp(-distance) * of_label[labels]) @ np.asarray(grid.shares).reshape(-1)).sum()


def test_the_grid_of_reports_gives_the_sum_over_reports(monkeypatch):
    """Seed 1: x that is -1, 0.2 or 1, the hardest shape; the planted fault is a grid of too few nodes."""
    rng = np.random.default_rng(1)

    def error(d, noise):
        reports = LabelledReports((noise,) * d, 2.0)
        labels, z = reports_of(d, noise, rng)
        axes = np.tile([-1.0, 0.2, 1.0], (d, 1))
        shares = rng.dirichlet(np.ones(3**d)).reshape((3,) * d)
        grid, slopes = GridShares(jnp.asarray(axes), jnp.asarray(shares)), np.linspace(1.0, 3.0, d)
        found = grid_log_likelihood(reports, reports.summary(labels, z), slopes, 0.3, grid)
        return abs(float(found) - one_by_one(reports, labels, z, slopes, 0.3, grid))

    assert max(error(d, noise) for d, noise in ((1, 0.2), (1, 20.0), (2, 3.0), (3, 60.0))) < 1e-3
    monkeypatch.setitem(logistic_inputs.NODES, 1, (4, 4))
    assert error(1, 1.0) > 1.0


def test_normal_covariates_are_inside_the_family():
    """Seed 2: x ~ N(0.1, 0.02) far from its bounds, scored report by report with the normal distribution."""
    rng = np.random.default_rng(2)
    reports, covariates = LabelledReports((0.5,), 2.0), LearnedCovariates(1)
    labels, z = reports_of(1, 0.5, rng)
    share = (np.log(0.02 / (1 - 0.01 - 0.02)) + 1.0) / 1.6
    t = jnp.array([0.12566134685507416, share, *[0.0] * 6])  # the normal quantile of 0.55
    found = grid_log_likelihood(reports, reports.summary(labels, z), np.array([2.0]), 0.3, covariates.grid(t))
    wanted = logistic_report(
        z, labels.astype(float), np.array([2.0]), 0.3, np.array([0.1]), np.array([[0.02]]), np.array([[0.5]]), 2.0
    ).sum()
    assert float(found) == pytest.approx(float(wanted), abs=1e-3)


def test_the_density_of_the_prior_is_that_of_its_coefficients():
    """The logarithms of prior density and volume at two places differ as those of the coefficients' prior do."""
    p = 3
    said = CoefficientPrior(np.eye(p), np.zeros(p), np.zeros(p), np.full(p, 0.25), np.zeros(p), np.zeros(p))
    coordinates = LearnedCoordinates(LearnedCovariates(2), 1, said, np.array([0.05, 0.2]))
    rng = np.random.default_rng(3)

    def parts(t):
        theta = coordinates.theta(t)
        volume = jnp.linalg.slogdet(jax.jacfwd(coordinates.theta)(t)[:, :p])[1]
        rest = coordinates.covariates.log_prior(coordinates.own(t, 0))
        return coordinates.log_prior(t) - (-jnp.sum(theta**2) / 8 + volume + rest)

    first, second = (float(parts(jnp.asarray(rng.standard_normal(coordinates.size)))) for _ in range(2))
    assert first == pytest.approx(second, abs=1e-9)
