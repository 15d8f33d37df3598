"""Exact draws of one latent whole number: weigh every candidate, invert the cumulative sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# A window never holds more candidates than this. Wider ones are thinned to every stride-th candidate, which happens
# only where the noise alone is more than 5,000 counts wide, so that neighbouring candidates weigh the same to 1e-3.
MOST_CANDIDATES = 2**20


def draw_latent(
    key: Any,
    log_weight: Callable[[Any], Any],
    *,
    centre: Any,
    reach: float,
    highest: int,
    draws: int,
) -> Any:
    """Draw whole numbers in 0..``highest`` with probabilities proportional to exp(``log_weight``).

    Only candidates within ``reach`` of ``centre`` (clamped to the range) are weighed; the caller chooses ``reach`` so
    that what lies beyond is negligible. The draws are independent and, but for that, exact.
    """
    wanted = min(highest + 1, 2 * int(reach) + 3)
    stride = -(-wanted // MOST_CANDIDATES)
    size = -(-wanted // stride)
    middle = jnp.clip(jnp.round(centre), 0, highest)
    start = jnp.clip(middle - stride * (size // 2), 0, jnp.maximum(highest - stride * (size - 1), 0))
    candidates = start + stride * jnp.arange(size, dtype=jnp.float64)
    log_weights = jnp.where(candidates <= highest, log_weight(candidates), -jnp.inf)
    cumulative = jnp.cumsum(jnp.exp(log_weights - jnp.max(log_weights)))
    uniforms = jax.random.uniform(key, (draws,), jnp.float64) * cumulative[-1]
    return candidates[jnp.searchsorted(cumulative, uniforms, side="right")]
