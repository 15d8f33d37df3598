"""The peak of a posterior with normal errors and a standard normal prior, and coordinates that suit it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular


class Frame(NamedTuple):
    """Coordinates q = root'(x - centre), so that x = centre + spread q; N(q; 0, I) is N(x; centre, (root root')^-1)."""

    centre: Any
    root: Any
    spread: Any

    @classmethod
    def of(cls, centre: Any, information: Any) -> Frame:
        """That of a normal law with this centre and this inverse covariance."""
        root = jnp.linalg.cholesky(information)
        # The inverse is kept, because a product is many times faster than a call that solves.
        return cls(centre, root, solve_triangular(root, jnp.eye(root.shape[0]), lower=True).T)

    def inside(self, x: Any) -> Any:
        """The q of x."""
        return self.root.T @ (x - self.centre)

    def outside(self, q: Any) -> Any:
        """The x of q."""
        return self.centre + self.spread @ q


def peak(residual: Callable[[Any], Any], start: Any, *, steps: int) -> tuple[Any, Any]:
    """The x that makes |r(x)|^2 + |x|^2 least, and J'J + I there, J = dr/dx.

    Damped Gauss-Newton steps (Levenberg and Marquardt): a step that does not lower the sum is not taken, and the
    damping grows. exp(-(|r|^2 + |x|^2) / 2) is then about N(x; peak, (J'J + I)^-1).
    """

    def linearised(x: Any) -> tuple[Any, Any, Any]:
        value, jacobian = residual(x), jax.jacfwd(residual)(x)
        return value @ value + x @ x, jacobian.T @ value + x, jacobian.T @ jacobian + jnp.eye(x.shape[0])

    def step(_: int, state: tuple[Any, Any]) -> tuple[Any, Any]:
        x, damping = state
        value, gradient, information = linearised(x)
        damped = information + jnp.diag(damping * jnp.diagonal(information))
        moved = x - cho_solve((jnp.linalg.cholesky(damped), True), gradient)
        there = residual(moved)
        better = there @ there + moved @ moved < value
        return jnp.where(better, moved, x), jnp.where(better, damping / 5, damping * 5)

    x, _ = jax.lax.fori_loop(0, steps, step, (start, jnp.asarray(1e-2)))
    return x, linearised(x)[2]
