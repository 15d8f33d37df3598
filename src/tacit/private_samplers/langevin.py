"""Unadjusted Langevin chains: their step and length, and what they prove, come from `langevin_schedule`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.private_samplers.entropy_arrays import normals

_CHUNK = 2**12


def langevin(
    gradient: Callable[..., Any],
    mode: Any,
    smooth: float,
    step: float,
    steps: int,
    chains: int,
    source: Any,
    given: tuple[Any, ...] = (),
) -> Any:
    """The ends (chains, size) of independent chains that start at N(mode, I / smooth).

    ``gradient`` takes a point (size,) and then what is ``given``. Rows belong there: what a program gets in any other
    way is compiled into it, and JAX keeps compiled programs on disk.
    """
    size = len(mode)

    @jax.jit
    def run(thetas: Any, z: Any, count: Any, given: tuple[Any, ...]) -> Any:
        slopes = jax.vmap(lambda theta: gradient(theta, *given))

        def move(i: Any, t: Any) -> Any:
            return t - step * slopes(t) + math.sqrt(2 * step) * z[i]

        return jax.lax.fori_loop(0, count, move, thetas)

    thetas = jnp.asarray(mode + normals((chains, size), source) / math.sqrt(smooth))
    for first in range(0, steps, _CHUNK):
        count = min(_CHUNK, steps - first)
        z = np.zeros((_CHUNK, chains, size))
        z[:count] = normals((count, chains, size), source)
        thetas = run(thetas, jnp.asarray(z), count, given)
    return np.asarray(thetas)
