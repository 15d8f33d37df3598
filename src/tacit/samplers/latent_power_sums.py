"""The exact sums of rows behind noisy ones: draws given the parameters of the rows' distribution.

Given mean and covariance of one row's (c, c^2), the sums S of n rows are normal by the central limit theorem, and each
release is S plus noise. Laplace noise of scale b is normal given its variance t, exponential with mean 2 b^2 (Andrews
and Mallows 1974), and given the noise 1/t is inverse Gaussian with mean 1 / (b |noise|) and shape 1 / b^2. So S and the
variances are drawn in turn, each exactly given the other. Sums that n numbers in [-1, 1] cannot have are refused, a
Metropolis step whose proposal is the conditional distribution itself: S_1^2 / n <= S_2 <= n.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_TURNS = 24


def draw_power_sums(
    key: Any, mean: Any, covariance: Any, n: Any, released: Any, scales: Any, laplace: tuple[bool, ...]
) -> Any:
    """One draw of S (2,); ``mean`` and ``covariance`` are those of the sums, ``released`` and ``scales`` (J, 2)."""
    is_laplace = jnp.asarray(np.array(laplace))[:, None]
    prior = jnp.linalg.inv(covariance + (1e-9 * n) ** 2 * jnp.eye(2))
    centre = prior @ mean

    def possible(sums: Any) -> Any:
        return (sums[0] ** 2 <= n * sums[1]) & (sums[1] <= n)

    def given(variances: Any, key: Any) -> Any:
        precision = prior + jnp.diag(jnp.sum(1 / variances, axis=0))
        root = jnp.linalg.cholesky(precision)
        middle = jax.scipy.linalg.cho_solve((root, True), centre + jnp.sum(released / variances, axis=0))
        return middle + jax.scipy.linalg.solve_triangular(root.T, jax.random.normal(key, (2,)))

    def turn(sums: Any, key: Any) -> tuple[Any, None]:
        for_variances, for_sums = jax.random.split(key)
        away = jnp.maximum(jnp.abs(released - sums), 1e-9 * scales)
        precisions = _inverse_gaussian(for_variances, scales / away) / scales**2
        proposed = given(jnp.where(is_laplace, 1 / precisions, scales**2), for_sums)
        return jnp.where(possible(proposed), proposed, sums), None

    start = given(jnp.where(is_laplace, 2.0, 1.0) * scales**2, key)
    first = jnp.clip(start[0], -n, n)
    start = jnp.stack([first, jnp.clip(start[1], first**2 / n, n)])
    return jax.lax.scan(turn, start, jax.random.split(key, _TURNS))[0]


def _inverse_gaussian(key: Any, mean: Any) -> Any:
    """Inverse Gaussian numbers with shape 1 (Michael, Schucany and Haas 1976), positive and finite."""
    for_normal, for_side = jax.random.split(key)
    square = jax.random.normal(for_normal, mean.shape) ** 2
    # The smaller root of a quadratic, without the difference of large numbers that its textbook form has.
    root = jnp.sqrt(square * (4 * mean + mean**2 * square))
    smaller = mean * 2 / (2 + mean * square + root)
    chosen = jax.random.uniform(for_side, mean.shape) <= mean / (mean + smaller)
    return jnp.clip(jnp.where(chosen, smaller, mean**2 / smaller), 1e-12, 1e12)
