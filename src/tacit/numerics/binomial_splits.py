"""Multinomial counts as a smooth function of nearly normal numbers: what lets counts move along with their chances.

n rows fall into cells, and within a cell into the responses no and yes. The counts (cells, 2) arise by 2 cells - 1
binomial splits: of n into the first cell and the rest, of that rest into the second cell and what is left, ..., and of
every cell by response. A split of m rows with chance p into k and m - k is written, with v uniform on (0, 1), as

    k + v = (m + 1) sin^2(f),     f = arcsin(sqrt(p)) + g / (2 sqrt(m + 1)),

so that g is about standard normal whatever m and p are (Fisher's angle, which makes the variance constant). For small
m an f outside (0, pi/2) is not rare. So three angles are allowed that make the same k + v: f, -f and pi - f for an f
inside. Given k + v, one of the three g that belong to them is drawn with a probability proportional to exp(-g^2 / 2).
Then g has the density P(k) times the slope |d(k + v)/dg| = sqrt(m + 1) |sin(2 f)| / 2 times that probability, which is
exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Splits(NamedTuple):
    """Counts (cells, 2), and for each split the log of what makes P(k) the density of g: -inf where f cannot be."""

    counts: Any
    log_slopes: Any


def split(n: Any, log_chances: Any, g: Any, *, whole: bool) -> Splits:
    """The counts that g (2 cells - 1,) makes of n rows; ``log_chances`` (cells, 2).

    Without ``whole`` they are not rounded down, but half a row taken off: smooth, and right on average.
    """
    cells = log_chances.shape[0]
    first_angles, yes_angles = _angles(log_chances)

    def one(rows: Any, angle: Any, g: Any) -> tuple[Any, Any]:
        width = 2 * jnp.sqrt(rows + 1)
        f = angle + g / width
        k = (rows + 1) * jnp.sin(f) ** 2
        if not whole:
            return k - 0.5, jnp.zeros_like(g)
        logs = -(_choices(jnp.arctan2(jnp.abs(jnp.sin(f)), jnp.abs(jnp.cos(f))), angle, width) ** 2) / 2
        slope = jnp.log(width * jnp.abs(jnp.sin(2 * f)) / 4) - g**2 / 2 - jax.nn.logsumexp(logs, axis=0)
        allowed = (f > -jnp.pi / 2) & (f < jnp.pi)
        return jnp.clip(jnp.floor(k), 0, rows), jnp.where(allowed, slope, -jnp.inf)

    def cell(rows: Any, step: tuple[Any, Any]) -> tuple[Any, tuple[Any, Any]]:
        k, slope = one(rows, *step)
        return rows - k, (k, slope)

    last, (others, slopes) = jax.lax.scan(cell, jnp.asarray(n), (first_angles, g[: cells - 1]))
    totals = jnp.append(others, last)
    yes, more = one(totals, yes_angles, g[cells - 1 :])
    return Splits(jnp.stack([totals - yes, yes], axis=1), jnp.concatenate([slopes, more]))


def scores(counts: Any, log_chances: Any, v: Any, uniform: Any) -> Any:
    """The g that make these counts, given the v of each split; ``uniform`` (2 cells - 1,) picks one of three."""
    cells = counts.shape[0]
    totals = jnp.sum(counts, axis=1)
    rows = jnp.concatenate([jnp.flip(jnp.cumsum(jnp.flip(totals)))[: cells - 1], totals])
    k = jnp.concatenate([totals[: cells - 1], counts[:, 1]])
    inner = jnp.arcsin(jnp.sqrt((k + v) / (rows + 1)))
    g = _choices(inner, jnp.concatenate(_angles(log_chances)), 2 * jnp.sqrt(rows + 1))
    cumulative = jnp.cumsum(jax.nn.softmax(-(g**2) / 2, axis=0), axis=0)
    chosen = jnp.minimum(jnp.sum(cumulative < uniform, axis=0), 2)
    return jnp.take_along_axis(g, chosen[None], axis=0)[0]


def _choices(inner: Any, angle: Any, width: Any) -> Any:
    """The three g whose angles make the same k + v as the ``inner`` one."""
    return width * (jnp.stack([inner, -inner, jnp.pi - inner]) - angle)


def _angles(log_chances: Any) -> tuple[Any, Any]:
    """arcsin(sqrt(p)) of the splits into a cell and all after it, and of those by response."""
    logs = jax.nn.logsumexp(log_chances, axis=1)
    after = jnp.flip(jax.lax.cumlogsumexp(jnp.flip(logs)))[1:]
    first = jnp.arctan(jnp.exp((logs[:-1] - after) / 2))
    return first, jnp.arctan(jnp.exp((log_chances[:, 1] - log_chances[:, 0]) / 2))
