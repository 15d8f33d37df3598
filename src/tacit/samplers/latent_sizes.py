"""Sizes of cells whose total has a flat prior, given one rate that all cells share; and counts drawn given all else.

Sizes with means m_c that are uniform shares of a flat total S have the density S^(1-C), C cells, which is

    integral over r of r^(C-2) exp(-r S) dr / Gamma(C-1),

a product over cells once r is given. So log r is one more unknown of a sampler, whose density has r^(C-1) beside the
cells' own likelihoods with exp(-r m) in each: nothing is approximate in that. A table of the logarithm of such a
likelihood at the Chebyshev nodes of where r can be gives it in between, as a polynomial in log r.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from scipy.stats import gamma

_NODES, _SURE, _FAR = 16, 1e-7, 6.0  # of log r; what its range and that of the total leave out
_CANDIDATES = 64  # counts that one is drawn from
_WITHIN = 1 - 1e-9  # where the arc cosine has a derivative
PLACES = np.cos(math.pi * (np.arange(_NODES) + 0.5) / _NODES)


class Rate(NamedTuple):
    """Where log r can be; its coordinate t is a logit of the share of that."""

    low: Any
    high: Any

    @classmethod
    def of(cls, released: Any, variance: Any, cells: int) -> Rate:
        """From noisy counts that add up to the total, and the sum of the variances of their noise.

        Given a total S, r has a Gamma distribution with shape C - 1 and rate S.
        """
        total = jnp.maximum(jnp.sum(released), 0.0)
        sd = jnp.sqrt(variance + jnp.maximum(total, 1.0))
        least, most = gamma.ppf([_SURE, 1 - _SURE], cells - 1)
        return cls(jnp.log(least / (total + _FAR * sd)), jnp.log(most / jnp.maximum(total - _FAR * sd, 1.0)))

    @property
    def nodes(self) -> Any:
        """r at the nodes."""
        return jnp.exp((self.low + self.high) / 2 + (self.high - self.low) / 2 * jnp.asarray(PLACES))

    def at(self, t: Any) -> tuple[Any, Any, Any]:
        """log r, the log of what a unit of t has of it up to a constant, and `weights` there."""
        share = jax.nn.sigmoid(t)
        return (
            self.low + (self.high - self.low) * share,
            jax.nn.log_sigmoid(t) + jax.nn.log_sigmoid(-t),
            weights(2 * share - 1),
        )


def weights(x: Any) -> Any:
    """The weights of values at `PLACES` in the polynomial through them, at x in [-1, 1]."""
    orders = np.arange(_NODES)
    at_places = np.cos(orders[:, None] * np.arccos(PLACES)) * np.where(orders == 0, 1.0, 2.0)[:, None] / _NODES
    return jnp.cos(orders * jnp.arccos(jnp.clip(x, -_WITHIN, _WITHIN))) @ at_places


def log_both(p: Any, roots: Any, tables: Any) -> Any:
    """ln A(m (1 - p)) + ln B(m p) from tables of both over the root of their mean, and what a step of the root of m has
    of m.
    """
    parts = zip((1 - p, p), tables, strict=True)
    logs = sum(jnp.interp(roots * jnp.sqrt(part), *table, left=-1e3, right=-1e3) for part, table in parts)
    return logs + jnp.log(roots + 1e-12)


def draw_counts(key: Any, problem: Any, released: Any, sizes: Any, eta: Any, rate: Any) -> Any:
    """Both counts of every cell, given its log odds and r: first m from a table, then each count from its own.

    ``released`` are the noisy counts and the scales of their noise, ``sizes`` the arguments ``roots`` and ``tables`` of
    `log_both` for every cell.
    """
    for_size, for_place, for_start, for_count = jax.random.split(key, 4)
    z, scales = released

    def size(one: Any) -> Any:
        (roots, tables), eta, key, uniform = one
        logs = log_both(jax.nn.sigmoid(eta), roots, tables) - rate * roots**2
        found = roots[jax.random.categorical(key, logs)] + (uniform - 0.5) * (roots[1] - roots[0])
        return jnp.maximum(found, 0.0) ** 2

    keys = jax.random.split(for_size, len(eta))
    m = jax.vmap(size)((sizes, eta, keys, jax.random.uniform(for_place, eta.shape)))[:, None]
    p = jax.nn.sigmoid(eta)[:, None]
    mean = m * jnp.concatenate([1 - p, p], axis=1) + 1e-9
    variance = (2.0 if problem.laplace else 1.0) * scales**2
    sd = 1 / jnp.sqrt(1 / (mean + 0.5) + 1 / variance)
    # Every number near, or where they are many one in so many, from a random start.
    step = jnp.maximum(jnp.ceil(16 * sd / _CANDIDATES), 1.0)
    first = jnp.floor(sd**2 * (mean / (mean + 0.5) + z / variance) - step * _CANDIDATES / 2)
    first = jnp.maximum(first, 0.0) + jnp.floor(step * jax.random.uniform(for_start, z.shape))
    counts = first[..., None] + step[..., None] * np.arange(_CANDIDATES)
    logs = xlogy(counts, mean[..., None]) - gammaln(counts + 1)
    logs = logs + problem.log_noise((z[..., None] - counts) / scales[..., None])
    return jnp.take_along_axis(counts, jax.random.categorical(for_count, logs)[..., None], axis=2)[..., 0]
