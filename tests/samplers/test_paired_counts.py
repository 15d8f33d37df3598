"""Latent counts of several sites: paired sweeps reach the exact posterior."""

from __future__ import annotations

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from tacit.runtime.backend import float64
from tacit.samplers.paired_counts import exchange, paired_sweep, plausible_counts

RELEASED = np.array([[2.5, 0.7, 0.2], [0.4, 1.8, -0.5]])
SIZES = (3, 2)
ALPHA = np.array([0.5, 1.0, 2.0])


def exact(together=True):
    """Every state of two sites and its probability; without the common shares, the planted fault, sites are apart."""
    each = [[c for c in product(range(n + 1), repeat=3) if sum(c) == n] for n in SIZES]
    states = [np.array(pair, float) for pair in product(*each)]
    logs = []
    for state in states:
        totals = state.sum(axis=0)
        shared = gammaln(totals + ALPHA).sum() if together else gammaln(state + ALPHA).sum()
        logs.append(shared - gammaln(state + 1).sum() - np.abs(RELEASED - state).sum())
    weights = np.exp(np.array(logs) - max(logs))
    return np.array(states), weights / weights.sum()


def chain(draws, *, right=True):
    def log_noise(cells, counts):
        return -jnp.sum(jnp.abs(jnp.asarray(RELEASED).T[cells][:, :, None] - counts), axis=1)

    def step(counts, key):
        for_sweep, for_exchange = jax.random.split(key)
        moved = paired_sweep(for_sweep, counts, jnp.asarray(ALPHA), log_noise, np.array([[1, 0], [0, 1], [1, 1]]))
        moved = exchange(for_exchange, moved, jnp.asarray(ALPHA), log_noise if right else lambda cells, _: 0.0)
        return moved, moved

    with float64():
        start = jnp.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        return np.array(jax.lax.scan(step, start, jax.random.split(jax.random.key(1), draws))[1])


def test_two_sites_have_their_exact_joint_distribution():
    """Seed 1; 40,000 sweeps. 6 standard errors at 4,000 effective draws in each mean; the fault is further off."""
    found = chain(40_000).mean(axis=0)
    for together in (True, False):
        states, weights = exact(together)
        mean = np.einsum("s,sik->ik", weights, states)
        sd = np.sqrt(np.einsum("s,sik->ik", weights, (states - mean) ** 2))
        near = np.all(np.abs(found - mean) < 6 * sd / np.sqrt(4000))
        assert near == together


def test_an_exchange_that_forgets_the_noise_is_caught():
    """The planted fault: as above, 20,000 sweeps, at 2,000 effective draws."""
    states, weights = exact()
    mean = np.einsum("s,sik->ik", weights, states)
    sd = np.sqrt(np.einsum("s,sik->ik", weights, (states - mean) ** 2))
    assert np.any(np.abs(chain(20_000, right=False).mean(axis=0) - mean) > 6 * sd / np.sqrt(2000))


def test_a_chain_starts_from_counts_that_fit_the_release():
    """Seed 2; 20 bins, nearly no noise: the counts themselves, whole and with the right sum, whatever the rows."""
    exact_counts = np.random.default_rng(2).multinomial(500, np.ones(20) / 20).astype(float)
    rows = np.array([np.full(20, 0.05), np.linspace(0.01, 1, 20)])
    with float64():
        found = plausible_counts(jax.random.key(1), exact_counts[None], np.full((1, 20), 1e-4), np.array([500.0]), rows)
    np.testing.assert_array_equal(np.array(found[0]), exact_counts)
