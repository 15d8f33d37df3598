"""Products of normal sums by group: their moments against draws, and conditioning against matrix algebra."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tacit.likelihoods.group_products import given_seen, product_moments


@pytest.fixture
def vectors():
    """Three groups, three q-vectors with q = 2, seed 0."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 6, 6))
    return rng.normal(size=(3, 3, 2)), root @ root.transpose(0, 2, 1) / 3


def test_moments_of_products_are_those_of_draws(vectors):
    """Seed 1, 200,000 draws. A mean has a standard error of at most 0.025 and a covariance, of 60 to 120, one of 0.4;
    the planted fault, one of the two crossings left out, changes covariances by tens.
    """
    mean, covariance = vectors
    with jax.enable_x64(True):
        found, wide = map(np.asarray, product_moments(mean, covariance.reshape(3, 3, 2, 3, 2)))
    rng, total = np.random.default_rng(1), np.zeros((200_000, 3, 3))
    for g in range(3):
        h = rng.multivariate_normal(mean[g].reshape(-1), covariance[g], size=len(total)).reshape(-1, 3, 2)
        total += np.einsum("nia,nja->nij", h, h)
    assert np.abs(total.mean(axis=0) - found).max() < 0.15
    assert np.abs(np.cov(total.reshape(len(total), -1).T).reshape(3, 3, 3, 3) - wide).max() < 2.5
    assert np.abs(wide).max() > 50


def test_sums_that_are_known_nearly_exactly_have_moments_without_rounding():
    """Var h^2 = 2 c^2 + 4 m^2 c with m = 10^8 and c = 1e-4, exact to 1e-12. Planted fault: as the difference of fourth
    powers, 2 (m^2 + c)^2 - 2 m^4, it is off by more than itself.
    """
    m, c = 1e8, 1e-4
    with jax.enable_x64(True):
        _, wide = product_moments(np.full((1, 1, 1), m), np.full((1, 1, 1, 1, 1), c))
    assert np.isclose(float(wide[0, 0, 0, 0]), 2 * c**2 + 4 * m**2 * c, rtol=1e-12)
    assert not np.isclose(2 * (m * m + c) ** 2 - 2 * m**4, 2 * c**2 + 4 * m**2 * c, rtol=0.5)


def test_number_by_number_is_the_same_as_all_at_once(vectors):
    """Exact up to rounding."""
    mean, covariance = vectors[0].reshape(3, 6), vectors[1]
    seen, noise = np.ones((3, 6)), np.linspace(0.1, 2, 18).reshape(3, 6)
    with jax.enable_x64(True):
        found_mean, found_covariance, value = given_seen(*map(jax.numpy.asarray, (mean, covariance, seen, noise)))
    expected = 0.0
    for g in range(3):
        total = covariance[g] + np.diag(noise[g])
        gain = covariance[g] @ np.linalg.inv(total)
        away = seen[g] - mean[g]
        np.testing.assert_allclose(found_mean[g], mean[g] + gain @ away, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found_covariance[g], covariance[g] - gain @ covariance[g], rtol=1e-9, atol=1e-12)
        expected -= (away @ np.linalg.solve(total, away) + np.linalg.slogdet(total)[1]) / 2
    np.testing.assert_allclose(value, expected)
