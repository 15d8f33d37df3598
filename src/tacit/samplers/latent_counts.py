"""Gibbs sampling of latent counts that are known only through noise.

State: whole numbers c_1..c_K with a fixed sum n. Target, up to a constant,

    prod_k Gamma(c_k + a_k) / Gamma(c_k + 1)  *  prod over observed k of noise_k(z_k - c_k)

the Dirichlet-multinomial law of the counts (the probabilities integrated out) times the density of the noise. One update
moves a number t from one count to another and draws t from its exact conditional law on a window of candidates
{s (i - u) : i = 0..W-1}, with a stride s and an offset u drawn uniformly from 0..W-1 beforehand.

Why that leaves the target unchanged: add the window itself as an auxiliary variable. Given the state and s, each of the
W windows that contain the state has the same probability, so given the window the state has the target's law restricted
to it, which is what is drawn. Strides grow geometrically up to the width of the noise, so the cost of a sweep depends
neither on n nor on epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tacit.samplers.gamma_ratio import log_gamma_ratio

WINDOW = 96
_GROWTH = 8


def strides(width: float) -> tuple[int, ...]:
    """1, 8, 64, ... up to the stride whose window spans ``width``."""
    found = [1]
    while found[-1] * WINDOW < width:
        found.append(found[-1] * _GROWTH)
    return tuple(found)


def sweep(
    key: Any,
    counts: Any,
    concentration: Any,
    log_noise: Callable[[Any, Any], Any],
    step_sizes: tuple[int, ...],
) -> Any:
    """One pass over all counts; ``log_noise(k, c)`` is the log density of what was released about count k, given c."""
    levels = counts.shape[0]
    steps = jnp.asarray(step_sizes, jnp.float64)

    def update(carry: Any, first: Any) -> tuple[Any, None]:
        counts, key = carry
        key, for_partner, for_stride, for_offset, for_move = jax.random.split(key, 5)
        second = (first + jax.random.randint(for_partner, (), 1, levels)) % levels
        stride = steps[jax.random.randint(for_stride, (), 0, len(step_sizes))]
        offset = jax.random.randint(for_offset, (), 0, WINDOW)
        moved = stride * (jnp.arange(WINDOW) - offset)
        up, down = counts[first] + moved, counts[second] - moved
        possible = (up >= 0) & (down >= 0)
        up, down = jnp.maximum(up, 0), jnp.maximum(down, 0)
        log_weights = (
            log_gamma_ratio(up, concentration[first])
            + log_gamma_ratio(down, concentration[second])
            + log_noise(first, up)
            + log_noise(second, down)
        )
        log_weights = jnp.where(possible, log_weights, -jnp.inf)
        cumulative = jnp.cumsum(jnp.exp(log_weights - jnp.max(log_weights)))
        chosen = jnp.searchsorted(cumulative, jax.random.uniform(for_move, (), jnp.float64) * cumulative[-1], "right")
        counts = counts.at[first].set(up[chosen]).at[second].set(down[chosen])
        return (counts, key), None

    (counts, _), _ = jax.lax.scan(update, (counts, key), jnp.arange(levels))
    return counts


def nearest_counts(values: Any, n: int) -> Any:
    """Whole, non-negative counts with sum n, close to ``values``: where a chain starts."""
    positive = jnp.maximum(values, 0) + 1e-9
    shares = positive / jnp.sum(positive) * n
    floors = jnp.floor(shares)
    left = n - jnp.sum(floors)
    order = jnp.argsort(jnp.argsort(-(shares - floors)))
    return floors + (order < left)
