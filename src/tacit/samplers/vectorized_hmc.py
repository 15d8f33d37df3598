"""Hamiltonian steps of one length for all: what `nuts` is on a processor, made for an accelerator.

A batch of no-U-turn trajectories takes as many steps as its longest one, and asks after every step whether all are
done. On a GPU both cost more than the steps themselves. Here every iteration makes ``num_leapfrog_steps`` leapfrog
steps, in every chain of every dataset at once, and asks nothing.

A trajectory of one length could come back to where it began, so the size of its steps is drawn anew each time, as a
share between `SHORTEST` and 1 of the adapted one. The draw does not look at the position, so each size gives a
reversible step that keeps the target, and so does their mixture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

SHORTEST = 0.3
_DIVERGED = 1000.0  # of energy, as no-U-turn samplers count it


def lockstep(
    key: Any,
    log_density: Callable[[Any], Any],
    start: Any,
    *,
    warmup: int,
    draws: int,
    num_leapfrog_steps: int,
    target: float = 0.8,
    dense: bool = False,
    thin: int = 1,
) -> tuple[Any, dict[str, Any]]:
    """Positions (draws, ...) and diagnostics by name, after ``warmup`` steps that adapt step size and metric."""
    from numpyro.infer.hmc_util import warmup_adapter  # a fifth of a second, which a kept program spares

    flat, shaped = ravel_pytree(start)
    value_and_gradient = jax.value_and_grad(lambda position: log_density(shaped(position)))
    begin, adapt = warmup_adapter(warmup, dense_mass=dense, target_accept_prob=target)

    def moved(state: Any, adapted: Any, key: Any) -> Any:
        """The next state, the probability of a new one, its energy and whether it ran away."""
        position, value, gradient = state
        for_momentum, for_size, for_choice = jax.random.split(key, 3)
        size = adapted.step_size * jax.random.uniform(for_size, minval=SHORTEST, maxval=1.0)
        normal = jax.random.normal(for_momentum, position.shape, position.dtype)
        momentum = adapted.mass_matrix_sqrt @ normal if dense else adapted.mass_matrix_sqrt * normal

        def velocity(m: Any) -> Any:
            return adapted.inverse_mass_matrix @ m if dense else adapted.inverse_mass_matrix * m

        def leapfrog(_: int, state: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
            q, m, _, g = state
            m = m + size / 2 * g
            q = q + size * velocity(m)
            v, g = value_and_gradient(q)
            return q, m + size / 2 * g, v, g

        there = jax.lax.fori_loop(0, num_leapfrog_steps, leapfrog, (position, momentum, value, gradient))
        energy = momentum @ velocity(momentum) / 2 - value
        after = there[1] @ velocity(there[1]) / 2 - there[2]
        gain = jnp.where(jnp.isfinite(after), energy - after, -jnp.inf)
        accepted = -jax.random.exponential(for_choice, dtype=position.dtype) < gain
        new = tuple(jnp.where(accepted, a, b) for a, b in zip((there[0], *there[2:]), state, strict=True))
        return new, jnp.exp(jnp.minimum(gain, 0.0)), jnp.where(accepted, after, energy), gain < -_DIVERGED

    def step(i: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        state, adapted, key, store = carry
        key, now = jax.random.split(key)
        state, probability, energy, diverging = moved(state, adapted, now)
        learnt = adapt(i, probability, (state[0],), adapted)
        adapted = jax.tree.map(lambda new, old: jnp.where(i < warmup, new, old), learnt, adapted)
        info = {
            "diverging": diverging,
            "n_steps": jnp.asarray(num_leapfrog_steps),
            "acceptance_rate": probability,
            "energy": energy,
            "step_size": adapted.step_size,
        }
        place = jnp.maximum(i - warmup, 0) // thin  # a later step of the same place writes over an earlier one
        store = jax.tree.map(lambda array, value: array.at[place].set(value), store, (state[0], info))
        return state, adapted, key, store

    for_start, for_steps = jax.random.split(key)
    adapted = begin((flat,), for_start, step_size=0.1)
    store = (
        jnp.zeros((draws, flat.size), flat.dtype),
        {
            "diverging": jnp.zeros(draws, bool),
            "n_steps": jnp.zeros(draws, jnp.result_type(int)),
            **{name: jnp.zeros(draws, flat.dtype) for name in ("acceptance_rate", "energy", "step_size")},
        },
    )
    begun = (flat, *value_and_gradient(flat)), adapted, for_steps, store
    *_, (positions, info) = jax.lax.fori_loop(0, warmup + thin * draws, step, begun)
    return jax.vmap(shaped)(positions), info
