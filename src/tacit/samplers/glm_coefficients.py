"""The coefficients of a generalised linear model given its rows: one step that leaves their distribution unchanged.

p(theta | rows) is proportional to N(theta; mean, precision^-1) prod_i f(y_i | u_i), u = W theta, restricted to |theta|
<= R if a radius is given. Newton steps from the rows alone lead to about the mode m with curvature H. A proposal
from the
multivariate t distribution around m with shape H^-1 is then taken or not as Metropolis and Hastings say. It does not
depend on theta, so where it is taken the draw is independent of the last one. A poor m makes slow steps, not wrong
ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular

_DEGREES = 8  # of the t distribution: tails heavier than those of the prior
_STEPS = 5
_FARTHEST = 4.0  # that a Newton step may move any u


def move_coefficients(
    key: Any,
    theta: Any,
    design: Any,
    log_likelihood: Callable[[Any], Any],
    guess: Any,
    mean: Any,
    precision: Any,
    radius: Any = None,
) -> tuple[Any, Any]:
    """Theta after the step, and whether it moved.

    ``design`` is W (rows, p); ``log_likelihood`` maps u (rows,) to log f of every row; ``guess`` (rows,) is a u that
    suits each row by itself.
    """

    def derivatives(u: Any) -> tuple[Any, Any]:
        first = jax.grad(lambda u: jnp.sum(log_likelihood(u)))
        value, second = jax.jvp(first, (u,), (jnp.ones_like(u),))
        return value, jnp.maximum(-second, 0)

    def scored(theta: Any) -> Any:
        value = jnp.sum(log_likelihood(design @ theta)) - (theta - mean) @ precision @ (theta - mean) / 2
        inside = True if radius is None else jnp.sum(theta**2) <= radius**2
        return jnp.where(jnp.isfinite(value) & inside, value, -jnp.inf)

    def information(weights: Any) -> Any:
        return jnp.linalg.cholesky((design * weights[:, None]).T @ design + precision)

    def newton(_: int, mode: Any) -> Any:
        derivative, weights = derivatives(design @ mode)
        step = cho_solve((information(weights), True), design.T @ derivative - precision @ (mode - mean))
        farthest = jnp.max(jnp.abs(design @ step), initial=0.0)
        moved = mode + step * jnp.minimum(1, _FARTHEST / jnp.maximum(farthest, 1e-300))
        return jnp.where(jnp.all(jnp.isfinite(moved)), moved, mode)

    derivative, weights = derivatives(guess)
    first = cho_solve((information(weights), True), design.T @ (weights * guess + derivative) + precision @ mean)
    mode = jax.lax.fori_loop(0, _STEPS, newton, jnp.where(jnp.all(jnp.isfinite(first)), first, 0.0))
    root = information(derivatives(design @ mode)[1])

    def log_proposal(theta: Any) -> Any:
        away = root.T @ (theta - mode)
        return -(_DEGREES + theta.shape[0]) / 2 * jnp.log1p(away @ away / _DEGREES)

    p = theta.shape[0]
    normals = jax.random.normal(key, (p + _DEGREES,))
    direction = solve_triangular(root, normals[:p], lower=True, trans=1)
    proposed = mode + jnp.sqrt(_DEGREES / jnp.sum(normals[p:] ** 2)) * direction
    log_ratio = scored(proposed) - scored(theta) + log_proposal(theta) - log_proposal(proposed)
    accepted = -jax.random.exponential(jax.random.fold_in(key, 1)) < log_ratio
    return jnp.where(accepted, proposed, theta), accepted
