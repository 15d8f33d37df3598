"""Latent counts of several sites: paired sweeps reach the exact posterior."""

from __future__ import annotations

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from tacit.runtime.backend import float64
from tacit.samplers.paired_counts import paired_sweep

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


def chain(draws):
    def log_noise(cells, counts):
        return -jnp.sum(jnp.abs(jnp.asarray(RELEASED).T[cells][:, :, None] - counts), axis=1)

    def step(counts, key):
        moved = paired_sweep(key, counts, jnp.asarray(ALPHA), log_noise, np.array([[1, 0], [0, 1], [1, 1]]))
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
