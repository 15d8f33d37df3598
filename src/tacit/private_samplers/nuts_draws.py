"""One draw a chain by the no-U-turn sampler, for densities that need not be log-concave.

Nobody proved how near to the density its draws come. Modes are looked for from `SEARCHES` places (fewer for many rows,
whose number is public): the centre of a wide normal law, draws from it, and where the density has such, fits to as many
rows as there are coefficients, picked at random. A chain starts from one of `CANDIDATES`
points, picked with probability proportional to density over proposal; they come from a mixture of two t laws around
each mode and of the wide law, so that a second mode or a long tail is not left out. From there it takes `WARMUP` steps
that adapt step size and metric, and `STEPS` more; the last point is the draw. All four numbers are public constants.
Coordinates are those in which the curvature at the nearest mode is that of a standard normal law. Every step has 64
random bits of its own from the entropy source, and searches and starts are made from such bits directly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp
from numpyro.infer.hmc import hmc

from tacit.private_samplers.entropy_arrays import normals, uniforms
from tacit.private_samplers.mode import minimum
from tacit.runtime.backend import float64

SEARCHES, CANDIDATES, WARMUP, STEPS = 12, 256, 200, 50
_WIDE_SHARE = 1 / 3  # of the searches that begin at the wide law, where rows can be fitted as well
_MANY_ROWS, _FEW_SEARCHES = 10_000, 4  # a search goes through all rows many times
_DEGREES = 4  # of the t laws; a chi-square of 4 degrees is made of 4 normal numbers
_DEEPEST = 8


def draw_by_nuts(
    loss: Any, numbers: Mapping[str, float], x: Any, y: Any, *, wide: Any, source: Any, draws: int
) -> list[Any]:
    """``draws`` independent draws (size,) from exp(-loss.potential); one that failed is not finite.

    ``loss`` must be a value, for which the program is compiled once; ``wide`` (2, size) is the centre and the standard
    deviation of the wide normal law.
    """
    size = wide.shape[1]
    with float64(), np.errstate(all="ignore"):
        data = jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64)
        given = {name: jnp.asarray(value, jnp.float64) for name, value in numbers.items()}
        found: list[Any] = []
        for _ in range(draws):  # nothing is shared between draws but the rows, so that they are independent given them
            spread = normals((SEARCHES if len(y) <= _MANY_ROWS else _FEW_SEARCHES, size), source)
            spread[0] = 0
            starts = _with_fits(loss, np.asarray(x), np.asarray(y), wide[0] + wide[1] * spread, source)
            modes, roots = _modes(loss)(given, *data, jnp.asarray(wide), jnp.asarray(starts))
            z = normals((CANDIDATES, size + _DEGREES), source)
            u = uniforms((CANDIDATES + 1, 2), source)
            words = np.frombuffer(source.bytes(8 * (WARMUP + STEPS)), "<u4").reshape(-1, 2)
            found.append(np.asarray(_chain(loss)(given, *data, jnp.asarray(wide), modes, roots, z, u, words)))
    return found


def _with_fits(loss: Any, x: Any, y: Any, starts: Any, source: Any) -> Any:
    """``starts``, the last of them replaced by fits to a few rows each."""
    fitted = getattr(getattr(loss, "density", None), "fitted", None)
    first, few = math.ceil(_WIDE_SHARE * len(starts)), x.shape[1]
    picked = np.floor(uniforms((len(starts) - first, few), source) * len(y)).astype(int)
    for place, rows in enumerate(picked, start=first):
        found = None if fitted is None else fitted(x[rows], y[rows])
        if found is not None and np.all(np.isfinite(found)):
            starts[place] = found
    return starts


@lru_cache(maxsize=32)
def _modes(loss: Any) -> Any:
    def find(given: Any, x: Any, y: Any, wide: Any, starts: Any) -> Any:
        def potential(theta: Any) -> Any:
            return loss.potential(theta, x, y, given)

        def search(start: Any) -> Any:
            theta, _, hessian = minimum(potential, jax.hessian(potential), start, 1 / jnp.max(wide[1]) ** 2)
            return theta, jnp.linalg.cholesky(jnp.linalg.inv(hessian))

        return jax.lax.map(search, starts)

    return jax.jit(find)


@lru_cache(maxsize=32)
def _chain(loss: Any) -> Any:
    def run(given: Any, x: Any, y: Any, wide: Any, modes: Any, roots: Any, z: Any, u: Any, words: Any) -> Any:
        def potential(theta: Any) -> Any:
            value = loss.potential(theta, x, y, given)
            return jnp.where(jnp.isfinite(value), value, 1e300)

        first, nearest = _start(potential, wide, modes, roots, z, u)
        mode, root = modes[nearest], roots[nearest]

        def place(t: Any) -> Any:
            return mode + root @ t

        def energy(t: Any) -> Any:
            return potential(place(t))

        start = jax.scipy.linalg.solve_triangular(root, first - mode, lower=True)
        init, sample = hmc(energy, algo="NUTS")
        keys = jax.random.wrap_key_data(words)
        state = init(
            start,
            num_warmup=WARMUP,
            step_size=0.3,
            adapt_step_size=True,
            adapt_mass_matrix=True,
            dense_mass=True,
            target_accept_prob=0.85,
            max_tree_depth=_DEEPEST,
            rng_key=keys[0],
        )
        state = jax.lax.fori_loop(0, WARMUP + STEPS, lambda i, s: sample(s._replace(rng_key=keys[i])), state)
        return place(state.z)

    return jax.jit(run)


def _start(potential: Any, wide: Any, modes: Any, roots: Any, z: Any, u: Any) -> tuple[Any, Any]:
    """One of the candidates by importance resampling, and the number of the mode that is nearest to it."""
    size = modes.shape[1]
    normal, chi = z[:, :size], jnp.square(z[:, size:]).sum(axis=1, keepdims=True)
    t = normal / jnp.sqrt(chi / _DEGREES)
    kind, which = u[:-1, :1], jnp.floor(u[:-1, 1] * len(modes)).astype(int)
    around = modes[which] + jnp.einsum("cij,cj->ci", roots[which], jnp.where(kind < 1 / 3, 1.0, 3.0) * t)
    points = jnp.where(kind < 2 / 3, around, wide[0] + wide[1] * normal)

    def place(mode: Any, root: Any) -> Any:
        """Squared distances of all points from a mode, and the log volume of its coordinates."""
        apart = jax.scipy.linalg.solve_triangular(root, (points - mode).T, lower=True)
        return jnp.square(apart).sum(axis=0), jnp.log(jnp.diagonal(root)).sum()

    square, volume = jax.vmap(place)(modes, roots)
    norm = gammaln((_DEGREES + size) / 2) - gammaln(_DEGREES / 2) - size / 2 * jnp.log(_DEGREES * jnp.pi)
    tail = (_DEGREES + size) / 2
    near = norm - volume[:, None] - tail * jnp.log1p(square / _DEGREES)
    far = norm - volume[:, None] - size * jnp.log(3.0) - tail * jnp.log1p(square / 9 / _DEGREES)
    spread = -jnp.square((points - wide[0]) / wide[1]).sum(axis=1) / 2 - jnp.log(wide[1]).sum()
    spread = spread - size / 2 * jnp.log(2 * jnp.pi) + jnp.log(1.0 * len(modes))
    proposed = logsumexp(jnp.concatenate([near, far, spread[None]]), axis=0)
    logs = -jax.lax.map(potential, points) - proposed
    shares = jnp.cumsum(jnp.exp(logs - jnp.max(logs)))
    picked = jnp.clip(jnp.searchsorted(shares, u[-1, 0] * shares[-1]), 0, CANDIDATES - 1)
    return points[picked], jnp.argmin(square[:, picked])
