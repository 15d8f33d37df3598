"""What makes the private posteriors of kulkarni2021 so narrow? The paper's choices, switched on one after the other.

A small sampler of the paper's model for mean-zero covariates, apart from the package: theta, a covariance Sigma of the
covariates, and a normal distribution for the noisy sums of yx and xx' (cross terms times the root of 2), sampled by
NumPyro's NUTS. Everything that tacit decided otherwise can be decided as in the paper here, wrong or not:

    noise        the same in every entry, for a sensitivity of sqrt(4.5) (Corollary 3.1.1)
    cut          |theta| <= sqrt(2) |non-private fit|: read off the data, so not private
    scales       N(0, 2.5) for the standard deviations of covariates in a ball of radius 1
    moments      a Taylor polynomial for the mean of y; "printed" has the covariance of section 3.3, case (b)
    covariance   known exactly, which nobody allows, to see what not knowing it costs
    shrink       noise divided by a number, to see how little of it would do

`STEPS` are cumulative up to "moments as printed"; each later one changes the first step alone. `least_width` and
`given_covariance` need no chain: what the sums themselves allow, and what the cut and larger rows buy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.studies import mu_for

DELTA = 1e-5
SENSITIVITY = math.sqrt(4.5)


@dataclass(frozen=True)
class Choices:
    """One way to do it; ``cut`` is a radius, or None for that of the data."""

    cut: float | None = 2.0
    scale: float = 0.4
    moments: str = "exact"
    known: bool = False
    shrink: float = 1.0


_FIRST = Choices()
_CUT = replace(_FIRST, cut=None)
_SCALES = replace(_CUT, scale=2.5)
_TAYLOR = replace(_SCALES, moments="taylor")
STEPS: dict[str, Choices] = {
    "the paper's noise": _FIRST,
    "and its cut of theta": _CUT,
    "and its prior of the covariance": _SCALES,
    "and its Taylor moments, mended": _TAYLOR,
    "and its moments as printed": replace(_TAYLOR, moments="printed"),
    "first step, covariance known": replace(_FIRST, known=True),
    "first step, a tenth of the noise": replace(_FIRST, shrink=10.0),
    "first step, a hundredth of the noise": replace(_FIRST, shrink=100.0),
}


def noise_sd(epsilon: float) -> float:
    """The same standard deviation in every entry."""
    return SENSITIVITY / mu_for(epsilon, DELTA)


def sums(x: Any, y: Any) -> Any:
    """yx and the distinct products of x, cross terms times the root of 2."""
    d = x.shape[1]
    i, j = np.triu_indices(d)
    return np.concatenate([y @ x, (x[:, i] * x[:, j]).sum(axis=0) * np.where(i == j, 1.0, math.sqrt(2))])


def sampled(
    x: Any, y: Any, epsilon: float, step: str, *, radius: float, repetitions: int, draws: int, warmup: int, seed: int
) -> tuple[Any, float]:
    """Draws of theta (repetitions, draws, d) from that many noisy sums of the rows, and the share that diverged.

    ``radius`` is sqrt(2) times the norm of the non-private fit. Noise is seeded: rows are public or made up.
    """
    import jax
    from numpyro.infer import MCMC, NUTS, init_to_value

    choices, n, d = STEPS[step], *x.shape
    cut = radius if choices.cut is None else choices.cut
    sd = noise_sd(epsilon) / choices.shrink
    rng = np.random.default_rng(seed)
    exact = sums(x, y)
    known = np.linalg.cholesky(x.T @ x / n) if choices.known else np.zeros((d, d))
    start = {"z": np.full((repetitions, d), 0.2), "spread": np.full((repetitions, d), 0.3)}
    start |= {"root": np.broadcast_to(np.eye(d), (repetitions, d, d))}
    kernel = NUTS(
        _model(choices.known, choices.moments, d),
        target_accept_prob=0.9,
        init_strategy=init_to_value(values=start),
    )
    run = MCMC(kernel, num_warmup=warmup, num_samples=draws, progress_bar=False, jit_model_args=True)
    noisy = exact + sd * rng.standard_normal((repetitions, len(exact)))
    with jax.enable_x64(True):
        numbers = (noisy, float(n), sd, cut, choices.scale, known)
        run.run(jax.random.key(seed), *numbers, extra_fields=("diverging",))
        found = np.asarray(run.get_samples()["theta"])
        return found.swapaxes(0, 1), float(np.mean(np.asarray(run.get_extra_fields()["diverging"])))


def moments(theta: Any, sigma: Any, kind: str) -> tuple[Any, Any]:
    """The mean and the covariance of one row's part of the sums, x ~ N(0, Sigma), as JAX arrays.

    With u = theta'x of variance v, a = Sigma theta and R = Sigma - aa'/v, x = a u / v + a normal vector of covariance R
    that u says nothing about; E[y given x] = g(u) is odd, so that only E[g u] and E[g u^3] are left.
    """
    import jax.numpy as jnp

    d = len(theta)
    i, j = np.triu_indices(d)
    factor = np.where(i == j, 1.0, math.sqrt(2))
    a = sigma @ theta
    v = theta @ a + 1e-12
    if kind == "exact":
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)
        u, weights = jnp.sqrt(v) * nodes, weights / weights.sum()
        first, third = weights @ (jnp.tanh(u / 2) * u), weights @ (jnp.tanh(u / 2) * u**3)
    else:
        first, third = v / 2 - v**2 / 8, 3 * v**2 / 2 - 15 * v**3 / 24
    m = a * first / v
    rest = sigma - jnp.outer(a, a) / v
    linear = (0.0 if kind == "printed" else sigma) - jnp.outer(m, m)  # E[y^2 xx'] = Sigma is missing (Errata K6)
    squares = (sigma[i][:, i] * sigma[j][:, j] + sigma[i][:, j] * sigma[j][:, i]) * jnp.outer(factor, factor)
    cubes = a[:, None] * (a[i] * a[j])[None] * third / v**3
    cubes = cubes + (a[:, None] * rest[i, j][None] + a[i][None] * rest[:, j] + a[j][None] * rest[:, i]) * first / v
    cross = (cubes - m[:, None] * sigma[i, j][None]) * factor
    return jnp.concatenate([m, sigma[i, j] * factor]), jnp.block([[linear, cross], [cross.T, squares]])


def least_width(x: Any, y: Any, epsilon: float, *, shrink: float = 1.0) -> float:
    """How much wider than without privacy any posterior from the noisy sums is that has no other knowledge of theta.

    The median over coefficients of the root of the inverse Fisher information of the sums, with the covariance of the
    covariates known, over that of the rows, both at the fit. Only a prior makes posteriors narrower.
    """
    import jax

    n, d = x.shape
    theta = np.zeros(d)
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ theta))
        rows = (x * (p * (1 - p))[:, None]).T @ x
        theta = theta + np.linalg.solve(rows, x.T @ ((y + 1) / 2 - p))
    sigma = x.T @ x / n
    with jax.enable_x64(True):
        slopes = n * np.asarray(jax.jacfwd(lambda t: moments(t, sigma, "exact")[0])(theta))
        scatter = n * np.asarray(moments(theta, sigma, "exact")[1])
    sd = noise_sd(epsilon) / shrink
    sums_ = slopes.T @ np.linalg.solve(scatter + sd**2 * np.eye(len(scatter)), slopes)
    ratio = np.diag(np.linalg.inv(sums_)) / np.diag(np.linalg.inv(rows))
    return float(np.sqrt(np.median(ratio)))


def given_covariance(
    x: Any, y: Any, epsilon: float, *, cut: float, repetitions: int, draws: int, seed: int, shrink: float = 1.0
) -> tuple[Any, float]:
    """Draws of theta (repetitions, draws, d) from noisy sums of the rows with the covariance of the covariates known.

    Importance resampling: of draws from the prior, N(0, I) with |theta| <= ``cut``, then three times of draws from a
    normal distribution with the mean and 1.5 times the covariance found before. Also the least effective number of
    draws. Not knowing the covariance only costs.
    """
    import jax

    n, d = x.shape
    rng = np.random.default_rng(seed)
    sd, sigma = noise_sd(epsilon) / shrink, x.T @ x / n
    with jax.enable_x64(True):
        batch = jax.jit(jax.vmap(lambda t: moments(t, sigma, "exact")))

    def scored(theta: Any) -> tuple[Any, Any, Any]:
        with jax.enable_x64(True):
            mean, covariance = (np.asarray(v) for v in batch(theta))
        lower = np.linalg.cholesky(n * covariance / sd**2 + np.eye(mean.shape[1]))
        return mean, lower, np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)

    def weighed(noisy: Any, parts: tuple[Any, Any, Any], others: Any) -> Any:
        mean, lower, height = parts
        off = np.linalg.solve(lower, ((noisy - n * mean) / sd)[..., None])[..., 0]
        logs = others - np.square(off).sum(axis=1) / 2 - height
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    first = rng.standard_normal((4000, d))
    first *= np.minimum(1, cut / np.linalg.norm(first, axis=1))[:, None]  # a start: those outside, to the edge
    exact, found, least = sums(x, y), [], math.inf
    whole = scored(first)
    for _ in range(repetitions):
        noisy = exact + sd * rng.standard_normal(len(exact))
        theta, weights = first, weighed(noisy, whole, np.zeros(len(first)))
        for _ in range(3):
            centre = weights @ theta
            spread = 1.5 * ((theta - centre) * weights[:, None]).T @ (theta - centre) + 1e-6 * np.eye(d)
            root = np.linalg.cholesky(spread)
            z = rng.standard_normal((1500, d))
            theta = centre + z @ root.T
            prior = np.where(np.linalg.norm(theta, axis=1) <= cut, -np.square(theta).sum(axis=1) / 2, -np.inf)
            weights = weighed(noisy, scored(theta), prior + np.square(z).sum(axis=1) / 2)
        least = min(least, 1 / float(weights @ weights))
        found.append(theta[rng.choice(len(theta), draws, p=weights)])
    return np.stack(found), least


@lru_cache(maxsize=32)
def _model(known: bool, kind: str, d: int) -> Any:
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl
    import numpyro
    import numpyro.distributions as dist

    def one(theta: Any, root: Any, noisy: Any, n: Any, sd: Any) -> Any:
        mean, covariance = moments(theta, root @ root.T, kind)
        scaled = n * covariance / sd**2 + jnp.eye(len(mean))
        lower = jnp.linalg.cholesky(scaled)  # not a number where the printed moments are impossible
        off = jsl.solve_triangular(lower, (noisy - n * mean) / sd, lower=True)
        value = -off @ off / 2 - jnp.log(jnp.diagonal(lower)).sum()
        return jnp.where(jnp.isfinite(value), value, -1e10)

    def model(noisy: Any, n: Any, sd: Any, cut: Any, scale: Any, root: Any) -> None:
        sets = len(noisy)  # independent posteriors, side by side in one chain
        z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real_matrix, (), (sets, d)))
        square = jnp.square(z).sum(axis=1)
        theta = numpyro.deterministic("theta", cut * z / jnp.sqrt(1 + square)[:, None])
        numpyro.factor("prior", -jnp.square(theta).sum() / 2 - (d / 2 + 1) * jnp.log1p(square).sum())
        if known:
            roots = jnp.broadcast_to(root, (sets, d, d))
        else:
            spread = numpyro.sample("spread", dist.HalfNormal(scale).expand([sets, d]).to_event(2))
            roots = spread[:, :, None] * numpyro.sample("root", dist.LKJCholesky(d, 2.0).expand([sets]).to_event(1))
        numpyro.factor("sums", jax.vmap(one, (0, 0, 0, None, None))(theta, roots, noisy, n, sd).sum())

    return model
