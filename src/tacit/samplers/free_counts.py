"""Gibbs sampling of latent counts with noise on each, where their sum n is not known either.

State: whole numbers c_1..c_K. With n flat on 0, 1, 2, ... and counts Dirichlet-multinomial given n, up to a constant

    prod_k Gamma(c_k + a_k) / Gamma(c_k + 1)  *  Gamma(n + 1) / Gamma(n + A)  *  prod_k noise_k(z_k - c_k),

n the sum of the counts and A that of the a_k. Gamma(n + 1) / Gamma(n + A) is (n + A) times the integral of
u^n (1 - u)^(A - 1) du over [0, 1], up to a constant. Given u, drawn from its Beta distribution, and but for the factor
n + A, counts are independent of each other: each is drawn from its exact conditional distribution on a window of
candidates, as in `latent_counts`, all at once. A Metropolis step then accepts all of them with the probability
(n' + A) / (n + A), or 1 if that is less, which the factor asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.samplers.latent_counts import WINDOW


def free_sweep(
    key: Any,
    counts: Any,
    concentration: Any,
    log_noise: Callable[[Any], Any],
    step_sizes: tuple[int, ...],
) -> Any:
    """One move of every count; ``log_noise(counts)`` scores candidates (cells, candidates) of all cells."""
    cells, total = counts.shape[0], jnp.sum(concentration)
    for_u, for_moves, for_step = jax.random.split(key, 3)
    n = jnp.sum(counts)
    # log u of a Beta(n + 1, A) number, which for large n is nearly 1: from the two Gamma numbers that make it.
    first, second = jax.random.gamma(for_u, jnp.stack([n + 1.0, total]))
    log_u = -jnp.log1p(second / first)
    uniform = jax.random.uniform(for_moves, (3, cells))
    steps = jnp.asarray(step_sizes, jnp.float64)
    stride = steps[jnp.floor(uniform[0] * len(step_sizes)).astype(jnp.int32)]
    offset = jnp.floor(uniform[1] * WINDOW)
    moved = stride[:, None] * (jnp.arange(WINDOW) - offset[:, None])
    candidates = counts[:, None] + moved
    possible = candidates >= 0
    candidates = jnp.maximum(candidates, 0)
    logs = log_gamma_ratio(candidates, concentration[:, None]) + candidates * log_u + log_noise(candidates)
    logs = jnp.where(possible, logs, -jnp.inf)
    cumulative = jnp.cumsum(jnp.exp(logs - jnp.max(logs, axis=1, keepdims=True)), axis=1)
    chosen = jnp.minimum(jnp.sum(cumulative <= uniform[2][:, None] * cumulative[:, -1:], axis=1), WINDOW - 1)
    here = jnp.take_along_axis(possible, chosen[:, None], axis=1)[:, 0]
    chosen = jnp.where(here, chosen, offset.astype(jnp.int32))  # rounding of the last sums must not leave the range
    proposed = jnp.take_along_axis(candidates, chosen[:, None], axis=1)[:, 0]
    ratio = (jnp.sum(proposed) + total) / (n + total)
    return jnp.where(jax.random.uniform(for_step) < ratio, proposed, counts)
