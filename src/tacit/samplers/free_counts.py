"""Gibbs sampling of latent counts with noise on each, where their sum n is not known either.

State: whole numbers c_1..c_K. With n flat on 0, 1, 2, ... and counts Dirichlet-multinomial given n, up to a constant

    prod_k Gamma(c_k + a_k) / Gamma(c_k + 1)  *  Gamma(n + 1) / Gamma(n + A)  *  prod_k noise_k(z_k - c_k),

n the sum of the counts and A that of the a_k. But for the factor of n, counts are independent of each other. Near a
fixed n0 that factor is about e^(s n) with s = -log((n0 + A) / (n0 + 1)). So with e^(s c_k) in the place of its share
each count of a block is drawn from its exact conditional distribution on a window of candidates, as in `latent_counts`,
all of a block at once: a move that is reversible with respect to that distribution. A Metropolis step then accepts the
block with the ratio of what is left of the factor, Gamma(n + 1) / Gamma(n + A) e^(-s n), which is about 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.samplers.latent_counts import WINDOW

_BLOCK = 32
"""Counts that are moved at once: with many, n moves too far for one step."""


def free_sweep(
    key: Any,
    counts: Any,
    concentration: Any,
    log_noise: Callable[[Any, Any], Any],
    step_sizes: tuple[int, ...],
    around: Any,
) -> Any:
    """One move of every count; ``log_noise(cells, counts)`` scores ``counts`` (cells, candidates) of some cells, and
    ``around`` is n0, fixed for the whole chain.
    """
    cells, total = counts.shape[0], jnp.sum(concentration)
    blocks = -(-cells // _BLOCK)
    size = -(-cells // blocks)
    slope = -jnp.log((around + total) / (around + 1))
    steps = jnp.asarray(step_sizes, jnp.float64)
    for_order, for_moves = jax.random.split(key)
    order = jnp.append(jax.random.permutation(for_order, cells), jnp.full(blocks * size - cells, cells))

    def left(n: Any) -> Any:
        return -log_gamma_ratio(n, total) - slope * n

    def move(state: tuple[Any, Any], visit: tuple[Any, Any]) -> tuple[tuple[Any, Any], None]:
        counts, n = state
        places, uniform = visit
        there = places < cells  # the last block may have fewer
        own = jnp.minimum(places, cells - 1)
        stride = steps[jnp.floor(uniform[0, :-1] * len(step_sizes)).astype(jnp.int32)]
        offset = jnp.floor(uniform[1, :-1] * WINDOW)
        here = counts[own]
        candidates = here[:, None] + stride[:, None] * (jnp.arange(WINDOW) - offset[:, None])
        possible = candidates >= 0
        candidates = jnp.maximum(candidates, 0)
        logs = log_gamma_ratio(candidates, concentration[own][:, None]) + slope * candidates
        logs = jnp.where(possible, logs + log_noise(own, candidates), -jnp.inf)
        cumulative = jnp.cumsum(jnp.exp(logs - jnp.max(logs, axis=1, keepdims=True)), axis=1)
        chosen = jnp.sum(cumulative <= uniform[2, :-1][:, None] * cumulative[:, -1:], axis=1)
        chosen = jnp.minimum(chosen, WINDOW - 1)
        kept = jnp.take_along_axis(possible, chosen[:, None], axis=1)[:, 0]
        chosen = jnp.where(kept, chosen, offset.astype(jnp.int32))  # rounding of the last sums must not leave the range
        proposed = jnp.where(there, jnp.take_along_axis(candidates, chosen[:, None], axis=1)[:, 0], here)
        moved = n + jnp.sum(proposed - here)
        taken = jnp.log(uniform[0, -1]) < left(moved) - left(n)
        proposed = jnp.where(taken, proposed, here)
        return (counts.at[places].set(proposed, mode="drop"), jnp.where(taken, moved, n)), None

    uniform = jax.random.uniform(for_moves, (blocks, 3, size + 1))
    (counts, _), _ = jax.lax.scan(move, (counts, jnp.sum(counts)), (order.reshape(blocks, size), uniform))
    return counts
