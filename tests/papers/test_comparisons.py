"""The other ways to a private logistic regression: tempering weights as proved, and draws to compare with."""

from __future__ import annotations

import math

import numpy as np
import pytest

from comparisons.logistic_draws import logistic_draws
from comparisons.tempering import (
    LOGISTIC_SLOPE_ONE,
    gaussian_weight,
    gibbs_weight,
    logistic_range,
    minami_weight,
)
from tacit.audit.one_posterior import ExactPair
from tacit.errors import InputError
from tacit.privacy import gaussian


def test_the_gibbs_weight_by_the_range_of_the_log_likelihood():
    """Reference: epsilon / (2 c) for |logit| <= c; the printed epsilon / (4 ln(1 + e^c)) is smaller."""
    for reach, epsilon, printed, tight in [
        (2.0, 1.0, 0.11754041448605897125, 0.25),
        (5.0, 1.0, 0.049932936585948065066, 0.1),
        (1.0, 0.5, 0.095182857451832499746, 0.25),
    ]:
        low, high = logistic_range(reach)
        assert high - low == pytest.approx(reach, rel=1e-14)
        assert epsilon / (4 * -low) == pytest.approx(printed, rel=1e-12)
        assert gibbs_weight(epsilon, low=low, high=high) == pytest.approx(tight, rel=1e-11)


@pytest.mark.parametrize(
    ("epsilon", "mu", "exact"),
    [(1.0, 0.20401430064895786736, 3.0189768705739607257e-8), (5.0, 1.0200715032447893368, 9.9258214358440831106e-7)],
)
def test_minamis_weight_and_what_it_really_costs(epsilon, mu, exact):
    weight = minami_weight(epsilon, 1e-5, slope=2.0, precision=0.25)
    assert weight * 2.0 / 0.5 == pytest.approx(mu, rel=1e-10)
    assert gaussian.delta(epsilon, mu) == pytest.approx(exact, rel=1e-9)
    assert gaussian_weight(epsilon, 1e-5, slope=2.0, precision=0.25) > weight


@pytest.mark.parametrize(
    ("delta", "limit"), [(1e-3, 8.077216510091241), (1e-5, 8.988874937520268), (1e-6, 9.339194677725778)]
)
def test_minamis_weight_is_refused_where_its_bound_fails(delta, limit):
    minami_weight(limit * (1 - 1e-6), delta, slope=1.0, precision=1.0)
    for epsilon in (limit * (1 + 1e-6), 20.0):
        with pytest.raises(InputError, match="its bound fails here"):
            minami_weight(epsilon, delta, slope=1.0, precision=1.0)


def test_one_dimension_has_a_smaller_slope():
    """A fine grid: the largest p(t) + s p(-s t)."""
    t, s = np.meshgrid(np.linspace(0, 6, 2001), np.linspace(0, 1, 2001))
    largest = np.max(1 / (1 + np.exp(-t)) + s / (1 + np.exp(s * t)))
    assert largest <= LOGISTIC_SLOPE_ONE <= largest * (1 + 1e-6)


@pytest.mark.parametrize("beta", [None, 2.0])
def test_comparison_draws_have_their_law(beta):
    """Seed 7. One coefficient, 4,000 draws for one data set each; Kolmogorov-Smirnov at 1e-6.

    Planted: draws 15% too wide fail.
    """
    from scipy.stats import kstest

    x, y = np.array([[1.0], [2.0], [-0.5], [0.3], [1.0]]), np.array([1.0, 1.0, -1.0, 1.0, -1.0])
    many = 4000
    found, effective = logistic_draws(
        np.broadcast_to(x, (many, 5, 1)), np.broadcast_to(y, (many, 5)), weight=0.7, beta=beta, theta_sd=3.0, seed=7
    )
    assert effective.min() > 100
    grid = np.linspace(-20, 20, 40_001)
    own = 1 / (1 + np.exp(-y * grid[:, None] * x.T))
    losses = -np.log(own)
    if beta is not None:
        losses = (own**beta + (1 - own) ** beta) / beta - own ** (beta - 1) / (beta - 1)
    density = np.exp(-0.7 * losses.sum(axis=1) - grid**2 / 18)
    cumulative = np.cumsum(density) / density.sum()
    assert kstest(found[:, 0, 0], lambda v: np.interp(v, grid, cumulative)).pvalue > 1e-6
    centre = float((grid * density).sum() / density.sum())
    assert kstest(centre + 1.15 * (found[:, 0, 0] - centre), lambda v: np.interp(v, grid, cumulative)).pvalue < 1e-3


def test_the_mechanisms_agree_with_their_exact_profile():
    """A linear loss with a Gaussian prior is Gaussian-DP exactly: it breaks Minami's bound at epsilon 20."""
    epsilon, delta = 20.0, 1e-5
    mu = epsilon / math.sqrt(1 + 2 * math.log(1 / delta))
    grid = np.linspace(-12, 16, 1_000_001)
    pair = ExactPair(-(grid**2) / 2, -((grid - mu) ** 2) / 2, np.full_like(grid, math.log(grid[1] - grid[0])))
    assert pair.delta(epsilon) == pytest.approx(0.001168992254007110117, rel=1e-4)
    assert pair.delta(epsilon) > delta
