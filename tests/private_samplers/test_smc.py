"""Particles that are cooled together: right on known distributions, on a small network by quadrature, whatever the
slope.

Every test compares draws with a distribution by Kolmogorov and Smirnov, or a share with its binomial distribution, at
a level of 1e-4 in all. Seeds are fixed, so that none fails by chance on another day.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, ks_2samp, kstest, norm

from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss
from tacit.mechanisms.posterior_sample.loss import DrawSettings
from tacit.mechanisms.targets.network_densities import NetworkBernoulli, NetworkNormal
from tacit.models.network import output, weight_names
from tacit.private_samplers.particle_draws import cooling_for, draw_by_particles, run_of
from tacit.private_samplers.smc import TemperingSchedule, smc
from tacit.runtime.backend import float64

pytestmark = pytest.mark.optimised  # particles of a network move for long
LEVEL = 1e-4
SHORT = TemperingSchedule(particles=16, rungs=60, settling=40, num_leapfrog_steps=12)
MANY = TemperingSchedule(particles=64, rungs=50, settling=10, num_leapfrog_steps=8)


def words_of(runs, cooling, seed):
    return np.random.default_rng(seed).integers(0, 2**32, (runs, cooling.keys, 2), dtype=np.uint32)


def chosen_by(potential, slope, wide, cases, *, runs, seed, cooling=SHORT):
    """One draw of each of many runs, (cases, runs, size); ``potential`` and ``slope`` take a point and a case."""
    import jax
    import jax.numpy as jnp

    with float64():

        def one(case, words):
            def here(t):
                return potential(t, case)

            def steep(t):
                return slope(t, case)

            return smc(here, steep, jnp.asarray(wide), jax.random.wrap_key_data(words), cooling).chosen

        many = jax.jit(jax.vmap(jax.vmap(one, in_axes=(None, 0)), in_axes=(0, None)))
        return np.asarray(many(jnp.asarray(cases), words_of(runs, cooling, seed)))


WIDE = np.array([[0.0, 0.0], [4.0, 4.0]])


def test_two_modes_far_apart_get_their_shares():
    """Seed 11. Of 400 draws from 0.3 N(-6, 0.5^2) + 0.7 N(6, 1), 120 or so are on the left.

    64 particles: with few of them a narrow mode gets too little, by about 1 / particles. Planted: a density that is
    twice as high on the right, which makes the left share 0.18, is told apart by as many draws.
    """
    import jax
    import jax.numpy as jnp

    def potential(t, height):
        left = jnp.log(0.3) - jnp.square((t[0] + 6) / 0.5) / 2 - jnp.log(0.5)
        right = jnp.log(0.7 * height) - jnp.square(t[0] - 6) / 2
        return jnp.square(t[1]) / 2 - jnp.logaddexp(left, right)

    heights = (1.0, 2.0)
    found = chosen_by(potential, jax.grad(potential), WIDE, heights, runs=400, seed=11, cooling=MANY)[..., 0]
    right, wrong = (binomtest(int((values < 0).sum()), 400, 0.3).pvalue for values in found)
    assert right > LEVEL / 3
    assert wrong < LEVEL
    for values in found:
        assert kstest(values[values > 0], norm(6, 1).cdf).pvalue > LEVEL / 6
        assert kstest(values[values < 0], norm(-6, 0.5).cdf).pvalue > LEVEL / 6


def test_a_wrong_slope_costs_acceptance_and_nothing_else():
    """Seed 14. A normal distribution with correlation 0.8; slopes that are halved, cut to a coarse grid, or off by a
    wave.

    Planted: 500 draws are not those of a distribution 1.5 times as wide.
    """
    import jax.numpy as jnp

    precision = np.linalg.inv(np.array([[1.0, 0.8], [0.8, 1.0]]))

    def potential(t, case):
        return t @ precision @ t / 2

    def slope(t, case):
        right = precision @ t
        return jnp.stack([right / 2, jnp.round(right * 2) / 2, right + jnp.sin(37 * t)])[case]

    for found in chosen_by(potential, slope, WIDE, (0, 1, 2), runs=500, seed=14):
        for values, sd in ((found[:, 0], 1.0), (found[:, 0] - found[:, 1], np.sqrt(0.4))):
            assert kstest(values, norm(0, sd).cdf).pvalue > LEVEL / 6
            assert kstest(values, norm(0, 1.5 * sd).cdf).pvalue < LEVEL


X = np.stack([np.ones(40), np.linspace(-1, 1, 40)], axis=1)
Y = np.where(np.sin(97 * np.arange(40)) * 0.6 + X[:, 1] > 0, 1.0, -1.0)
TINY = NetworkBernoulli(weight_names(["1", "a"], 1), 1.0, 1)
PLACES = np.array([[1.0, -0.7], [1.0, 0.1], [1.0, 0.8]])


def tiny_draws(weights, runs, seed):
    """Logits at PLACES (runs, 3) for each weight of the data."""
    import jax
    import jax.numpy as jnp

    loss = BetaLoss(None, DrawSettings(loss="beta-divergence", sampler="mcmc", gamma=1e-7), TINY, 1.5)
    with float64():
        many = jax.jit(jax.vmap(run_of(loss, SHORT), in_axes=(None, None, None, None, 0)))
        for weight in weights:
            given = {"weight": jnp.asarray(weight), "beta": jnp.asarray(1.5)}
            found = many(given, jnp.asarray(X), jnp.asarray(Y), jnp.asarray(TINY.wide), words_of(runs, SHORT, seed))
            yield np.stack([output(theta, PLACES, 1, np.tanh) for theta in np.asarray(found.chosen)])


def tiny_reference(weight):
    """Logits at PLACES and their probabilities under the posterior, over a grid of all four weights."""
    side = np.linspace(-4.2, 4.2, 33)
    units = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    hidden = np.tanh(X @ units.T)  # (rows, units)
    seen = np.tanh(PLACES @ units.T)
    logits, logs = [], []
    for v in side:
        for c in side:
            p = 1 / (1 + np.exp(-Y[:, None] * (v * hidden + c)))
            losses = -(p**0.5) / 0.5 + (p**1.5 + (1 - p) ** 1.5) / 1.5
            logs.append(-weight * losses.sum(axis=0) - (units**2).sum(axis=1) / 2 - (v * v + c * c) / 2)
            logits.append(v * seen + c)
    logs = np.concatenate(logs)
    distribution = np.exp(logs - logs.max())
    return np.concatenate(logits, axis=1), distribution / distribution.sum()


def test_a_network_with_one_unit_is_drawn_from_its_posterior():
    """Seed 15. 300 draws of a network with one unit and one number, against quadrature over its four weights.

    Planted: draws with half the weight of the data are told apart at one of three places.
    """
    logits, distribution = tiny_reference(1.0)

    def p_values(draws):
        found = []
        for place in range(3):
            order = np.argsort(logits[place])
            points, cumulative = logits[place][order], np.cumsum(distribution[order])
            found.append(kstest(draws[:, place], lambda u, p=points, c=cumulative: np.interp(u, p, c)).pvalue)
        return found

    right, wrong = tiny_draws((1.0, 0.5), 300, 15)
    assert min(p_values(right)) > LEVEL / 3
    assert min(p_values(wrong)) < LEVEL


@pytest.mark.slow
def test_long_and_short_runs_agree_on_the_function():
    """Seed 17. A network with three units for a number: 100 short runs and 100 of five times the length, at 4 places.

    Planted: runs about rows that lie 0.1 higher are told apart.
    """
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(17)
    x = np.stack([np.ones(120), rng.uniform(-1, 1, 120), rng.uniform(-1, 1, 120)], axis=1)
    y = 0.5 * np.sin(3 * x[:, 1]) + 0.2 * x[:, 2] + 0.1 * rng.standard_normal(120)
    density = NetworkNormal(weight_names(["1", "a", "b"], 3), 1.0, 0.1, 1.0, 0.04, 1.0, 3)
    loss = BetaLoss(None, DrawSettings(loss="beta-divergence", sampler="mcmc", gamma=1e-7), density, 1.5)
    places = np.array([[1.0, -0.5, 0.0], [1.0, 0.0, 0.5], [1.0, 0.5, -0.5], [1.0, 0.9, 0.9]])
    long = TemperingSchedule(particles=16, rungs=120, settling=120, num_leapfrog_steps=24)

    def functions(cooling, response, seed):
        with float64():
            given = {"weight": jnp.asarray(0.5), "beta": jnp.asarray(1.5)}
            many = jax.jit(jax.vmap(run_of(loss, cooling), in_axes=(None, None, None, None, 0)))
            rows = jnp.asarray(x), jnp.asarray(response)
            thetas = many(given, *rows, jnp.asarray(density.wide), words_of(100, cooling, seed)).chosen
        return np.stack([output(t[:-1], places, 3, np.tanh) for t in np.asarray(thetas)])

    short, reference = functions(SHORT, y, 18), functions(long, y, 19)
    moved = functions(SHORT, y + 0.1, 18)
    assert min(ks_2samp(a, b).pvalue for a, b in zip(short.T, reference.T, strict=True)) > LEVEL / 4
    assert min(ks_2samp(a, b).pvalue for a, b in zip(moved.T, reference.T, strict=True)) < LEVEL


class Counted:
    """An entropy source that counts what is asked of it."""

    def __init__(self):
        self.rng, self.count = np.random.default_rng(20), 0

    def bytes(self, count):
        self.count += count
        return self.rng.bytes(count)


def test_every_draw_has_a_run_of_its_own_and_takes_public_amounts_of_entropy():
    """Seed 20. Two draws differ, and take 8 bytes a step each, whatever the rows are."""
    loss = BetaLoss(None, DrawSettings(loss="beta-divergence", sampler="mcmc", gamma=1e-7), TINY, 1.5)
    for rows in (Y, np.ones(40)):
        source = Counted()
        found = draw_by_particles(loss, {"weight": 1.0, "beta": 1.5}, X, rows, wide=TINY.wide, source=source, draws=2)
        assert np.isfinite(found).all()
        assert np.max(np.abs(found[0] - found[1])) > 1e-3
        assert source.count == 2 * 8 * cooling_for(40).keys
