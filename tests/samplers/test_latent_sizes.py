"""Sizes whose total is flat: the polynomial in the rate between its nodes, and counts that are drawn at the end."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from tacit.samplers.latent_sizes import PLACES, Rate, draw_counts, weights
from tacit.samplers.varying_shares import GroupCounts, _table


def test_values_between_the_nodes_are_those_of_a_polynomial():
    """Of ln L as a function of log r: exp(-S exp(u)) within a factor of 7 of its middle, to 1e-6."""
    with jax.enable_x64(True):
        for x in np.linspace(-1, 1, 11):
            found = float(weights(jnp.array(x)) @ (-np.exp(2 * PLACES)))
            assert found == pytest.approx(-np.exp(2 * x), abs=1e-6)


def test_counts_are_drawn_as_they_are_given_the_log_odds():
    """Seed 1, 4,000 draws of one cell: the mean number of yes and of rows within 4.5 standard errors of the sum over
    all counts (false alarms 1e-5 each). Planted: a rate that is four times as large.
    """
    z, scale, eta, rate = np.array([20.3, 9.6]), 4.0, -0.4, 0.05
    n, b = np.arange(301)[:, None], np.arange(301)[None, :]
    residual = (z[:, None, None] - np.stack([n - b, b + 0 * n])) / scale
    with np.errstate(divide="ignore"):
        logs = binom.logpmf(b, n, 1 / (1 + np.exp(-eta))) - n * np.log1p(rate)
    logs = logs - np.abs(residual).sum(axis=0)
    shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()

    problem, scales = GroupCounts(None, np.full((1, 2), scale), laplace=True), jnp.full((1, 2), scale)

    def draw(key, rate):
        roots, tables = _table(problem, jnp.array(z), scales[0], lambda m: -m[None])[2]
        sizes = jax.tree.map(lambda one: one[None], (roots, tables))
        return draw_counts(key, problem, (jnp.array(z)[None], scales), sizes, jnp.array([eta]), rate)[0]

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(1), 4000)
        both = jax.jit(jax.vmap(jax.vmap(draw, (0, None)), (None, 0)))(keys, jnp.array([rate, 4 * rate]))
        right, planted = np.asarray(both)

    def away(counts):
        errors = counts.std(axis=0) / len(counts) ** 0.5
        both = np.stack([counts[:, 1], counts.sum(axis=1)], axis=1)
        exact = np.array([(shares * b).sum(), (shares * n).sum()])
        return np.abs((both.mean(axis=0) - exact) / np.array([errors[1], both[:, 1].std() / len(counts) ** 0.5])).max()

    assert away(right) < 4.5
    assert away(planted) > 4.5


def test_sizes_given_the_rate_have_together_the_density_of_uniform_shares_of_a_flat_total():
    """The integral over the coordinate of the rate, by the trapezoid rule, is S^(1-C) up to one factor, for totals
    that fit what was released. Planted: a power of the rate that is one less.
    """
    t, cells = np.linspace(-14, 14, 4001), 6
    with jax.enable_x64(True):
        rate = Rate.of(jnp.full((cells, 2), 20.0), 200.0, cells)
        log_rate, volume, _ = map(np.asarray, jax.vmap(rate.at)(jnp.array(t)))

    def away(power):
        totals = np.array([180.0, 240.0, 300.0])
        logs = volume + power * log_rate - totals[:, None] * np.exp(log_rate)
        found = np.exp(logs - logs.max()).sum(axis=1) * totals ** (cells - 1.0)
        return np.ptp(found) / found.mean()

    assert away(cells - 1) < 1e-4
    assert away(cells - 2) > 0.1
