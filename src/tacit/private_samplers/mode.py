"""The minimum of a smooth potential by damped Newton steps, and its curvature there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

_MOST_STEPS = 200
_SHRINK = 2.0 ** -jnp.arange(12.0)


def minimum(
    potential: Callable[[Any], Any], hessian: Callable[[Any], Any], start: Any, floor: Any
) -> tuple[Any, Any, Any]:
    """(theta, gradient, Hessian) near a minimum of ``potential``; eigenvalues of the Hessian are lifted to ``floor``.

    Each step is the best of twelve halvings of Newton's; it ends when no step lowers the potential. Where the potential
    is convex that is the minimum to float64 precision; elsewhere it is a place from which a Markov chain can start.
    """
    gradient = jax.grad(potential)

    def lifted(theta: Any) -> Any:
        values, vectors = jnp.linalg.eigh(hessian(theta))
        return (vectors * jnp.maximum(jnp.abs(values), floor)) @ vectors.T

    def go(state: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        theta, value, count, _ = state
        step = jnp.linalg.solve(lifted(theta), gradient(theta))
        tried = jax.lax.map(lambda share: potential(theta - share * step), _SHRINK)
        tried = jnp.where(jnp.isfinite(tried), tried, jnp.inf)
        best = jnp.argmin(tried)
        better = tried[best] < value
        theta = jnp.where(better, theta - _SHRINK[best] * step, theta)
        return theta, jnp.where(better, tried[best], value), count + 1, better

    def more(state: tuple[Any, Any, Any, Any]) -> Any:
        return state[3] & (state[2] < _MOST_STEPS)

    first = (start, potential(start), jnp.asarray(0), jnp.asarray(True))
    theta, *_ = jax.lax.while_loop(more, go, first)
    return theta, gradient(theta), lifted(theta)
