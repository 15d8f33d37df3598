"""A distribution of covariates between their bounds whose shape is learned.

In mapped units the bounds are -1 and 1. One number has a mean mu, a variance V and the density, between the bounds,

    p(x) proportional to exp(lambda_1 u + lambda_2 u^2 + sum_j c_j P_j(tanh(u / 2))),    u = (x - mu) / sqrt(V),

P_j Legendre polynomials, j = 3, 4, ..., and lambda such that mean and variance are mu and V. With c = 0 that is the
distribution of most entropy with this mean and variance: normal where the bounds are far, exponential or uniform where
they are near, and two lumps at the ends for a large V. The series makes it skewed, lumpy or long-tailed. Several
numbers depend on each other by a normal copula with correlations C.

Prior: mu uniform on the bounds; V / (1 - mu^2), the share of the largest variance that is possible, has a normal logit
with mean -1 and standard deviation 1.6; c_j ~ N(0, 4 / (j - 2)); C ~ LKJ(2). Coordinates t are standard normal under
it, and the partial correlations of C (Lewandowski, Kurowicka and Joe 2009) nearly so, as tanh(width t). That mean and
variance are coordinates keeps a posterior straight: many reports fix them and say little about the shape.

The distribution is held as shares of the points of a grid, which moves with it: so many standard deviations to either
side of the mean, where that lies between the bounds. Of one number mean and variance are exact; of several the copula
is one of ranks on the grid, with variances some percent off.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import ndtr, ndtri
from scipy.special import polygamma

from tacit.likelihoods.design_moments import RowDistribution

SHARE, SHARE_SD, AMPLITUDE, SHAPE = -1.0, 1.6, 2.0, 2.0
_STEPS, _RIDGE = 16, 1e-9
_LENGTHS, _TARGET = np.array([1.0, 0.4, 0.1, 0.02, 0.0]), np.array([0.0, 1.0])


class Resolution(NamedTuple):
    """``points`` on each axis, how many standard deviations they ``reach``, and how many terms the ``series`` has."""

    points: int
    reach: float
    series: int


RESOLUTIONS = {
    1: Resolution(48, 6.5, 6),
    2: Resolution(24, 5.0, 4),
    3: Resolution(14, 4.0, 3),
    4: Resolution(11, 3.5, 2),
}


class GridShares(NamedTuple):
    """Points on each axis (d, M), and the shares (M, ..., M) of the points of their tensor grid."""

    axes: Any
    shares: Any


class LearnedCovariates:
    """Between t and the distribution of d numbers."""

    def __init__(self, d: int) -> None:
        self.d, self.resolution = d, RESOLUTIONS[d]
        self.below = np.tril_indices(d, -1)
        self.exponents = SHAPE + (d - 2 - self.below[1]) / 2  # b of each partial correlation
        self.widths = np.sqrt(polygamma(1, self.exponents) / 2)
        self.lengths = (d, d, d * self.resolution.series, len(self.exponents))
        self.size = sum(self.lengths)
        self.points = -np.cos(math.pi * np.arange(self.resolution.points) / (self.resolution.points - 1))
        between = (self.points[1:] + self.points[:-1]) / 2
        self.log_cells = np.log(np.diff(between, prepend=-1.0, append=1.0))

    def log_prior(self, t: Any) -> Any:
        """The density of the prior with respect to t, up to a constant."""
        *normal, partials = self._split(t)
        cosh = jnp.logaddexp(self.widths * partials, -self.widths * partials)
        return -sum(jnp.sum(part**2) for part in normal) / 2 - jnp.sum(2 * self.exponents * cosh)

    def grid(self, t: Any) -> GridShares:
        """The shares of the grid."""
        means, variances, series, partials = self._parts(t)
        axes, alone = jax.vmap(self._one)(means, variances, series)
        d = self.d
        if d == 1:
            return GridShares(axes, alone[0])
        below = jnp.cumsum(alone, axis=1) - alone / 2
        normal = ndtri(jnp.clip(below, 1e-12, 1 - 1e-12))
        tensor = jnp.stack(jnp.meshgrid(*normal, indexing="ij")).reshape(d, -1)
        away = solve_triangular(self._root(partials), tensor, lower=True)
        logs = jnp.sum(tensor**2 - away**2, axis=0).reshape((self.resolution.points,) * d) / 2
        for a in range(d):
            logs = logs + jnp.log(alone[a] + 1e-300).reshape([-1 if b == a else 1 for b in range(d)])
        return GridShares(axes, jax.nn.softmax(logs.reshape(-1)).reshape(logs.shape))

    def distribution(self, t: Any) -> RowDistribution:
        """Mean and covariance, as those of one cell."""
        axes, shares = self.grid(t)
        points = jnp.stack(jnp.meshgrid(*axes, indexing="ij")).reshape(self.d, -1)
        weights = shares.reshape(-1)
        mean = points @ weights
        moved = points - mean[:, None]
        covariance = (moved * weights) @ moved.T
        root = jnp.linalg.cholesky(covariance + 1e-12 * jnp.eye(self.d))
        return RowDistribution(probabilities=jnp.ones(1), means=mean[None, :], root=root)

    def moments(self, t: Any) -> tuple[Any, Any]:
        """Means and variances (d,) of the numbers, the copula's error left out."""
        means, variances, _, _ = self._parts(t)
        return means, variances

    def _split(self, t: Any) -> list[Any]:
        return jnp.split(t, np.cumsum(self.lengths)[:-1])

    def _parts(self, t: Any) -> tuple[Any, Any, Any, Any]:
        places, shares, series, partials = self._split(t)
        means = 2 * ndtr(places) - 1
        variances = jax.nn.sigmoid(SHARE + SHARE_SD * shares) * 4 * ndtr(places) * ndtr(-places)
        return means, variances, series.reshape(self.d, -1), partials

    def _one(self, mean: Any, variance: Any, series: Any) -> tuple[Any, Any]:
        """Points of one axis and their shares."""
        sd = jnp.sqrt(variance)
        # A number whose mean is near one end and whose variance is large reaches far to the other side.
        low = jnp.maximum(mean - sd * (self.resolution.reach + 3 * sd / (1 - mean)), -1.0)
        high = jnp.minimum(mean + sd * (self.resolution.reach + 3 * sd / (1 + mean)), 1.0)
        x = (low + high) / 2 + (high - low) / 2 * self.points
        u = (x - mean) / sd
        orders = np.arange(self.resolution.series)
        base = self.log_cells + (series * AMPLITUDE / np.sqrt(orders + 1)) @ _legendre(jnp.tanh(u / 2), len(orders))
        features = jnp.stack([u, u**2])

        def newton(multipliers: Any, base: Any, features: Any) -> Any:
            shares = jax.nn.softmax(base + multipliers @ features)
            off = features @ shares
            spread = (features * shares) @ features.T - jnp.outer(off, off) + _RIDGE * jnp.eye(2)
            residual = _TARGET - off
            (a, b), (_, c) = spread
            return jnp.stack([c * residual[0] - b * residual[1], a * residual[1] - b * residual[0]]) / (a * c - b * b)

        def search(_: int, now: Any) -> Any:
            """A Newton step for the multipliers' convex objective, of the length that lowers it most."""
            tried = now + _LENGTHS[:, None] * newton(now, *fixed)
            value = jax.nn.logsumexp(fixed[0] + tried @ fixed[1], axis=1) - tried @ _TARGET
            return tried[jnp.argmin(value)]

        fixed = jax.lax.stop_gradient((base, features))
        start = jnp.array([0.0, -0.5])
        found = jax.lax.stop_gradient(jax.lax.fori_loop(0, _STEPS, search, start))
        for _ in range(2):  # at a root the first step has its first derivatives, and the second one the second ones
            step = newton(found, base, features)
            found = found + jnp.where(jnp.max(jnp.abs(step)) < 1, step, 0.0)
        return x, jax.nn.softmax(base + found @ features)

    def _root(self, partials: Any) -> Any:
        """The Cholesky factor of C."""
        chosen = jnp.zeros((self.d, self.d)).at[self.below].set(jnp.tanh(self.widths * partials))
        rest = jnp.cumprod(jnp.sqrt(1 - chosen**2), axis=1)
        before = jnp.concatenate([jnp.ones((self.d, 1)), rest], axis=1)[:, : self.d]
        return (chosen + jnp.eye(self.d)) * before


def _legendre(v: Any, count: int) -> Any:
    """P_3, P_4, ... (count, M) at ``v``."""
    found = [jnp.ones_like(v), v]
    for j in range(1, count + 2):
        found.append(((2 * j + 1) * v * found[j] - j * found[j - 1]) / (j + 1))
    return jnp.stack(found[3:])
