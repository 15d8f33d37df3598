"""One draw a chain by Hamiltonian Monte Carlo from a normal start: the last resort, whose distance nobody proved.

Chains start from independent draws of the normal approximation at the mode, N(theta*, (Hessian)^-1), and take
`ITERATIONS` Metropolis-adjusted trajectories of `LEAPS` steps in coordinates in which that approximation is standard.
Both numbers are public constants. The random numbers come in as arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

ITERATIONS, LEAPS = 100, 12
_SHORTEST, _LONGEST = 0.03, 0.22


def random_numbers_needed(size: int) -> tuple[int, int]:
    """How many normal and how many uniform numbers one chain takes."""
    return (ITERATIONS + 1) * size, 2 * ITERATIONS


def last_points(potential: Callable[[Any], Any], mode: Any, hessian: Any, z: Any, u: Any) -> Any:
    """The last point of each chain (chains, size); z (chains, (ITERATIONS + 1) size), u (chains, 2 ITERATIONS)."""
    size = mode.shape[0]
    factor = jnp.linalg.cholesky(hessian)

    def place(t: Any) -> Any:
        return mode + jax.scipy.linalg.solve_triangular(factor.T, t, lower=False)

    def energy(t: Any) -> Any:
        value = potential(place(t))
        return jnp.where(jnp.isfinite(value), value, jnp.inf)

    slope = jax.grad(energy)

    def chain(z: Any, u: Any) -> Any:
        momenta = z.reshape(ITERATIONS + 1, size)

        def step(state: tuple[Any, Any], drawn: tuple[Any, Any]) -> tuple[tuple[Any, Any], None]:
            here, now = state
            momentum, (length, coin) = drawn
            leap = _SHORTEST + (_LONGEST - _SHORTEST) * length

            def forward(_: int, pair: tuple[Any, Any]) -> tuple[Any, Any]:
                q, p = pair
                q = q + leap / 2 * p
                p = p - leap * slope(q)
                return q + leap / 2 * p, p

            there, speed = jax.lax.fori_loop(0, LEAPS, forward, (here, momentum))
            then = energy(there)
            log_ratio = now - then + (momentum @ momentum - speed @ speed) / 2
            taken = jnp.log(coin) < log_ratio  # a ratio that is no number is refused
            return (jnp.where(taken, there, here), jnp.where(taken, then, now)), None

        start = momenta[0]
        (last, _), _ = jax.lax.scan(step, (start, energy(start)), (momenta[1:], u.reshape(ITERATIONS, 2)))
        return place(last)

    return jax.vmap(chain)(z, u)
