"""The learned distribution of covariates: its moments, its shapes and its prior."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.likelihoods.learned_covariates import RESOLUTIONS, SHARE, SHARE_SD, LearnedCovariates


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


ONE = LearnedCovariates(1)


def at(mean, variance, series=(0.0,) * 6):
    """The t of one number."""
    from scipy.special import logit, ndtri

    share = (logit(variance / (1 - mean**2)) - SHARE) / SHARE_SD
    return jnp.array([ndtri((1 + mean) / 2), share, *series])


def held(t):
    found = ONE.distribution(t)
    return float(found.means[0, 0]), float(found.root[0, 0] ** 2)


@pytest.mark.parametrize(
    ("mean", "variance"),
    [(0.0, 0.05), (0.55, 0.2375), (0.0, 0.98), (-0.95, 0.0025), (-0.95, 0.08), (0.3, 1e-5), (0.9, 0.01)],
)
def test_mean_and_variance_are_coordinates(mean, variance):
    """Normal, cut off, two ends, exponential at an end, nearly a point; with and without a shape of its own."""
    for series in ((0.0,) * 6, (1.0, -0.5, 0.3, 0.0, 0.5, -1.0)):
        np.testing.assert_allclose(held(at(mean, variance, series)), (mean, variance), rtol=1e-6, atol=1e-9)


def test_without_a_series_it_is_normal_where_the_bounds_are_far():
    axes, shares = ONE.grid(at(0.1, 0.01))
    x = np.asarray(axes[0])
    for power, wanted in ((3, 0.0), (4, 3e-4), (6, 15e-6)):
        assert float(shares @ (x - 0.1) ** power) == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_a_series_makes_it_skewed():
    axes, shares = ONE.grid(at(0.0, 0.04, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    assert abs(float(shares @ np.asarray(axes[0]) ** 3)) > 0.3 * 0.04**1.5


def test_most_draws_of_the_prior_have_the_moments_that_they_say():
    """Seed 1: 200 draws; the search for the multipliers misses where nearly all of x is a point at one end."""
    ts = np.random.default_rng(1).standard_normal((200, ONE.size))
    found = jax.jit(jax.vmap(lambda t: (ONE.distribution(t).root[0, 0] ** 2, ONE.moments(t)[1][0])))(ts)
    assert np.mean(np.abs(np.asarray(found[0] / found[1]) - 1) < 1e-6) > 0.98


def test_derivatives_pass_through_the_search():
    t = at(0.4, 0.2, (0.5, -0.3, 0.2, 0.0, 0.1, 0.0))

    def value(t):
        axes, shares = ONE.grid(t)
        return shares @ axes[0] ** 3

    gradient = jax.jit(jax.grad(value))(t)
    steps = 1e-5 * np.eye(len(t))
    differences = jnp.array([(value(t + step) - value(t - step)) / 2e-5 for step in steps])
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-8)


def test_the_copula_of_two_normal_numbers_is_about_their_correlation():
    two = LearnedCovariates(2)
    own = at(0.1, 0.02)
    partial = 0.6
    t = jnp.array([own[0], own[0], own[1], own[1], *[0.0] * 8, np.arctanh(partial) / two.widths[0]])
    found = two.distribution(t)
    covariance = np.asarray(found.root @ found.root.T)
    # Ranks on 24 points an axis: 3% off in a variance, 0.03 in the correlation.
    np.testing.assert_allclose(np.diagonal(covariance), 0.02, rtol=0.04)
    assert covariance[0, 1] / covariance[0, 0] == pytest.approx(partial, abs=0.04)
    np.testing.assert_allclose(found.means[0], 0.1, atol=1e-3)
    assert two.size == 2 + 2 + 2 * RESOLUTIONS[2].series + 1
