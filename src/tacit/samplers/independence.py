"""Metropolis with proposals that do not look at the chain: for a posterior that is close to a law we can draw from.

Target: q(x) w(x), with draws from q at hand and w known up to a constant. A proposal from q takes the place of x with
probability min(1, w(proposal) / w(x)), whatever q is (Tierney 1994, section 2.3.3). All proposals and their weights
come from one batched call; what is left to do in order is to compare numbers. Where log w is normal under q with a
standard deviation of 1, half of the proposals are taken, and draws eight of them apart have a correlation of 0.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

TRIES = 8  # proposals between two draws
_FIRST = 16  # draws that are left out, for the chain to leave its start


def independence(key: Any, propose: Callable[[Any], tuple[Any, Any]], draws: int) -> tuple[Any, dict[str, Any]]:
    """Draws, as a tree with a leading axis, and diagnostics by name.

    ``propose(key)`` gives one proposal and the log of its weight; a weight that is not a number counts as 0.
    """
    for_points, for_taking = jax.random.split(key)
    count = (_FIRST + draws) * TRIES
    points, weights = jax.vmap(propose)(jax.random.split(for_points, count))
    weights = jnp.where(jnp.isnan(weights), -jnp.inf, weights)
    chances = -jax.random.exponential(for_taking, (count,))

    def step(held: Any, i: Any) -> tuple[Any, Any]:
        taken = (chances[i] < weights[i] - weights[held]) | jnp.isneginf(weights[held])
        return jnp.where(taken, i, held), (jnp.where(taken, i, held), 1.0 * taken)

    _, (places, taken) = jax.lax.scan(step, jnp.asarray(0), jnp.arange(count))
    kept = places.reshape(-1, TRIES)[_FIRST:, -1]
    rates = taken.reshape(-1, TRIES)[_FIRST:].mean(axis=1)
    return jax.tree.map(lambda array: array[kept], points), {"acceptance_rate": rates}
