"""Shares of yes in many groups from noisy counts: counts and sizes summed out group by group, NUTS over the few numbers
that all groups share.

Group g has N rows, of which b say yes, with probability p = 1 / (1 + exp(-eta_g)); eta_g ~ N(alpha, spread^2). Released
are N - b and b, each with noise. A size with a flat prior is a Poisson number whose mean m is flat: given m and p the
two counts are Poisson numbers with means m (1 - p) and m p, independent of each other. So the likelihood of a group is

    L(eta) = integral over m of A(m (1 - p)) B(m p),    A(l) = sum over a of Poisson(a; l) noise(z - a),

and A and B are tables of one number. Sums over a are exact where the noise is narrow enough to list all a; else the
Poisson distribution is normal, and its convolution with the noise has a closed form. Sizes are shares of n rows,
uniform on the simplex, each with its own density (1 - m / n)^(G - 2): that they add up to n is left out. Where n is
not public the total is flat, and sizes are independent given a rate (`latent_sizes`), one more of the few numbers; at
the end the counts of all groups are drawn, and n is their sum.

L is a table over eta that is linear between its places, so that its integral against a normal density has a closed
form: (alpha, spread) have a density of few numbers, and eta_g is drawn from its own table given them. No coordinate
belongs to a group, so there are no funnels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln, log_ndtr, ndtr, ndtri, xlogy

from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.latent_sizes import Rate, draw_counts, log_both

_ETAS, _SIZES, _MEANS = 128, 96, 256  # places of the tables of L, of its integral over m, and of A and B
_LISTED = 512  # counts that a sum over all of them has; wider noise takes the normal distribution
_SDS, _FARTHEST = 8.0, 12.0  # how far the table of L reaches: in its sds, and at most in log odds
_REACH = 14.0  # scales of noise
_LEAST_LOG = -1e4  # of a table, in place of minus infinity


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """What is known beside a release: ``n`` rows, or None; the scale of the noise on both counts of a group."""

    n: float | None
    scales: Any
    laplace: bool

    def log_noise(self, residual: Any) -> Any:
        """The log density at residuals over their scale, up to a constant."""
        return -jnp.abs(residual) if self.laplace else -(residual**2) / 2


def varying_shares_chain(problem: GroupCounts, level: float, scale: float, settings: SamplerSettings) -> Chain:
    """Draws of ``theta``, ``spread``, and by group of ``effect`` and ``group_share``; of ``n`` where it is latent."""
    groups, latent = len(problem.scales), problem.n is None
    scales, n = argument(problem.scales), argument([problem.n or 1.0])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(groups, 2)
        rate = Rate.of(z, (2.0 if problem.laplace else 1.0) * jnp.sum(scales**2), groups)

        def log_sizes(m: Any) -> Any:
            """The log density of the size of a group: one where n is known, else for each node of the rate."""
            if latent:
                return -rate.nodes[:, None] * m
            return jnp.where(m < n, (groups - 2) * jnp.log1p(-jnp.minimum(m / n, 1 - 1e-9)), -jnp.inf)[None]

        etas, logs, sizes = jax.lax.map(lambda one: _table(problem, one[0], one[1], log_sizes), (z, scales))
        middles = jnp.mean(etas[:, jnp.array([0, -1])], axis=1)
        centre = jnp.clip(jnp.mean(middles), -6.0, 6.0)
        wide = jnp.sqrt(jnp.var(middles) / groups) + 0.02

        def tables(t: Any) -> tuple[Any, Any, Any, Any]:
            """The likelihood of each group over its largest value, the logarithm of that, what else is in the log
            density, and log r.
            """
            own, value, log_rate = logs[:, 0], 0.0, 0.0
            if latent:
                log_rate, volume, weights = rate.at(0.4 * t["rate"])
                own, value = jnp.einsum("k,gkp->gp", weights, logs), volume + (groups - 1) * log_rate
            own = jnp.maximum(own, _LEAST_LOG)
            largest = jax.lax.stop_gradient(jnp.max(own, axis=1))
            return jnp.exp(own - largest[:, None]), largest, value, log_rate

        def log_density(t: Any) -> Any:
            alpha, spread = centre + wide * t["alpha"], 0.3 * t["spread"]
            values, largest, of_rate, _ = tables(t)
            held = jnp.sum(_pieces(etas, values, alpha, jnp.abs(spread) + 1e-6)[0], axis=1)
            found = jnp.sum(jnp.log(jnp.maximum(held, 1e-300)) + largest)
            return of_rate + found - (alpha / level) ** 2 / 2 - (spread / scale) ** 2 / 2

        for_start, for_chain, for_draws = jax.random.split(key, 3)
        normal = jax.random.normal(for_start, (2,))
        start = {"alpha": 0.3 * normal[0], "spread": 1.5 + 0.3 * normal[1]}
        start |= {"rate": jnp.zeros(())} if latent else {}
        positions, info = explore(for_chain, log_density, start, settings, target=0.9)

        def draw(one: Any) -> Arrays:
            t, key = one
            alpha, spread = centre + wide * t["alpha"], jnp.abs(0.3 * t["spread"]) + 1e-6
            values, _, _, log_rate = tables(t)
            masses, ends = _pieces(etas, values, alpha, spread)
            for_piece, for_place, *for_counts = jax.random.split(key, 2 + latent)
            piece = jax.random.categorical(for_piece, jnp.log(jnp.maximum(masses, 1e-300)), axis=1)[:, None]
            low, high = (jnp.take_along_axis(one, piece, axis=1)[:, 0] for one in (ends[:, :-1], ends[:, 1:]))
            between = jax.random.uniform(for_place, (groups,), minval=1e-12, maxval=1 - 1e-12)
            eta = alpha + spread * _truncated((low - alpha) / spread, (high - alpha) / spread, between)
            found = {
                "theta": alpha[None],
                "spread": spread,
                "effect": eta - alpha,
                "group_share": jax.nn.sigmoid(eta),
            }
            if not latent:
                return found
            counts = draw_counts(for_counts[0], problem, (z, scales), sizes, eta, jnp.exp(log_rate))
            return {**found, "n": jnp.sum(counts)}

        keys = jax.random.split(for_draws, settings.draws)
        return jax.lax.map(draw, (positions, keys), batch_size=16), info

    return chain


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
    """The places of eta of one group, and ln L there (densities of its size, places) for each of ``log_sizes`` of m;
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
