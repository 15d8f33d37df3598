"""The seeded twins of a network's draw and descent, with which papers compare them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from comparisons.network_methods import Descent, clipped_sum, network_descents, network_draws
from tacit.mechanisms.targets.network_densities import NetworkBernoulli, NetworkNormal
from tacit.models.network import output, weight_names
from tacit.private_samplers.smc import Cooling
from tacit.runtime.backend import float64

NAMES = weight_names(["1", "a"], 3)
DENSITIES = {"bernoulli": NetworkBernoulli(NAMES, 1.0, 3), "normal": NetworkNormal(NAMES, 1.0, 0.2, 1.0, 0.16, 1.0, 3)}


def data_of(kind, sets, n, seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([np.ones((sets, n, 1)), rng.uniform(-1, 1, (sets, n, 1))], axis=2)
    mean = np.tanh(3 * x[..., 1]) / 2
    noise = rng.standard_normal(mean.shape)
    return x, np.where(mean + noise > 0, 1.0, -1.0) if kind == "bernoulli" else mean + 0.2 * noise


@pytest.mark.parametrize("kind", DENSITIES)
def test_the_sum_of_clipped_gradients_is_that_of_differentiation(kind):
    """Seed 31; no chance of a false alarm. Planted: the sum without clipping is another one."""
    import jax

    density = DENSITIES[kind]
    x, y = (part[0] for part in data_of(kind, 1, 50, 31))
    rng = np.random.default_rng(32)
    theta, taken = 2 * rng.standard_normal(len(density.parameters)), rng.random(50) < 0.6
    with float64():

        def loss(theta, x, y):
            return -density.log_density(theta, x[None], y[None])[0]

        gradients = np.asarray(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(theta, x, y))
        norms = np.linalg.norm(gradients, axis=1)
        limit = np.median(norms)
        found = np.asarray(clipped_sum(density, theta, x, y, taken, limit))
        plain = np.asarray(clipped_sum(density, theta, x, y, taken, np.inf))
    assert found == pytest.approx((np.minimum(1, limit / norms) * taken) @ gradients, rel=1e-10, abs=1e-12)
    assert plain == pytest.approx(taken @ gradients, rel=1e-10, abs=1e-12)
    assert np.max(np.abs(plain - found)) > 1e-3


def test_a_descent_without_noise_follows_its_formula():
    """Seed 33; no chance of a false alarm: all rows are taken in every step. Planted: another step length differs."""
    import jax

    density = DENSITIES["normal"]
    x, y = data_of("normal", 3, 40, 34)
    first = network_descents(density, x, y, Descent(0, 1.0, 0.5, 0.0, 1.0), seed=33)
    found = network_descents(density, x, y, Descent(6, 1.0, 0.5, 0.0, 1.0), seed=33)
    short = network_descents(density, x, y, Descent(6, 1.0, 0.4, 0.0, 1.0), seed=33)
    with float64():
        of_prior = jax.grad(density.prior_potential)
        for k in range(3):
            theta = first[k]
            for _ in range(6):
                total = clipped_sum(density, theta, x[k], y[k], np.ones(40, bool), 1.0)
                theta = theta - 0.5 / 40 * (total + of_prior(theta))
            assert found[k] == pytest.approx(np.asarray(theta), rel=1e-9, abs=1e-12)
            assert np.max(np.abs(short[k] - found[k])) > 1e-3


def test_the_noise_of_a_step_has_the_size_that_is_charged():
    """Seed 35, false alarms 1e-6: squares of 100 data sets' noise against chi-square. Planted: 1.3 times the noise.

    Rate 0.5, so that a step's noise is multiplier * clip / rate in the sum; batches add their own scatter, so rows are
    all alike and at a clip that makes it less than a thousandth of the noise.
    """
    density = DENSITIES["bernoulli"]
    x, y = np.ones((100, 20, 2)), np.ones((100, 20))
    clip, multiplier, length = 1e-3, 1000.0, 0.1
    first = network_descents(density, x, y, Descent(0, 0.5, length, multiplier, clip), seed=35)
    found = network_descents(density, x, y, Descent(1, 0.5, length, multiplier, clip), seed=35)
    moved = (found - first * (1 - length / 20)) / (length / 20 / 0.5 * multiplier * clip)
    total, count = np.square(moved).sum(), moved.size
    assert 5e-7 < chi2.cdf(total, count) < 1 - 5e-7
    assert chi2.sf(1.3**2 * total, count) < 1e-6


@pytest.mark.slow
def test_draws_of_many_data_sets_are_those_of_each():
    """Seed 36; no chance of a false alarm but rounding. Each data set has its own curve, and its draw follows it."""
    density = DENSITIES["normal"]
    x, y = data_of("normal", 2, 200, 37)
    y[1] = -y[1]
    cooling = Cooling(8, 60, 20, 12)
    found = network_draws(density, x, y, weight=2.0, beta=1.5, cooling=cooling, seed=36)
    assert np.asarray(found.points).shape == (2, 8, len(density.parameters))
    for k, sign in enumerate((1, -1)):
        curve = output(np.asarray(found.chosen)[k][:-1], x[k], 3, np.tanh)
        assert np.corrcoef(curve, sign * np.tanh(3 * x[k, :, 1]))[0, 1] > 0.9
