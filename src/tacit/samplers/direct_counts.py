"""Latent counts of cells whose sum n is not known, all drawn at once: for much less noise than rows.

The target is that of `free_counts`. Without the factor of n, and with e^(s c_k) in each count's share for it, counts
are independent of each other, and each is drawn from a table of its own weights. Where n varies by little of itself
under the noise, what is left of the factor is nearly constant, and Metropolis with such proposals and that weight is
exact (`independence`) and takes nearly all of them.

Where noise is so wide that a table would be too long, one entry stands for some neighbouring counts, of which each is
as likely to be proposed; the weight knows that, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.samplers.independence import independence

DROP = 40.0
"""How much less likely a count is at the end of its table than at the released number, in logarithms."""
_ENTRIES = 1024
_VARIANCE, _AWAY = 0.5, 6.0
_TRIES = 2  # proposals for each draw; below `_VARIANCE` the weight varies by less than 0.4, and hardly any is refused


def suits(sds: Any, concentration: Any, released: Any) -> Any:
    """For each of the datasets (datasets, cells) whether the noise, with ``sds`` in rows, hardly moves the factor."""
    n, sd = np.maximum(released, 0).sum(axis=1), np.sqrt(np.sum(np.square(sds)))
    return (n > _AWAY * sd) & (abs(np.sum(concentration) - 1) * sd**2 <= _VARIANCE * np.maximum(n, 1) ** 2)


def direct_counts(
    key: Any, released: Any, concentration: Any, log_noise: Callable[[Any], Any], reaches: Any, draws: int
) -> tuple[Any, dict[str, Any]]:
    """Draws (draws, cells) and diagnostics; ``log_noise`` scores ``counts`` (cells, candidates), and ``reaches`` says
    how far from the released number the density of each has fallen by `DROP`.
    """
    a, total = jnp.asarray(concentration)[:, None], jnp.sum(concentration)
    centre = jnp.maximum(jnp.round(released), 0.0)
    around = jnp.maximum(jnp.sum(centre), len(centre))
    slope = -jnp.log((around + total) / (around + 1))
    first = jnp.maximum(jnp.floor(centre - reaches), 0.0)
    stride = jnp.ceil((centre + reaches - first + 1) / _ENTRIES)

    def log_own(counts: Any) -> Any:
        return log_gamma_ratio(counts, a) + slope * counts + log_noise(counts)

    table = log_own(first[:, None] + stride[:, None] * np.arange(_ENTRIES) + jnp.floor(stride / 2)[:, None])
    table = jnp.where(jnp.isfinite(table), table, -jnp.inf)
    below = jnp.cumsum(jnp.exp(table - jnp.max(table, axis=1, keepdims=True)), axis=1)

    def propose(key: Any) -> tuple[Any, Any]:
        uniform = jax.random.uniform(key, (2, len(centre)))
        entry = jax.vmap(jnp.searchsorted)(below, uniform[0] * below[:, -1])
        counts = first + stride * entry + jnp.floor(uniform[1] * stride)
        n = jnp.sum(counts)
        proposed = jnp.take_along_axis(table, entry[:, None], axis=1)
        return counts, jnp.sum(log_own(counts[:, None]) - proposed) - log_gamma_ratio(n, total) - slope * n

    return independence(key, propose, draws, _TRIES)
