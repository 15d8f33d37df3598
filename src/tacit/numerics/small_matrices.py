"""Many small positive definite matrices at once: Cholesky and solves written out, so that they stay elementwise.

Arrays have the shape (..., q, q) and (..., q) with q about 1 to 4.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def cholesky(a: Any) -> Any:
    """The lower triangular roots."""
    q = a.shape[-1]
    rows: list[list[Any]] = []
    for i in range(q):
        row: list[Any] = []
        for j in range(i + 1):
            left = a[..., i, j] - sum((row[k] * (rows[j][k] if j < i else row[k]) for k in range(j)), 0.0)
            row.append(left / rows[j][j] if j < i else jnp.sqrt(jnp.maximum(left, 1e-280)))
        rows.append(row)
    zero = jnp.zeros_like(rows[0][0])
    return jnp.stack([jnp.stack([*row, *([zero] * (q - len(row)))], axis=-1) for row in rows], axis=-2)


def forward(root: Any, b: Any) -> Any:
    """x with root x = b."""
    found: list[Any] = []
    for i in range(root.shape[-1]):
        left = b[..., i] - sum((root[..., i, k] * found[k] for k in range(i)), 0.0)
        found.append(left / root[..., i, i])
    return jnp.stack(found, axis=-1)


def backward(root: Any, b: Any) -> Any:
    """x with root' x = b."""
    q = root.shape[-1]
    found: dict[int, Any] = {}
    for i in reversed(range(q)):
        left = b[..., i] - sum((root[..., k, i] * found[k] for k in range(i + 1, q)), 0.0)
        found[i] = left / root[..., i, i]
    return jnp.stack([found[i] for i in range(q)], axis=-1)


def times(a: Any, b: Any) -> Any:
    """The products a b of matrices and vectors."""
    return jnp.sum(a * b[..., None, :], axis=-1)


def log_volume(root: Any) -> Any:
    """The sum of the logarithms of the diagonal: half the log determinant."""
    return jnp.sum(jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)), axis=-1)
