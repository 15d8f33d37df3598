"""Draws from densities with many modes, at the boundary: one of many particles that were cooled together.

Nobody proved how near to the density such draws come. The length of a run is `cooling_for` the number of rows, which is
public; each draw has a run of its own, so that draws are independent given the rows. Every step has 64 random bits of
its own from the entropy source. Slopes are computed in float32, energies in float64 (`smc` says why that
is right).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.private_samplers.smc import Cooled, Cooling, cooled
from tacit.runtime.backend import float64

_MANY_ROWS = 1000
_OF_FEW, _OF_MANY = Cooling(16, 80, 40, 24), Cooling(8, 240, 100, 128)
_MOST_AT_ONCE = 2**18  # rows times particles, so that the hidden layer of a small network fits into memory


def draw_by_particles(
    loss: Any, numbers: Mapping[str, float], x: Any, y: Any, *, wide: Any, source: Any, draws: int
) -> list[Any]:
    """``draws`` independent draws (size,) from exp(-loss.potential); one that failed is not finite.

    ``loss`` must be a value, for which the program is compiled once; ``wide`` (2, size) is the centre and the standard
    deviation of the law from which particles start.
    """
    with float64(), np.errstate(all="ignore"):
        cooling = cooling_for(len(y))
        program = _program(loss, cooling, max(1, _MOST_AT_ONCE // max(1, len(y))))
        found: list[Any] = []
        for _ in range(draws):
            words = np.frombuffer(source.bytes(8 * cooling.keys), "<u4").reshape(-1, 2)
            given = {name: jnp.asarray(value, jnp.float64) for name, value in numbers.items()}
            data = jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64)
            found.append(np.asarray(program(given, *data, jnp.asarray(wide), words).chosen))
    return found


def cooling_for(rows: int) -> Cooling:
    """How long a run about so many rows is: with more of them modes are further apart, and narrow."""
    return _OF_FEW if rows <= _MANY_ROWS else _OF_MANY


def run_of(loss: Any, cooling: Cooling, at_once: int | None = None) -> Any:
    """(numbers, x, y, wide, words) -> `Cooled`, pure JAX: what a draw runs, for whoever runs many of them at once."""

    def run(given: Any, x: Any, y: Any, wide: Any, words: Any) -> Cooled:
        short = {name: jnp.asarray(value, jnp.float32) for name, value in given.items()}
        rows = x.astype(jnp.float32), y.astype(jnp.float32)

        def potential(theta: Any) -> Any:
            return loss.potential(theta, x, y, given)

        def coarse(theta: Any) -> Any:
            return loss.potential(theta, *rows, short)

        def slope(theta: Any) -> Any:
            return jax.grad(coarse)(theta.astype(jnp.float32)).astype(jnp.float64)

        return cooled(potential, slope, wide, jax.random.wrap_key_data(words), cooling, at_once=at_once)

    return run


@lru_cache(maxsize=32)
def _program(loss: Any, cooling: Cooling, at_once: int) -> Any:
    return jax.jit(run_of(loss, cooling, at_once))
