"""Exact draws of one latent whole number: weigh every candidate that matters, invert the cumulative sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# Candidates whose weight is below e^-60 of the largest are left out: together they weigh less than 1e-18 of the rest
# for every range that float64 can count.
_NEGLIGIBLE = 60.0
# Where more candidates than this matter, every stride-th is weighed, for all that lie between it and the next. Over so
# wide a range the weights change by less than 1e-2 from one to the next, and the draws are as fine as 1e-4 of their own
# standard deviation. Near 0 and near the highest number, where a prior may rise steeply, every one is weighed.
MOST_CANDIDATES = 2**16
_NEAR = 2**12
_HALVINGS = 60


def draw_latent(
    key: Any,
    log_weight: Callable[[Any], Any],
    *,
    envelope: Callable[[Any], Any],
    excess: float,
    highest: int,
    draws: int,
) -> Any:
    """Draw whole numbers in 0..``highest`` with probabilities proportional to exp(``log_weight``).

    ``envelope`` is a concave function that ``log_weight`` exceeds by at most ``excess`` and never falls below. So the
    candidates that matter form one interval around the envelope's peak, which is found by bisection whatever prior and
    noise are; all of them are weighed. The draws are independent.
    """
    last = float(highest)

    def rises(c: Any) -> Any:
        return envelope(c) >= envelope(c - 1)

    peak = _largest(lambda c: rises(jnp.maximum(c, 1.0)), 0.0, last)
    bottom = envelope(peak) - _NEGLIGIBLE - excess
    first = peak - _largest(lambda step: envelope(peak - step) >= bottom, 0.0, peak)
    final = peak + _largest(lambda step: envelope(peak + step) >= bottom, 0.0, last - peak)
    if highest < MOST_CANDIDATES:
        candidates = jnp.arange(highest + 1, dtype=jnp.float64)
        log_weights = log_weight(candidates)
    else:
        near = jnp.arange(_NEAR, dtype=jnp.float64)
        low, high = jnp.maximum(first, _NEAR), jnp.minimum(final, last - _NEAR)
        stride = jnp.maximum(jnp.ceil((high - low + 1) / MOST_CANDIDATES), 1.0)
        between = low + stride * jnp.arange(MOST_CANDIDATES, dtype=jnp.float64)
        candidates = jnp.concatenate([near, jnp.minimum(between, last), last - near])
        each = jnp.concatenate(
            [jnp.zeros(_NEAR), jnp.where(between <= high, jnp.log(stride), -jnp.inf), jnp.zeros(_NEAR)]
        )
        log_weights = log_weight(candidates) + each
    cumulative = jnp.cumsum(jnp.exp(log_weights - jnp.max(log_weights)))
    uniforms = jax.random.uniform(key, (draws,), jnp.float64) * cumulative[-1]
    return candidates[jnp.searchsorted(cumulative, uniforms, side="right")]


def _largest(holds: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The largest whole number in low..high up to which ``holds`` is true; ``low`` itself is taken to hold."""

    def halve(_i: int, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = ends
        middle = jnp.ceil((low + high) / 2)
        true = holds(middle)
        return jnp.where(true, middle, low), jnp.where(true, high, jnp.maximum(middle - 1, low))

    return jax.lax.fori_loop(0, _HALVINGS, halve, (jnp.asarray(low, jnp.float64), jnp.asarray(high, jnp.float64)))[0]
