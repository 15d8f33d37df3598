"""Means of groups that inform each other: weighted particles of each group are chosen given what all have in common."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_KEPT, _KERNEL = 1024, 0.2  # particles of a group that pooling chooses from; how near, in what its mean varies by
_LOGIT_SD, _CENTRE_SD = math.pi / math.sqrt(3), 1.5  # of a uniform share; of mu_0
_TAUS = np.geomspace(0.004, 4.0, 40)


def pooled(key: Any, means: Any, logs: Any, draws: int) -> tuple[Any, Any]:
    """Places (groups, draws) of the particles of each group, and its mean, given mu_0 and tau of that draw."""
    for_kept, for_table, for_centre, for_draws = jax.random.split(key, 4)
    groups = means.shape[0]
    everything, weights = logit(jnp.clip(means, 1e-12, 1 - 1e-12)), jax.nn.softmax(logs, axis=1)
    middle = jnp.sum(weights * everything, axis=1)
    variance = jnp.sum(weights * (everything - middle[:, None]) ** 2, axis=1)
    # The likelihood alone: the posterior less the prior of one group, whose logit has sd pi / sqrt(3).
    precision = jnp.maximum(1 / jnp.maximum(variance, 1e-12) - 1 / _LOGIT_SD**2, 1e-4)
    place, own = middle / jnp.maximum(variance, 1e-12) / precision, 1 / precision
    taus = jnp.asarray(_TAUS)
    total = own[None, :] + taus[:, None] ** 2  # (taus, groups)
    sharpness = jnp.sum(1 / total, axis=1) + 1 / _CENTRE_SD**2
    centre = jnp.sum(place / total, axis=1) / sharpness
    form = jnp.sum(place**2 / total, axis=1) - centre**2 * sharpness
    table = -0.5 * (form + jnp.sum(jnp.log(total), axis=1) + jnp.log(sharpness)) - taus**2 / 2 + jnp.log(taus)
    chosen = jax.random.categorical(for_table, table, shape=(draws,))
    tau = taus[chosen]
    mu = centre[chosen] + jax.random.normal(for_centre, (draws,)) / jnp.sqrt(sharpness[chosen])
    # Each group's mean given both, then a particle whose mean is near it for all else that a draw says of the group.
    precision = 1 / own[:, None] + 1 / tau**2  # (groups, draws)
    middle = (place[:, None] / own[:, None] + mu / tau**2) / precision
    normal = jax.random.normal(jax.random.fold_in(for_draws, 0), (groups, draws))
    drawn = middle + normal / jnp.sqrt(precision)
    typical, reach = jnp.mean(drawn, axis=1, keepdims=True), 2 * jnp.std(drawn, axis=1, keepdims=True) + 1e-9
    nearby = logs - ((everything - typical) / reach) ** 2 / 2
    kept = jax.vmap(lambda key, logs: resample(key, logs, _KEPT))(jax.random.split(for_kept, groups), nearby)
    logits, kernel = jnp.take_along_axis(everything, kept, axis=1), _KERNEL * reach[:, 0]

    def one(key: Any, logits: Any, drawn: Any, kept: Any, kernel: Any) -> Any:
        away = (logits[None, :] - drawn[:, None]) / kernel
        return kept[jax.random.categorical(key, -(away**2) / 2, axis=1)]

    keys = jax.random.split(for_draws, groups)
    return jax.lax.map(lambda x: one(*x), (keys, logits, drawn, kept, kernel)), jax.nn.sigmoid(drawn)


def resample(key: Any, logs: Any, draws: int) -> Any:
    """Places in proportion to exp(``logs``): one from each of as many equal parts of the weight, in random order."""
    for_place, for_order = jax.random.split(key)
    aims = (jnp.arange(draws) + jax.random.uniform(for_place, (draws,))) / draws
    cumulative = jnp.cumsum(jax.nn.softmax(logs))
    found = jnp.minimum(jnp.searchsorted(cumulative, aims * cumulative[-1]), logs.shape[0] - 1)
    return jax.random.permutation(for_order, found)


def logit(share: Any) -> Any:
    """The logarithm of the odds."""
    return jnp.log(share) - jnp.log1p(-share)
