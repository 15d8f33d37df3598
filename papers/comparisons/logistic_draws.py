"""Posterior draws of logistic regression for many data sets at once, for comparisons.

Target: the density proportional to exp(-weight * sum of losses - |theta|^2 / (2 theta_sd^2)), where the loss is the
log loss or, with a ``beta``, the beta-divergence, and where |theta| <= ``reach`` if that is said. One draw is picked
among many proposals with probability proportional to target over proposal. Proposals come from a mixture: two t
distributions around the mode, one of them twice as wide, and the prior, so that no part of the target is left out. The
effective number of proposals behind a draw comes back with it: a small one says that the draw is not to be trusted.

Rows are seen and the generator has a seed: for releases there are plans with ``kind = "posterior-sample"``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_DEGREES = 5.0
_SIZES = (8, 64, 1024, 3072, 4096, 10_240, 20_480)  # numbers of rows that a program is compiled for


def logistic_draws(
    x: Any,
    y: Any,
    *,
    weight: float,
    seed: int,
    beta: float | None = None,
    theta_sd: float = 3.0,
    reach: float | None = None,
    draws: int = 1,
    proposals: int = 512,
) -> tuple[Any, Any]:
    """Draws (data sets, draws, d) and effective numbers (data sets,) for x (data sets, n, d), y (data sets, n) +-1."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.studies import float64

    x, y = np.asarray(x, float), np.asarray(y, float)
    sizes, n, d = x.shape
    rows = next((size for size in _SIZES if size >= n), n)
    padded, labels = np.zeros((rows, d)), np.ones(rows)  # a row with x = 0 has the same loss for every theta
    found, effective = np.empty((sizes, draws, d)), np.empty(sizes)
    with float64():
        keys = jax.random.split(jax.random.key(seed), sizes)
        run = _program(beta is not None, draws, proposals)
        limit = np.inf if reach is None else reach
        numbers = jnp.array([weight, 2.0 if beta is None else beta, theta_sd, limit])
        for i in range(sizes):
            padded[:n], labels[:n] = x[i], y[i]
            found[i], effective[i] = run(keys[i], jnp.asarray(padded), jnp.asarray(labels), numbers)
    return found, effective


@lru_cache(maxsize=8)
def _program(with_beta: bool, draws: int, proposals: int) -> Any:
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    from tacit.studies import BernoulliDensity

    density = BernoulliDensity((), 1.0)

    def smooth(theta: Any, x: Any, y: Any, numbers: Any) -> Any:
        weight, beta, theta_sd, _ = numbers
        log_density = density.log_density(theta, x, y)
        losses = -log_density
        if with_beta:
            losses = density.power_integral(theta, x, beta) / beta - jnp.exp((beta - 1) * log_density) / (beta - 1)
        return weight * losses.sum() + theta @ theta / (2 * theta_sd**2)

    def mode(x: Any, y: Any, numbers: Any) -> Any:
        """The mode by Newton's steps, and the Hessian's eigenvalues, made at least the prior's, and vectors there."""
        sizes = jnp.array([1.0, 0.5, 0.2, 0.05, 0.0])

        def step(_: int, state: Any) -> Any:
            theta = state[0]
            values, vectors = jnp.linalg.eigh(jax.hessian(smooth)(theta, x, y, numbers))
            values = jnp.maximum(jnp.abs(values), 1 / numbers[2] ** 2)
            gradient = jax.grad(smooth)(theta, x, y, numbers)
            tries = theta - sizes[:, None] * (vectors @ ((vectors.T @ gradient) / values))
            costs = jax.lax.map(lambda at: smooth(at, x, y, numbers), tries)
            return tries[jnp.argmin(costs)], values, vectors

        d = x.shape[1]
        return jax.lax.fori_loop(0, 25, step, (jnp.zeros(d), jnp.ones(d), jnp.eye(d)))

    def one(key: Any, x: Any, y: Any, numbers: Any) -> Any:
        d = x.shape[1]
        peak, values, vectors = mode(x, y, numbers)
        k1, k2, k3, k4 = jax.random.split(key, 4)
        kind = jax.random.choice(k1, 3, (proposals,))
        normal = jax.random.normal(k2, (proposals, d))
        heavy = normal / jnp.sqrt(2 * jax.random.gamma(k3, _DEGREES / 2, (proposals, 1)) / _DEGREES)
        wide = jnp.where(kind == 1, 2.0, 1.0)[:, None]
        around = peak + (heavy * wide / jnp.sqrt(values)) @ vectors.T
        theta = jnp.where((kind == 2)[:, None], numbers[2] * normal, around)
        square = jnp.square((theta - peak) @ vectors) @ values
        half = jnp.log(values).sum() / 2
        norm = (
            jax.scipy.special.gammaln((_DEGREES + d) / 2)
            - jax.scipy.special.gammaln(_DEGREES / 2)
            - d / 2 * jnp.log(_DEGREES * jnp.pi)
        )
        near = norm + half - (_DEGREES + d) / 2 * jnp.log1p(square / _DEGREES)
        far = norm + half - d * jnp.log(2.0) - (_DEGREES + d) / 2 * jnp.log1p(square / 4 / _DEGREES)
        prior = -jnp.square(theta / numbers[2]).sum(1) / 2 - d * (jnp.log(numbers[2]) + jnp.log(2 * jnp.pi) / 2)
        proposed = logsumexp(jnp.stack([near, far, prior]), axis=0)
        target = -jax.lax.map(lambda at: smooth(at, x, y, numbers), theta, batch_size=64)
        target = jnp.where(jnp.square(theta).sum(1) <= numbers[3] ** 2, target, -jnp.inf)
        logs = target - proposed
        logs = logs - logsumexp(logs)
        picked = jax.random.categorical(k4, logs, shape=(draws,))
        return theta[picked], 1 / jnp.exp(2 * logs).sum()

    return jax.jit(one)
