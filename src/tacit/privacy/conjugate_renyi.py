"""Renyi divergences of conjugate posteriors (geumlek2017), in a form that does not cancel.

For a family with log-partition C and two members P and Q, v = P - Q in natural parameters and g(s) = C(Q + s v),

    D_a(P || Q) = [g(a) - a g(1)] / (a - 1) + g(0)                                    (geumlek2017, Observation A.3)
                = int_0^1 s g''(s) ds + 1/(a - 1) int_1^a (a - s) g''(s) ds,          g''(s) = v' C''(Q + s v) v

Proof: integrate by parts twice. The first form takes differences of log-gammas that are far larger than the result; in
float64 it gives 0, negative or too small values. The second has only positive terms, down to a = 1, where it is the
Kullback-Leibler divergence. It is infinite where Q + a v leaves the domain.

For one coordinate with log-gamma partition (a Beta, Dirichlet or Gamma shape) g'' = v^2 psi1(q + s v), psi1 the
trigamma function. psi1(x) = 1/x^2 + psi1(x + 1): the first term, which is singular at 0, is integrated in closed form
(`log_part`); the second by Gauss-Legendre on panels that double in x + 1. Arguments are exact rationals, so nothing
cancels before the last float operations. The relative error is below 1e-13.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

_SHIFT = 12
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


@lru_cache(maxsize=1)
def _rule() -> tuple[Any, Any]:
    """Nodes and weights of Gauss and Legendre; numpy is loaded when a price needs it, not to read a ledger."""
    from numpy.polynomial.legendre import leggauss

    return leggauss(16)


def trigamma(x: Any) -> Any:
    """psi1(x), x > 0: twelve steps of psi1(x) = 1/x^2 + psi1(x + 1), then the asymptotic series, to 1e-15."""
    import numpy as np

    steps = x[..., None] + np.arange(_SHIFT)
    y = x + _SHIFT
    square = 1 / (y * y)
    tail = np.zeros_like(y)
    for bernoulli in reversed(_BERNOULLI):
        tail = (tail + bernoulli) * square
    return np.sum(1 / (steps * steps), axis=-1) + 1 / y + square / 2 + tail / y


def shape_divergence(q: Fraction, v: Fraction, order: Fraction) -> float:
    """What a coordinate that is q in Q and q + v in P adds to D_order, g'' = v^2 psi1; inf if q + order v <= 0.

    This is D_order of Gamma distributions of one rate and shapes q + v and q; two such terms make the divergence of
    Beta distributions.
    """
    if v == 0:
        return 0.0
    if q + order * v <= 0 or q <= 0:
        return math.inf
    inside = _smooth_part(q, v, Fraction(0), Fraction(1), rising=True)
    if order > 1:
        inside += _smooth_part(q, v, Fraction(1), order, rising=False) / float(order - 1)
    return inside + log_part(v / q, order)


def log_part(d: Fraction, order: Fraction) -> float:
    """[a log(1 + d) - log(1 + a d)] / (a - 1), a = ``order``; inf if 1 + a d <= 0.

    It is D_a of exponential distributions with rates (1 + d) q and q.

    Written as log(1 + d) - log(1 + (a - 1) d / (1 + d)) / (a - 1); for small a d by the integral form, whose integrand
    d^2 / (1 + s d)^2 is far from its pole then.
    """
    if d == 0:
        return 0.0
    if 1 + order * d <= 0 or 1 + d <= 0:
        return math.inf
    if abs(order * d) <= Fraction(1, 2):
        nodes, weights = _rule()
        small, a = float(d), float(order)
        s = (1 + nodes) / 2
        first = float(sum(weights / 2 * s / (1 + s * small) ** 2))
        width = float(order - 1)
        t = 1 + width * s
        # (a - s) over (a - 1) is 1 minus the share of the way, so the factor a - 1 cancels.
        second = width * float(sum(weights / 2 * (1 - s) / (1 + t * small) ** 2)) if a > 1 else 0.0
        return small * small * (first + second)
    if order == 1:
        return _log1p(d) - float(d / (1 + d))
    return _log1p(d) - _log1p((order - 1) * d / (1 + d)) / float(order - 1)


def _log1p(x: Fraction) -> float:
    return math.log1p(float(x)) if abs(x) < Fraction(1, 2) else math.log(float(1 + x))


def _smooth_part(q: Fraction, v: Fraction, first: Fraction, last: Fraction, *, rising: bool) -> float:
    """int over s in [first, last] of w(s) v^2 psi1(q + s v + 1), w = s - first if ``rising`` else last - s."""
    import numpy as np

    nodes, weights = _rule()
    start, length = float(q + first * v) + 1, float((last - first) * v)
    growth = math.log1p(length / start)
    panels = max(1, math.ceil(abs(growth) / math.log(2)))
    edges = start * np.expm1(growth * np.arange(panels + 1) / panels)  # how far from the start, in x = q + s v
    edges[-1] = length
    half = np.diff(edges)[:, None] / 2
    away = edges[:-1, None] + half * (1 + nodes)
    weight = away if rising else length - away  # v times w(s); ds = dx / v takes the other v
    return float(np.sum(half * weights * weight * trigamma(start + away)))


def gaussian_mu_squared(weight: Fraction, width: Fraction, variance: Fraction, precision: Fraction, n: int) -> Fraction:
    """mu^2 of a draw of a normal mean: (r w / s2)^2 / (1/t2 + r n / s2).

    Proof: with data weight r = ``weight``, known variance s2 and prior precision 1/t2, the posterior is normal with
    precision 1/t2 + r n / s2, which no record changes, and a mean that moves by r (x - x') / s2 over that precision.
    Records lie in an interval of length w = ``width`` (for [-B, B] this is 2B; geumlek2017 prints B and so understates
    epsilon four times), so the two distributions are N(0, 1) and N(mu, 1) up to scale, exactly. []
    """
    return (weight * width / variance) ** 2 / (precision + weight * n / variance)
