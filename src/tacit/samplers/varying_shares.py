"""Shares of yes in many groups from noisy counts: counts and sizes summed out cell by cell, NUTS over the few numbers
that all groups share.

A group falls into cells by the levels of other columns, one cell where there are none. Cell c of group g has N rows, of
which b say yes, with probability p = 1 / (1 + exp(-eta)), eta = e_g + x_c'beta, and e_g ~ N(alpha, spread^2). Released
are N - b and b, each with noise. A size with a flat prior is a Poisson number whose mean m is flat: given m and p the
two counts are Poisson numbers with means m (1 - p) and m p, independent of each other. So the likelihood of a cell is

    L(eta) = integral over m of A(m (1 - p)) B(m p),    A(l) = sum over a of Poisson(a; l) noise(z - a),

and A and B are tables of one number. Sums over a are exact where the noise is narrow enough to list all a; else the
Poisson distribution is normal, and its convolution with the noise has a closed form. Sizes are shares of n rows,
uniform on the simplex, each with its own density (1 - m / n)^(cells - 2): that they add up to n is left out. Where n is
not public the total is flat, and sizes are independent given a rate (`latent_sizes`), one more of the few numbers; at
the end the counts of all cells are drawn, and n is their sum.

L is a table over eta. That of a group over e is the product of those of its cells, at e + x_c'beta, each interpolated
in its logarithm; the places of e move with beta to where the cells say that e is. It is linear between its places, so
that its integral against a normal density has a closed form: (alpha, beta, spread) have a density of few numbers, and
e_g is drawn from its own table given them. No coordinate belongs to a group, so there are no funnels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln, log_ndtr, ndtr, ndtri, xlogy

from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.latent_sizes import Rate, draw_counts, log_both

_ETAS, _SIZES, _MEANS = 128, 96, 256  # places of the tables of L, of its integral over m, and of A and B
_PLACES = 160  # of a group's table where it has several cells
_LISTED = 512  # counts that a sum over all of them has; wider noise takes the normal distribution
_SDS, _FARTHEST = 8.0, 12.0  # how far the table of L reaches: in its sds, and at most in log odds
_REACH = 14.0  # scales of noise
_LEAST_LOG = -1e4  # of a table, in place of minus infinity


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """What is known beside a release: ``n`` rows, or None; the scale of the noise on both counts (cells of all groups,
    2); the design ``x`` (cells of a group, coefficients) without the constant.
    """

    n: float | None
    scales: Any
    laplace: bool
    x: Any = field(default_factory=lambda: np.zeros((1, 0)))

    def log_noise(self, residual: Any) -> Any:
        """The log density at residuals over their scale, up to a constant."""
        return -jnp.abs(residual) if self.laplace else -(residual**2) / 2


@dataclass(frozen=True)
class SharesPrior:
    """Sds of the mean of the levels and of other coefficients, and the scale of the half-normal spread."""

    level: float
    slope: float
    spread: float


def varying_shares_chain(problem: GroupCounts, prior: SharesPrior, settings: SamplerSettings) -> Chain:
    """Draws of ``theta``, ``spread``, and by group of ``effect`` and ``group_share``, in a row of zeros of x; of ``n``
    where it is latent.
    """
    count, k = problem.x.shape
    groups, latent = len(problem.scales) // count, problem.n is None
    scales, n = argument(problem.scales), argument([problem.n or 1.0])
    every = groups * count

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(every, 2)
        rate = Rate.of(z, (2.0 if problem.laplace else 1.0) * jnp.sum(scales**2), every)

        def log_sizes(m: Any) -> Any:
            """The log density of the size of a cell: one where n is known, else for each node of the rate."""
            if latent:
                return -rate.nodes[:, None] * m
            return jnp.where(m < n, (every - 2) * jnp.log1p(-jnp.minimum(m / n, 1 - 1e-9)), -jnp.inf)[None]

        etas, logs, sizes = jax.lax.map(lambda one: _table(problem, one[0], one[1], log_sizes), (z, scales))
        whole = _Cells.of(problem.x, etas.reshape(groups, count, -1), logs[:, 0].reshape(groups, count, -1))

        def cells_at(t: Any) -> tuple[_Cells, Any, Any]:
            """The cells, what else is in the log density, and log r."""
            if not latent:
                return whole, 0.0, 0.0
            log_rate, volume, weights = rate.at(0.4 * t["rate"])
            found = whole.with_logs(jnp.einsum("k,ckp->cp", weights, logs).reshape(groups, count, -1))
            return found, volume + (every - 1) * log_rate, log_rate

        cells = cells_at({"rate": 0.0})[0]
        about, root = cells.start(prior.slope)
        middles = cells.places(about)[0]
        centre = jnp.clip(jnp.mean(middles), -6.0, 6.0)
        wide = jnp.sqrt(jnp.var(middles) / groups) + 0.02

        def named(t: Arrays) -> tuple[Any, Any, Any]:
            return centre + wide * t["alpha"], about + root @ t["beta"] if k else about, 0.3 * t["spread"]

        def log_density(t: Any) -> Any:
            alpha, beta, spread = named(t)
            cells, of_rate, _ = cells_at(t)
            etas, values, log_scale = cells.by_group(beta)
            held = jnp.sum(_pieces(etas, values, alpha, jnp.abs(spread) + 1e-6)[0], axis=1)
            found = jnp.sum(jnp.log(jnp.maximum(held, 1e-300)) + log_scale) - jnp.sum((beta / prior.slope) ** 2) / 2
            return of_rate + found - (alpha / prior.level) ** 2 / 2 - (spread / prior.spread) ** 2 / 2

        for_start, for_chain, for_draws = jax.random.split(key, 3)
        normal = jax.random.normal(for_start, (2 + k,))
        start = {"alpha": 0.3 * normal[0], "spread": 1.5 + 0.3 * normal[1]}
        start |= {"beta": 0.3 * normal[2:]} if k else {}
        start |= {"rate": jnp.zeros(())} if latent else {}
        positions, info = explore(for_chain, log_density, start, settings, target=0.9, dense=k > 0)

        def draw(one: Any) -> Arrays:
            t, key = one
            alpha, beta, spread = named(t)
            spread = jnp.abs(spread) + 1e-6
            cells, _, log_rate = cells_at(t)
            masses, ends = _pieces(*cells.by_group(beta)[:2], alpha, spread)
            for_piece, for_place, *for_counts = jax.random.split(key, 2 + latent)
            piece = jax.random.categorical(for_piece, jnp.log(jnp.maximum(masses, 1e-300)), axis=1)[:, None]
            low, high = (jnp.take_along_axis(one, piece, axis=1)[:, 0] for one in (ends[:, :-1], ends[:, 1:]))
            between = jax.random.uniform(for_place, (groups,), minval=1e-12, maxval=1 - 1e-12)
            eta = alpha + spread * _truncated((low - alpha) / spread, (high - alpha) / spread, between)
            found = {
                "theta": jnp.concatenate([alpha[None], beta]),
                "spread": spread,
                "effect": eta - alpha,
                "group_share": jax.nn.sigmoid(eta),
            }
            if not latent:
                return found
            of_cells = (eta[:, None] + problem.x @ beta).reshape(-1)
            counts = draw_counts(for_counts[0], problem, (z, scales), sizes, of_cells, jnp.exp(log_rate))
            return {**found, "n": jnp.sum(counts)}

        keys = jax.random.split(for_draws, settings.draws)
        return jax.lax.map(draw, (positions, keys), batch_size=16), info

    return chain


@dataclass(frozen=True, eq=False)
class _Cells:
    """The tables of all cells: places and logarithms (groups, cells, places), about where each has its largest value
    and how wide it is there (groups, cells).
    """

    x: Any
    etas: Any
    logs: Any
    middle: Any
    weight: Any

    @staticmethod
    def of(x: Any, etas: Any, logs: Any) -> _Cells:
        wide = (etas[..., -1] - etas[..., 0]) / (2 * _SDS)
        return _Cells(x, etas, jnp.maximum(logs, _LEAST_LOG), jnp.mean(etas[..., [0, -1]], axis=-1), wide**-2)

    def with_logs(self, logs: Any) -> _Cells:
        """The same with other tables at the same places."""
        return replace(self, logs=logs)

    def start(self, slope: float) -> tuple[Any, Any]:
        """About where beta is, and a root of its covariance: least squares with a number of its own for each group."""
        k = self.x.shape[1]
        if not k:
            return jnp.zeros(0), jnp.zeros((0, 0))
        share = self.weight / jnp.sum(self.weight, axis=1, keepdims=True)
        away = self.x - jnp.einsum("gc,ck->gk", share, jnp.asarray(self.x))[:, None]
        precision = jnp.einsum("gc,gck,gcl->kl", self.weight, away, away) + jnp.eye(k) / slope**2
        about = jnp.linalg.solve(precision, jnp.einsum("gc,gck,gc->k", self.weight, away, self.middle))
        half = jnp.linalg.cholesky(precision)
        return about, solve_triangular(half, jnp.eye(k), lower=True, trans=1)

    def places(self, beta: Any) -> tuple[Any, Any]:
        """About where e is in each group, and how well the cells say it."""
        total = jnp.sum(self.weight, axis=1)
        return jnp.sum(self.weight * (self.middle - self.x @ beta), axis=1) / total, 1 / jnp.sqrt(total)

    def by_group(self, beta: Any) -> tuple[Any, Any, Any]:
        """The places of e in each group, the likelihood there over its largest value, and the logarithm of that."""
        if len(self.x) == 1:
            largest = jax.lax.stop_gradient(jnp.max(self.logs[:, 0], axis=1))
            return self.etas[:, 0], jnp.exp(self.logs[:, 0] - largest[:, None]), largest
        middle, wide = self.places(beta)
        low = jnp.clip(middle - _SDS * wide, -_FARTHEST, _FARTHEST - 1)
        high = jnp.clip(middle + _SDS * wide, 1 - _FARTHEST, _FARTHEST)
        found = low[:, None] + (high - low)[:, None] * jnp.linspace(0, 1, _PLACES)
        first, last = self.etas[..., :1], self.etas[..., -1:]
        at = (found[:, None] + (self.x @ beta)[:, None] - first) / (last - first) * (_ETAS - 1)
        at = jnp.clip(at, 0.0, _ETAS - 1.0)
        before = jnp.clip(jnp.floor(at).astype(int), 0, _ETAS - 2)
        lower, upper = (jnp.take_along_axis(self.logs, before + i, axis=2) for i in (0, 1))
        logs = jnp.sum(lower + (at - before) * (upper - lower), axis=1)
        largest = jax.lax.stop_gradient(jnp.max(logs, axis=1))
        return found, jnp.exp(logs - largest[:, None]), largest


def _pieces(etas: Any, values: Any, alpha: Any, spread: Any) -> tuple[Any, Any]:
    """The integral of L times the normal density over each piece between places; and the places."""
    u = (etas - alpha) / spread
    below, density = ndtr(u), jnp.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    # Beyond the middle differences of upper tails, which do not cancel.
    mass = jnp.where(u[:, :-1] > 0, ndtr(-u[:, :-1]) - ndtr(-u[:, 1:]), below[:, 1:] - below[:, :-1])
    first = alpha * mass - spread * (density[:, 1:] - density[:, :-1])
    rise = (values[:, 1:] - values[:, :-1]) / (etas[:, 1:] - etas[:, :-1])
    found = values[:, :-1] * mass + rise * (first - etas[:, :-1] * mass)
    return jnp.maximum(found, 0.0), etas


def _truncated(low: Any, high: Any, uniform: Any) -> Any:
    """Standard normal numbers between two ends; by their place between the ends where both are far out."""
    turned = low > 0
    a, b = jnp.where(turned, -high, low), jnp.where(turned, -low, high)
    found = ndtri(jnp.clip(ndtr(a) + uniform * (ndtr(b) - ndtr(a)), 1e-300, 1 - 1e-16))
    found = jnp.clip(jnp.where(b < -30, a + uniform * (b - a), found), a, b)
    return jnp.where(turned, -found, found)


def _table(problem: GroupCounts, z: Any, scales: Any, log_sizes: Any) -> tuple[Any, Any, Any]:
    """The places of eta of one cell, and ln L there (densities of its size, places) for each of ``log_sizes`` of m;
    then the places of the root of m, and the tables of `_log_count` of both counts.
    """
    variance = (2.0 if problem.laplace else 1.0) * scales**2
    held = jnp.maximum(z, 0.0)
    # About where the log odds are and how well the counts say it.
    share = (held[1] + 0.5) / (jnp.sum(held) + 1.0)
    sds = jnp.sqrt(variance + held + 1.0)
    size = jnp.sum(held) + 1.0
    wide = jnp.sqrt((sds[1] * (1 - share)) ** 2 + (sds[0] * share) ** 2) / (size * share * (1 - share))
    middle = jnp.log(share) - jnp.log1p(-share)
    low = jnp.maximum(middle - _SDS * wide, -_FARTHEST)
    high = jnp.minimum(middle + _SDS * wide, _FARTHEST)
    etas = jnp.linspace(low, high, _ETAS)
    tables = [_log_count(problem, z[i], scales[i]) for i in range(2)]
    sd = jnp.sqrt(jnp.sum(variance) + size)
    least, most = jnp.maximum(jnp.sum(z) - 10 * sd, 0.0), jnp.maximum(jnp.sum(z), 0.0) + 10 * sd + 5.0
    roots = jnp.linspace(jnp.sqrt(least), jnp.sqrt(most), _SIZES)
    logs = log_both(jax.nn.sigmoid(etas)[:, None], roots, tables)
    found = jax.lax.map(lambda own: jax.nn.logsumexp(logs + own, axis=1), log_sizes(roots**2))
    return etas, found, (roots, tables)


def _log_count(problem: GroupCounts, z: Any, scale: Any) -> tuple[Any, Any]:
    """Roots of means, and the log of A there up to a constant."""
    reach = _REACH * scale + 4.0
    middle = jnp.maximum(z, 0.0)
    low, high = jnp.maximum(z - reach, 0.0), middle + reach
    roots = jnp.linspace(
        jnp.sqrt(jnp.maximum(low - 6 * jnp.sqrt(low + 1), 0.0)), jnp.sqrt(high + 6 * jnp.sqrt(high + 1)), _MEANS
    )
    means = roots**2
    first = jnp.maximum(jnp.floor(middle) - _LISTED // 2, 0.0)
    counts = first + jnp.arange(_LISTED)
    terms = xlogy(counts, means[:, None]) - means[:, None] - gammaln(counts + 1)
    listed = jax.nn.logsumexp(terms + problem.log_noise((z - counts) / scale), axis=1)
    away, sd = z - means, jnp.sqrt(means + 1e-9)
    if problem.laplace:
        up, down = (log_ndtr(side * away / sd - sd / scale) - side * away / scale for side in (1.0, -1.0))
        wide = (sd / scale) ** 2 / 2 + jnp.logaddexp(up, down)
    else:
        wide = -(away**2) / (2 * (means + scale**2)) + jnp.log(scale**2 / (means + scale**2)) / 2
    return roots, jnp.where(reach < _LISTED / 2, listed, wide)
