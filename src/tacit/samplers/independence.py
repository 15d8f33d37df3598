"""Metropolis with proposals that do not look at the chain: for a posterior that is close to a distribution we can draw
from.

Target: q(x) w(x), with draws from q at hand and w known up to a constant. A proposal from q takes the place of x with
probability min(1, w(proposal) / w(x)), whatever q is (Tierney 1994, section 2.3.3). Proposals and their weights come in
blocks, computed at once; what is left to do in order is to compare numbers. Where log w is normal under q with a
standard deviation of 1, half of the proposals are taken, and log w at draws eight of them apart has a correlation of
0.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

TRIES = 8  # proposals between two draws, unless said
_FIRST = 16  # draws that are left out, for the chain to leave its start
_BLOCK = 64  # draws whose proposals are made at once


def independence(
    key: Any, propose: Callable[[Any], tuple[Any, Any]], draws: int, tries: int = TRIES
) -> tuple[Any, dict[str, Any]]:
    """Draws, as a tree with a leading axis, and diagnostics by name.

    ``propose(key)`` gives one proposal and the log of its weight; a weight that is not a number counts as 0. Should no
    proposal have a weight, the draws are proposals, and the acceptance rate is 0.
    """
    for_start, for_blocks = jax.random.split(key)
    blocks = -(-(_FIRST + draws) // _BLOCK)

    def weighed(key: Any) -> tuple[Any, Any]:
        point, weight = propose(key)
        return point, jnp.where(jnp.isnan(weight), -jnp.inf, weight)

    def block(held: tuple[Any, Any], key: Any) -> tuple[Any, Any]:
        for_points, for_taking = jax.random.split(key)
        new = jax.vmap(weighed)(jax.random.split(for_points, _BLOCK * tries))
        # The held point stands first, at place 0.
        points, weights = jax.tree.map(lambda old, more: jnp.concatenate([old[None], more]), held, new)
        log_uniforms = -jax.random.exponential(for_taking, (_BLOCK * tries + 1,))

        def step(at: Any, i: Any) -> tuple[Any, Any]:
            moved = (log_uniforms[i] < weights[i] - weights[at]) & (weights[i] > -jnp.inf)
            at = jnp.where(moved | jnp.isneginf(weights[at]), i, at)
            return at, (at, 1.0 * moved)

        last, (places, moved) = jax.lax.scan(step, jnp.asarray(0), jnp.arange(1, _BLOCK * tries + 1))
        kept = places.reshape(_BLOCK, tries)[:, -1]
        found = jax.tree.map(lambda array: array[kept], points), moved.reshape(_BLOCK, tries).mean(axis=1)
        return (jax.tree.map(lambda array: array[last], points), weights[last]), found

    _, (points, rates) = jax.lax.scan(block, weighed(for_start), jax.random.split(for_blocks, blocks))
    points, rates = jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), (points, rates))
    wanted = slice(_FIRST, _FIRST + draws)
    return jax.tree.map(lambda array: array[wanted], points), {"acceptance_rate": rates[wanted]}
