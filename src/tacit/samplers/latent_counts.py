"""Gibbs sampling of latent counts that are known only through noise.

State: whole numbers c_1..c_K with a fixed sum n. Target, up to a constant,

    prod_k Gamma(c_k + a_k) / Gamma(c_k + 1)  *  prod over observed k of noise_k(z_k - c_k)

the Dirichlet-multinomial law of the counts (the probabilities integrated out) times the density of the noise. An update
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

from tacit.numerics.gamma_ratio import log_gamma_ratio

WINDOW = 64
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

    def update(counts: Any, visit: tuple[Any, Any]) -> tuple[Any, None]:
        first, uniform = visit
        second = (first + 1 + _pick(uniform[0], levels - 1)) % levels
        stride = steps[_pick(uniform[1], len(step_sizes))]
        offset = _pick(uniform[2], WINDOW)
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
        cumulative = jnp.tri(WINDOW) @ jnp.exp(log_weights - jnp.max(log_weights))  # faster than cumsum on a CPU
        chosen = jnp.sum(cumulative <= uniform[3] * cumulative[-1])
        chosen = jnp.where(possible[chosen], chosen, offset)  # rounding of the last sums must not leave the range
        return counts.at[first].set(up[chosen]).at[second].set(down[chosen]), None

    uniforms = jax.random.uniform(key, (levels, 4), jnp.float64)
    counts, _ = jax.lax.scan(update, counts, (jnp.arange(levels), uniforms))
    return counts


def _pick(uniform: Any, count: int) -> Any:
    """One of 0..count-1, all equally likely."""
    return jnp.floor(uniform * count).astype(jnp.int32)


def nearest_counts(values: Any, n: Any) -> Any:
    """Whole, non-negative counts with sum n, close to ``values``: where a chain starts."""
    positive = jnp.maximum(values, 0) + 1e-9
    shares = positive / jnp.sum(positive) * n
    floors = jnp.floor(shares)
    left = n - jnp.sum(floors)
    order = jnp.argsort(jnp.argsort(-(shares - floors)))
    return floors + (order < left)
