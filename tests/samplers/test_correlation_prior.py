"""The prior of correlations: its parts integrate to 1, and tables of related columns are no surprise to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from tacit.samplers.correlation_prior import log_correlation_prior, log_integral, unrelated_shape


@pytest.mark.parametrize("shape", [0.5, 1.5, 4.0])
def test_the_integral_for_two_covariates(shape):
    expected = quad(lambda r: (1 - r * r) ** (shape - 1), -1, 1)[0]
    assert log_integral(shape, 2) == pytest.approx(np.log(expected), abs=1e-7)


@pytest.mark.parametrize("shape", [1.5, 4.0])
def test_the_integral_for_three_covariates(shape):
    """By a million points of the cube, seed 1: false alarms beyond 6 standard errors, 2e-9."""
    r = np.random.default_rng(1).uniform(-1, 1, (10**6, 3))
    determinant = np.maximum(1 + 2 * np.prod(r, 1) - np.sum(r**2, 1), 0.0)
    values = 8 * determinant ** (shape - 1)
    error = values.std() / 1e3 / values.mean()
    assert log_integral(shape, 3) == pytest.approx(np.log(values.mean()), abs=6 * error)
    assert log_integral(shape + 0.05, 3) != pytest.approx(np.log(values.mean()), abs=6 * error)


def test_the_whole_density_of_one_correlation_is_one():
    total = quad(lambda r: float(np.exp(log_correlation_prior(np.log1p(-r * r), 2))), -1, 1, limit=200)[0]
    assert total == pytest.approx(1, abs=1e-4)
    assert float(log_correlation_prior(np.zeros(()), 1)) == 0.0


@pytest.mark.parametrize("covariates", range(2, 20))
def test_what_the_others_leave_unexplained(covariates):
    usual = beta(unrelated_shape(covariates), (covariates - 1) / 2)
    assert usual.mean() == pytest.approx(0.6 if 3 <= covariates <= 6 else usual.mean())
    related = beta(0.5, (covariates - 1) / 2)
    assert 0.5 * usual.cdf(0.1) + 0.5 * related.cdf(0.1) > 0.1  # one related table in ten is the least
