"""Gibbs sampling of many latent counts at once: all cells in pairs, every pair moved independently.

The target is that of `latent_counts`: whole numbers with a fixed sum n, Dirichlet-multinomial a priori, each released
with noise. A sweep pairs the cells at random and moves a number from one cell of each pair to the other, drawn from its
exact conditional distribution on a window of candidates, as there. Pairs have no cell in common, so that given which
cells are paired all of them can be moved at once. What one sweep leaves of a difference between any two sets of cells
is halved by the next one, however many cells there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.samplers.latent_counts import WINDOW


def paired_sweep(
    key: Any,
    counts: Any,
    concentration: Any,
    log_noise: Callable[[Any, Any], Any],
    step_sizes: tuple[int, ...],
) -> Any:
    """One move of every pair; ``log_noise(cells, counts)`` scores ``counts`` (cells, candidates) of some cells."""
    pairs = counts.shape[0] // 2
    for_order, for_moves = jax.random.split(key)
    order = jax.random.permutation(for_order, counts.shape[0])
    first, second = order[:pairs], order[pairs : 2 * pairs]
    uniform = jax.random.uniform(for_moves, (3, pairs))
    steps = jnp.asarray(step_sizes, jnp.float64)
    stride = steps[jnp.floor(uniform[0] * len(step_sizes)).astype(jnp.int32)]
    offset = jnp.floor(uniform[1] * WINDOW)
    moved = stride[:, None] * (jnp.arange(WINDOW) - offset[:, None])
    up, down = counts[first][:, None] + moved, counts[second][:, None] - moved
    possible = (up >= 0) & (down >= 0)
    up, down = jnp.maximum(up, 0), jnp.maximum(down, 0)
    logs = (
        log_gamma_ratio(up, concentration[first][:, None])
        + log_gamma_ratio(down, concentration[second][:, None])
        + log_noise(first, up)
        + log_noise(second, down)
    )
    logs = jnp.where(possible, logs, -jnp.inf)
    cumulative = jnp.cumsum(jnp.exp(logs - jnp.max(logs, axis=1, keepdims=True)), axis=1)
    chosen = jnp.sum(cumulative <= uniform[2][:, None] * cumulative[:, -1:], axis=1)
    chosen = jnp.minimum(chosen, WINDOW - 1)
    here = jnp.take_along_axis(possible, chosen[:, None], axis=1)[:, 0]
    chosen = jnp.where(here, chosen, offset.astype(jnp.int32))  # rounding of the last sums must not leave the range
    taken = jnp.take_along_axis(moved, chosen[:, None], axis=1)[:, 0]
    return counts.at[first].add(taken).at[second].add(-taken)
