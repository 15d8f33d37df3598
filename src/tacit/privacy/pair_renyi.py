"""The Renyi divergence of a subsampled Gaussian's dominating pair, rounded up, by a trapezoidal rule whose error is
proved.

With a the order, r = P/Q - 1 and F = P^a Q^{1-a}, D_a = ln(1 + I) / (a - 1), where I is the integral over the line of

    g = Q ((1 + r)^a - 1 - a r) = F - Q - a (P - Q) >= 0            1 + I is the integral of F

g is not negative, as (1 + r)^a lies above its tangent, so nothing cancels however small the rate is.

Step. P = N (A + c w) and Q = N (A + c/w), N the density of N(0, s^2), A = 1 - q, c = q e^{-1/(2 s^2)} and w =
e^{x/s^2}. At x + iy put t = y / s^2: |N| = N(x) e^{y^2/(2 s^2)}, and for B > 0 (A + B) cos(t/2) <= |A + B e^{it}| <= A
+ B, as the square in the middle is (A + B)^2 - 4 A B sin^2(t/2). So for |t| < pi F is analytic, and |g| is at most

    e^{y^2 / (2 s^2)} [cos(t/2)^{-(a-1)} F(x) + (1 + 2a) (P(x) + Q(x)) / 2],

whose integral is at most (2 + 2a) e^{y^2/(2 s^2)} cos(t/2)^{-(a-1)} (1 + I). A trapezoidal rule of step h over the line
is then off by at most twice that over e^{2 pi y/h} - 1 (Trefethen and Weideman 2014, Theorem 5.1). With y = v s and
v <= 2s, -ln cos(v / (2s)) <= 0.616 (v / (2s))^2, so the error is at most 4.1 (1 + a) e^{-E} (1 + I),

    E = 2 pi v s/h - C v^2,        C = 1/2 + 0.154 (a - 1) / s^2,

and s/h is chosen so that E >= 80 at the best v <= 2s.

Ends. Below -1 - 12s, r is in [-1, 0] and the bracket of g at most a - 1, so what is left out is below (a - 1) 2e-33.
(ln F)' <= (a - x + (a - 1) B(x)) / s^2, B = (c/w) / (A + c/w) falling with x; so from x_0 = a + (a - 1) B(a) on F falls
at least like exp(-(x - x_0)^2 / (2 s^2)), and what is left out above x_0 + 13 s is below 1.6e-38 s F(x_0). As
(ln F)' >= -x / s^2, 1 + I is at least F(x_0) s^2 / (2 (x_0 + s)). So this is below 3.2e-32 (1 + I) where
x_0 + s < 1e6 s. In all, I <= (sum + d) / (1 - d) with d = 2.5e-32 (1 + a).

Rounding. r is c 2 sinh(x/s^2) / (A + c/w), a product of positive factors, and the bracket of g is written as

    (1 + r) (e^z - 1 - z) + (a - 1) ((1 + r) ln(1 + r) - r),        z = (a - 1) ln(1 + r),

two terms that are not negative. Let u be 2^-53 times the sizes of the logarithms that r is made of. r is off by a few u
of itself, ln(1 + r) by as much and by min(1, |r|) times that absolutely, so the logarithm of the bracket is off by a
few (a - 1) min(1, |r|) + 5 times u. Every term of the sum is raised by more. []
"""

from __future__ import annotations

import math
from typing import Any

_STRIP = 80.0  # E
_POINTS = 2**18  # at a time
_MOST_POINTS = 2**24
_UNIT = 2.0**-49  # sixteen roundings


def renyi(multiplier: float, rate: float, order: float) -> float:
    """An upper bound on D_a(P || Q), a = ``order``; by a part in 10^9 or less where D (a - 1) > 1e-22 (1 + a)."""
    import numpy as np

    s, q, a = multiplier, rate, order
    whole = 2 * a / (s * s)  # every row taken
    if q == 1:
        return whole
    fineness = _fineness(s, a)
    log_c = math.log(q) - 1 / (2 * s * s)
    ratio = math.exp(min(700.0, log_c - math.log1p(-q) - a / (s * s)))
    top = a + (a - 1) * ratio / (1 + ratio) + 13 * s
    low, step = -1 - 12 * s, s / fineness
    count = math.ceil((top - low) / step) + 1
    if count > _MOST_POINTS or top > 1e6 * s:
        return whole
    largest, total = -math.inf, 0.0
    for first in range(0, count, _POINTS):
        x = low + step * np.arange(first, min(count, first + _POINTS))
        terms = _log_terms(x, s, q, a, log_c)
        here = float(terms.max())
        if here > largest:
            total, largest = total * math.exp(largest - here) if total else 0.0, here
        total += float(np.exp(terms - largest).sum())
    left_out = 2.5e-32 * (1 + a)
    log_integral = float(np.logaddexp(largest + math.log(total * step), math.log(left_out))) - math.log1p(-left_out)
    grown = log_integral if log_integral > 36 else math.log1p(math.exp(log_integral))
    return min(whole, grown / (a - 1) * (1 + 1e-12))


def _fineness(s: float, a: float) -> float:
    """s/h with E >= 80, and at least 16."""
    curvature = 0.5 + 0.154 * (a - 1) / (s * s)
    found = max(16.0, math.sqrt(_STRIP * curvature) / math.pi)
    if math.pi * found / curvature > 2 * s:  # the best v is 2s
        found = max(found, (_STRIP + 4 * curvature * s * s) / (4 * math.pi * s))
    return found * (1 + 1e-9)


def _log_terms(x: Any, s: float, q: float, a: float, log_c: float) -> Any:
    """ln g at each x, rounded up."""
    import numpy as np

    v = np.abs(x) / (s * s)
    log_kept = math.log1p(-q)
    # P and Q trade places at -x; what follows is at |x| until the sign is put in
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        log_r = log_c + v + np.log(-np.expm1(-2 * v)) - np.logaddexp(log_kept, log_c - v)
        log_one = np.where(log_r > 36, log_r, np.log1p(np.exp(np.minimum(log_r, 36.0))))  # ln(1 + r)
        size = np.exp(np.minimum(log_r, 36.0))
        r = np.where(x < 0, -size / (1 + size), size)  # large r: only its logarithm is used
        one = np.where(x < 0, -log_one, log_one)
        bracket = np.logaddexp(one + _log_second((a - 1) * one), math.log(a - 1) + _log_entropy(one, r))
    log_q = -x * x / (2 * s * s) - math.log(s * math.sqrt(2 * math.pi)) + np.logaddexp(log_kept, log_c - x / (s * s))
    sizes = abs(log_c) + abs(log_kept) + 2 * v + 8
    slack = _UNIT * (sizes * ((a - 1) * np.minimum(1.0, size) + 6) + x * x / (s * s))
    return bracket + log_q + slack


def _log_second(z: Any) -> Any:
    """ln(e^z - 1 - z)."""
    import numpy as np

    series = np.ones_like(z)
    for k in range(18, 2, -1):
        series = 1 + np.clip(z, -0.6, 0.6) / k * series
    small = 2 * np.log(np.abs(z)) - math.log(2) + np.log(series)
    plain = np.log(np.maximum(np.expm1(np.minimum(z, 30.0)) - z, 0.0))
    far = np.maximum(z, 30.0)
    large = far + np.log1p(-(1 + far) * np.exp(-far))
    return np.where(np.abs(z) < 0.5, small, np.where(z > 30, large, plain))


def _log_entropy(one: Any, r: Any) -> Any:
    """ln((1 + r) ln(1 + r) - r) from ``one`` = ln(1 + r) and r."""
    import numpy as np

    near = np.clip(r, -0.1, 0.1)
    series = np.zeros_like(near)
    for k in range(18, 1, -1):
        series = 1 / (k * (k - 1)) - near * series
    small = 2 * np.log(np.abs(r)) + np.log(series)
    plain = np.log(np.maximum((1 + r) * one - r, 0.0))
    far = np.maximum(one, 30.0)
    large = far + np.log(far - 1 + np.exp(-far))
    return np.where(np.abs(r) < 0.1, small, np.where(one > 30, large, plain))
