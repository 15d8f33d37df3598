"""The regression half of the conjugate model, for one site or several: theta and sigma given exact sums.

Every site k has its own rows; theta and sigma are shared. Given its design X_k, a site's sums of products say all about
them through G_k = X_k'X_k, the least-squares estimate t_k and the residual sum of squares RSS_k. Under the prior
theta | sigma^2 ~ N(mu0, sigma^2 Lambda0^-1), sigma^2 ~ IG(a0, b0), with N rows in all and G = sum_k G_k,

    Lambda_n = G + Lambda0,  mu_n = t - Lambda_n^-1 Lambda0 (t - mu0),  a_n = a0 + N/2,
    b_n = b0 + (sum_k RSS_k + sum_k (t_k - t)'G_k (t_k - t) + (t - mu0)'(G^-1 + Lambda0^-1)^-1 (t - mu0)) / 2

with t = G^-1 sum_k G_k t_k. The last is a sum of positive terms, where the textbook form (bernstein2019, section 2.2,
its mu_n read as (X'X + Lambda0)^-1 (X'y + Lambda0 mu0)) subtracts numbers of size N.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular


class ResponsePrior(NamedTuple):
    """theta | sigma^2 ~ N(mu0, sigma^2 lambda0^-1), sigma^2 ~ IG(a0, b0)."""

    mu0: Any
    lambda0: Any
    a0: Any
    b0: Any


class Fit(NamedTuple):
    """G, least-squares estimate and residual sum of squares, with a leading axis over sites."""

    gram: Any
    estimate: Any
    rss: Any


class Update(NamedTuple):
    """The Cholesky factor of Lambda_n, and mu_n, a_n, b_n."""

    root: Any
    mean: Any
    a: Any
    b: Any


def update(fits: Fit, n: Any, prior: ResponsePrior) -> Update:
    """The conjugate update; ``n`` is the number of rows of all sites together."""
    if len(fits.rss) == 1:
        gram, estimate, rss = fits.gram[0], fits.estimate[0], fits.rss[0]
    else:
        gram = jnp.sum(fits.gram, axis=0)
        cross = jnp.einsum("kij,kj->i", fits.gram, fits.estimate)
        estimate = cho_solve((jnp.linalg.cholesky(gram), True), cross)
        apart = fits.estimate - estimate
        rss = jnp.sum(fits.rss) + jnp.einsum("ki,kij,kj->", apart, fits.gram, apart)
    root = jnp.linalg.cholesky(gram + prior.lambda0)
    away = prior.lambda0 @ (estimate - prior.mu0)
    correction = cho_solve((root, True), away)
    spread = (estimate - prior.mu0) @ away - away @ correction
    return Update(root, estimate - correction, prior.a0 + n / 2, prior.b0 + (rss + spread) / 2)


def log_evidence(found: Update) -> Any:
    """What theta and sigma leave behind when they are integrated out: -1/2 log|Lambda_n| - a_n log b_n."""
    return -jnp.sum(jnp.log(jnp.diagonal(found.root))) - found.a * jnp.log(found.b)


def draw(key: Any, found: Update) -> dict[str, Any]:
    """theta and sigma, exactly."""
    for_sigma, for_theta = jax.random.split(key)
    return placed(found, jax.random.gamma(for_sigma, found.a), jax.random.normal(for_theta, found.mean.shape))


def placed(found: Update, gamma: Any, noise: Any) -> dict[str, Any]:
    """theta and sigma made of ``gamma``, drawn with shape a_n, and of as many standard normal numbers as theta has."""
    variance = found.b / gamma
    theta = found.mean + jnp.sqrt(variance) * solve_triangular(found.root, noise, lower=True, trans=1)
    return {"theta": theta, "sigma": jnp.sqrt(variance)}
