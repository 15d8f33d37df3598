"""Asymptotic variances of one draw and the steepest slope of the loss, against 20-digit reference values."""

from __future__ import annotations

import numpy as np
import pytest

from comparisons.beta_efficiency import (
    best_beta_of_normal_mean,
    draw_variance,
    logistic_matrices,
    logistic_slope,
    normal_mean_variance,
)
from tacit.privacy.beta_divergence import Probabilities, epsilon_of


@pytest.mark.parametrize(
    ("p", "beta", "bend", "push"),
    [
        (0.5, 2.0, 0.125, 0.0625),
        (0.3, 1.5, 0.1332247976249061782, 0.084518317629510508858),
        (0.9, 3.0, 0.0081, 0.000729),
    ],
)
def test_an_intercept_alone_is_estimated_as_well_for_every_beta(p, beta, bend, push):
    theta = [np.log(p / (1 - p))]
    found = logistic_matrices([[1.0]], [1.0], theta, beta)
    assert found[0][0, 0] == pytest.approx(bend, rel=1e-12)
    assert found[1][0, 0] == pytest.approx(push, rel=1e-12)
    assert found[1][0, 0] / found[0][0, 0] ** 2 == pytest.approx(1 / (p * (1 - p)), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "beta", "weight", "bend", "push", "variance"),
    [
        (0.2, 11.0, 1.0, 0.0023059131152190003646, 0.00002704431621863095802, 438.75384519059496808),
        (0.2, 2.5, 0.15, 0.053098818064627019659, 0.014340352761790027072, 130.63823398342630868),
        (5.0, 1.4, 1.0, 0.13165086967799977187, 0.088153100380160067749, 12.68200930653191328),
    ],
)
def test_variance_with_covariates_of_plus_and_minus_one(epsilon, beta, weight, bend, push, variance):
    found = logistic_matrices([[1.0], [-1.0]], [0.5, 0.5], [1.0], beta)
    assert found[0][0, 0] == pytest.approx(bend, rel=1e-12)
    assert found[1][0, 0] == pytest.approx(push, rel=1e-12)
    assert draw_variance(*found, weight)[0, 0] == pytest.approx(variance, rel=1e-12)
    assert epsilon_of(Probabilities(), beta, weight) == pytest.approx(epsilon, rel=1e-9)


def test_the_mean_of_a_normal_law():
    for beta, sandwich in [(1.5, 1.1932426932522989474), (2.0, 1.5396007178390020387), (3.0, 2.4149534156997728721)]:
        assert normal_mean_variance(beta, 1e15) == pytest.approx(sandwich, rel=1e-12)
    for epsilon, beta, variance in [
        (0.1, 2.8161131424940496651, 54.283081364419489951),
        (1.0, 2.2027123458860061626, 7.1369745055164121633),
        (5.0, 1.7044397506103303934, 2.5879485901105390921),
    ]:
        assert best_beta_of_normal_mean(epsilon) == pytest.approx(beta, rel=1e-6)
        assert normal_mean_variance(best_beta_of_normal_mean(epsilon), epsilon) == pytest.approx(variance, rel=1e-10)


@pytest.mark.parametrize(
    ("beta", "slope", "printed"),
    [
        (1.1, 0.73246377927230291648, 0.71526676563342930496),
        (1.3333333333333333, 0.52559460411958074104, 0.47247039371057745862),
        (1.5, 0.44540654576464269408, 0.38490017945975050967),
        (2.0, 8 / 27, 0.25),
        (3.0, 0.14814814814814814815, 0.14814814814814814815),
        (5.0, 0.067540419222986462337, 0.08192),
    ],
)
def test_the_steepest_slope_of_the_logistic_loss(beta, slope, printed):
    assert logistic_slope(beta) == pytest.approx(slope, rel=1e-12)
    assert (beta - 1) ** (beta - 1) / beta**beta == pytest.approx(printed, rel=1e-9)  # G of Condition 2
