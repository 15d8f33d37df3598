"""Gradient descent under local privacy, the rival: the least noise that keeps the promise, and right gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

from comparisons.local_sgd import gradients, group_size, local_sgd, noise_sd
from tacit.errors import InputError
from tacit.privacy import gaussian
from tacit.privacy.guarantees import ApproxDP

BUDGET = ApproxDP(0.5, 1e-5)


def test_noise_is_calibrated_exactly():
    """sigma / sensitivity at (0.5, 1e-5) is 7.0318266755824914 in 40-digit arithmetic; the sensitivity is 2."""
    sd = noise_sd(BUDGET)
    assert sd == pytest.approx(2 * 7.0318266755824914, rel=1e-9)
    assert gaussian.delta(0.5, 2 / sd) <= 1e-5 < gaussian.delta(0.5, 2 / sd * (1 + 1e-6))


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_no_two_gradients_differ_by_more_than_2_and_some_do_by_as_much(family):
    """Seed 1, rows of any size: the cut is what bounds them."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((4000, 3)) * rng.exponential(5, (4000, 1)), np.sign(rng.standard_normal(4000))
    found = gradients(x, y, rng.standard_normal(3), family)
    assert np.linalg.norm(found, axis=1).max() <= 1 + 1e-12
    ends = gradients(np.array([[9.0, 0, 0], [-9.0, 0, 0]]), np.array([1.0, 1.0]), np.zeros(3), family)
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(2, abs=1e-12)


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_gradients_are_those_of_the_loss(family):
    """Seed 2, central differences of step 1e-5, whose error is below 1e-8; a wrong sign of y is caught."""
    rng = np.random.default_rng(2)
    x, y, theta = 0.3 * rng.standard_normal((6, 3)), np.array([1.0, -1, 1, 1, -1, -1]), rng.standard_normal(3)

    def loss(at):
        return (y - x @ at) ** 2 / 2 if family == "linear" else np.logaddexp(0, -y * (x @ at))

    steps = 1e-5 * np.eye(3)
    numeric = np.stack([(loss(theta + s) - loss(theta - s)) / 2e-5 for s in steps], axis=1)
    assert np.abs(gradients(x, y, theta, family) - numeric).max() < 1e-8
    assert np.abs(gradients(x, -y, theta, family) - numeric).max() > 1e-2


class Still:
    """A generator whose draws are all 0.001, to read the size of the noise off the answer."""

    def standard_normal(self, shape):
        return np.full(shape, 1e-3)


def test_noise_in_the_answer_is_what_was_promised():
    """40 rows of zeros in 5 groups: the answer is the mean place of 5 equal steps of noise. Exact; noise that suits a
    sensitivity of 1 would give half of it.
    """
    assert group_size(BUDGET, 2, 40) == 8
    found = local_sgd(np.zeros((40, 2)), np.ones(40), family="linear", budget=BUDGET, radius=3.0, rng=Still())
    sd = noise_sd(BUDGET)
    step = 3.0 / math.sqrt(5 * (1 + 2 * sd**2 / 8))
    assert found == pytest.approx(np.full(2, -step * sd * 1e-3 * np.mean([1, 2, 3, 4, 5])), rel=1e-12)


def test_it_learns():
    """Seed 4. Without noise and with many rows both families come near to theta."""
    rng = np.random.default_rng(4)
    theta = np.array([0.8, -0.5])
    x = rng.uniform(-0.7, 0.7, (10_000, 2))
    y = {
        "linear": x @ theta + 0.1 * rng.standard_normal(len(x)),
        "logistic": np.where(rng.random(len(x)) < 1 / (1 + np.exp(-x @ theta)), 1.0, -1.0),
    }
    for family, response in y.items():
        strong = ApproxDP(8.0, 1e-5)
        exact = local_sgd(x, response, family=family, budget=strong, radius=2.0, rng=rng, noiseless=True)
        noisy = local_sgd(x, response, family=family, budget=strong, radius=2.0, rng=rng)
        assert np.linalg.norm(exact - theta) < 0.3 * np.linalg.norm(theta)
        assert np.linalg.norm(noisy - theta) < 0.5 * np.linalg.norm(theta)
        assert np.linalg.norm(local_sgd(x, response, family=family, budget=strong, radius=0.1, rng=rng)) <= 0.1


def test_refusals():
    given = {"family": "linear", "budget": BUDGET, "radius": 1.0, "rng": None}
    with pytest.raises(InputError, match="family='poisson' to be one of linear, logistic"):
        local_sgd(np.zeros((2, 1)), np.zeros(2), **{**given, "family": "poisson"})
    with pytest.raises(InputError, match="to have a row for each of the 3 responses"):
        local_sgd(np.zeros((2, 1)), np.zeros(3), **given)
    with pytest.raises(InputError, match="radius=0"):
        local_sgd(np.zeros((2, 1)), np.zeros(2), **{**given, "radius": 0})
