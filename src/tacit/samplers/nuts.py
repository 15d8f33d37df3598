"""No-U-turn sampling: NumPyro's kernel inside our own scan, so that it batches and compiles once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def nuts(
    key: Any,
    log_density: Callable[[Any], Any],
    start: Any,
    *,
    warmup: int,
    draws: int,
    target: float = 0.8,
    depth: int = 10,
    dense: bool = False,
    thin: int = 1,
) -> tuple[Any, dict[str, Any]]:
    """Positions (draws, ...) and diagnostics by name, after ``warmup`` steps that adapt step size and metric.

    ``target`` is the acceptance rate aimed at, ``depth`` the most doublings of a trajectory, ``dense`` adapts a full
    metric instead of a diagonal one.
    """
    from numpyro.infer.hmc import hmc  # a fifth of a second, which a kept program spares

    init, sample = hmc(lambda position: -log_density(position), algo="NUTS")
    state = init(
        start,
        num_warmup=warmup,
        step_size=0.1,
        adapt_step_size=True,
        adapt_mass_matrix=True,
        dense_mass=dense,
        target_accept_prob=target,
        max_tree_depth=depth,
        rng_key=key,
    )

    def kept(state: Any) -> Any:
        info = {
            "diverging": state.diverging,
            "n_steps": state.num_steps,
            "acceptance_rate": state.accept_prob,
            "energy": state.energy,
            "step_size": state.adapt_state.step_size,
        }
        return state.z, info

    def step(i: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        state, store = carry
        state = sample(state)
        place = jnp.maximum(i - warmup, 0) // thin  # a later step of the same place writes over an earlier one
        store = jax.tree.map(lambda array, value: array.at[place].set(value), store, kept(state))
        return state, store

    # One loop for warm-up and draws: the kernel stands in the program once, which halves the time to compile it.
    empty = jax.tree.map(lambda value: jnp.zeros((draws, *jnp.shape(value)), jnp.result_type(value)), kept(state))
    _, (positions, info) = jax.lax.fori_loop(0, warmup + thin * draws, step, (state, empty))
    return positions, info
