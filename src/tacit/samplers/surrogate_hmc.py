"""A Hamiltonian step whose force need not be the gradient of the density, so that the density may have jumps.

Leapfrog steps with any force F(q) are reversible and keep volume, so a Metropolis step with the exact density of where
they lead is right. The closer F is to the gradient of a smooth stand-in, the more often it is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

NUM_LEAPFROG_STEPS = 24
SHORTEST, LONGEST = 0.02, 0.25  # of a leapfrog step, where the density is about standard normal


def hamiltonian(
    key: Any, log_density: Callable[[Any], Any], force: Callable[[Any], Any], position: Any
) -> tuple[Any, Any]:
    """The next position, and whether it is a new one."""
    for_momentum, for_length, for_choice = jax.random.split(key, 3)
    momentum = jax.random.normal(for_momentum, position.shape)
    # A random length, because no one length suits every place and every posterior.
    step_size = jax.random.uniform(for_length, minval=SHORTEST, maxval=LONGEST)

    def forward(_: int, state: tuple[Any, Any]) -> tuple[Any, Any]:
        q, m = state
        q = q + step_size / 2 * m
        m = m + step_size * force(q)
        return q + step_size / 2 * m, m

    there, speed = jax.lax.fori_loop(0, NUM_LEAPFROG_STEPS, forward, (position, momentum))
    both = jax.lax.map(log_density, jnp.stack([there, position]))  # one place in the program, hence half the compiling
    log_ratio = both[0] - both[1] + (momentum @ momentum - speed @ speed) / 2
    accepted = -jax.random.exponential(for_choice) < log_ratio
    return jnp.where(accepted, there, position), accepted
