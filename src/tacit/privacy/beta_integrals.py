"""The hockey-stick divergence of two neighbouring Beta distributions, rounded up, by quadrature whose error is proved:
no gamma function and no incomplete beta function is taken on trust.

P = Beta(a, b + r) and Q = Beta(a + r, b). In t = logit x, less the mode t_0 = ln(a / (b + r)), with s = a + b + r,

    P's density is phi / I,     phi = e^psi,     psi(t) = a t - s ln((1 + e^{t_0 + t}) / (1 + e^{t_0}))
    I is the integral of phi; Q's density is P's times e^{r t} / Z,     Z = 1 + r E,     E = E_P[(e^{r t} - 1) / r]
    delta = J / I,     J = the integral of phi (1 - e^{-r (u - t)}) over t < u,     u = (ln Z - epsilon) / r

as P > e^epsilon Q where t < u. J grows with u, so that an upper bound on E is enough for one on delta; and as E does
not cancel, a small r costs no digits. psi is concave, psi' = a - s q and -psi'' = k = s q (1 - q), q = expit(t_0 + t).

Proof: of the quadrature. Sixteen Gauss points on a panel of centre m and half-width h, where h <= 1/2, h |psi'| <= 4,
h^2 k <= 1/4 and h r <= 1/2. Let f be analytic in the ellipse with half-axes 2.6 h and 2.4 h, |f| <= M there. Its
Chebyshev coefficients are at most 2 M 5^-j, the rule is exact for j < 32 and off by at most 4 h for each later
polynomial, so it is off by 10 M h 5^-32 < 5e-22 M h at most. |phi(t + iy)| is phi(t) (1 - 4 q (1 - q)
sin^2(y/2))^{-s/2}. As |y| <= 1.2 and q (1 - q) <= 1/4, the last factor is at most exp(0.74 k y^2), and k grows by
e^{2.6 h} <= 3.7 at most from m to any t of the ellipse. With phi(t) <= phi(m) e^{|psi'(m)| |t - m|}, |phi| is at most
e^{10.4 + 4} phi(m) in the ellipse. On the panel k <= e^{1/2} k(m), so phi(m + v) >= 0.8 phi(m) e^{psi'(m) v} there.
(1) f = phi: the integral is at least 1.6 h phi(m), so the error is below 1e-15 of it.
(2) f = phi g, g = 1 - e^{-r (u - t)}, the panel's end at most u. g is concave and not negative on it, so it is at
least g(m) (1 - |v| / h), and the integral is at least 0.8 h phi(m) g(m). In the ellipse |g| <= g(m) (1 + 2.6 e^{1.3}),
as |1 - e^{-z-w}| <= 1 - e^{-z} + e^{-z} |w| e^{|w|}, |w| <= 2.6 r h and e^{-z} <= (1 - e^{-z}) / z with z >= r h. The
error is below 2e-14 of the integral.
(3) f = phi (e^{r t} - 1) / r: |f| <= |phi| (|m| + 2.6 h) e^{r max(0, m) + 1.3}, and the error is below 1e-14 times the
integral of phi (|t| + 4 h) e^{r max(0, t)}, also as the rule gives it.
Ends. psi' rises from d to a on the left of an end with psi' = d, so phi lies between phi(end) e^{a v} and phi(end)
e^{d v} there, v < 0. On the right it lies between the same with -(b + r) and the psi' of that end. What lies beyond
follows in closed form, wherever the ends are: E takes the larger value, I the smaller one, or the larger one too where
E is negative. For J, where u is beyond the right end, the exponential is integrated with g by the same rule, (2).
Rounding. With (c, w) = (a, t) or (b + r, -t), the first where a <= b + r, psi = c w - s ln(1 + (c/s) (e^w - 1)), whose
parts are of the size of c |w| and not of s. Errors of a, b, s, c/s, of t and of the functions are a few times 2^-53 of
c |w|, of s ln(1 + .) and of |w psi'|; every phi is raised, and lowered for I, by sixteen times that. Sums of numbers
that are not negative are off by a rounding a number at most. []
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_UNIT = 2.0**-49  # sixteen roundings
_FALL = 36.0  # panels end where psi has fallen by this much, or is straight to 1e-15
_LAST = 1e-12  # of the last few operations
# Gauss-Legendre on [-1, 1], 16 points, half of them.
_NODES = (
    0.09501250983763744,
    0.28160355077925891,
    0.45801677765722739,
    0.61787624440264375,
    0.75540440835500303,
    0.86563120238783174,
    0.94457502307323258,
    0.98940093499164993,
)
_WEIGHTS = (
    0.18945061045506850,
    0.18260341504492359,
    0.16915651939500254,
    0.14959598881657673,
    0.12462897125553387,
    0.09515851168249278,
    0.06225352393864789,
    0.02715245941175409,
)


@dataclass(frozen=True, eq=False)
class _Curve:
    """psi for arrays of a and b + r, ``after``."""

    a: Any
    after: Any

    @property
    def s(self) -> Any:
        return self.a + self.after

    def _parts(self, t: Any) -> tuple[Any, Any, Any, Any]:
        """c, w, ln(1 + (c/s) (e^w - 1)) and q or 1 - q, that of c."""
        import numpy as np

        c = np.minimum(self.a, self.after)
        w = np.where(self.a <= self.after, t, -t)
        near = np.minimum(w, 600.0)
        x = c / self.s * np.expm1(near)
        return c, w, np.log1p(x) + (w - near), c / self.s * np.exp(near) / (1 + x)

    def at(self, t: Any) -> tuple[Any, Any]:
        """psi, and a bound on its error."""
        import numpy as np

        c, w, log, q = self._parts(t)
        return c * w - self.s * log, _UNIT * (
            c * np.abs(w) + self.s * (np.abs(log) + np.abs(w) * np.abs(q - c / self.s))
        )

    def rise(self, t: Any) -> Any:
        """psi'."""
        import numpy as np

        c, w, _, _ = self._parts(t)
        fall = np.expm1(np.minimum(w, 600.0))
        return np.where(self.a <= self.after, -1.0, 1.0) * c * fall * (1 - c / self.s) / (1 + c / self.s * fall)

    def lacking(self, t: Any) -> Any:
        """s (1 - q), where q is near 1."""
        import numpy as np

        c, _, _, q = self._parts(t)
        return self.s * np.where(self.a <= self.after, (1 - c / self.s) * np.exp(-t) * q / (c / self.s), q)

    def bend(self, t: Any) -> Any:
        """k."""
        _, _, _, q = self._parts(t)
        return self.s * q * (1 - q)


def hockey_stick(a: Any, b: Any, r: float, epsilon: float) -> Any:
    """delta of P = Beta(a, b + r) against Q = Beta(a + r, b), elementwise, rounded up."""
    import numpy as np

    curve, zero = _Curve(a, b + r), np.zeros_like(a)
    mode = np.log(a) - np.log(curve.after)
    # As far as anything counts: beyond these, s q, or s (1 - q), is below 1e-15 of a, or of b.
    lowest = np.log(a) - np.log(curve.s) - 35 - mode
    highest = np.log(curve.s) - np.log(b) + 35 - mode
    low = _fallen(curve, zero, lowest, 0.0)
    high = _fallen(curve, np.maximum(np.log(a + r) - np.log(b) - mode, 0.0), highest, r)
    ends = _Ends(curve, low), _Ends(curve, high)
    fall = b - curve.lacking(high)  # -psi' - r, without the difference of r and b + r
    above = ends[0].most / curve.rise(low) + ends[1].most / (fall + r)
    below = ends[0].least / a + ends[1].least / curve.after
    gained = ends[1].most * (np.expm1(r * high) / r + 1 / (fall + r)) / fall
    lost = ends[0].least * (1 / a - np.expm1(r * low) / r) / (a + r)
    for first, last in ((low, zero), (zero, high)):
        panels = _panels(curve, first, last, r)
        above, below = above + panels.sum_of(1.0, up=True), below + panels.sum_of(1.0, up=False)
        g = np.expm1(r * panels.t) / r
        size = (np.abs(panels.t) + 4 * panels.half) * np.exp(r * np.maximum(panels.t, 0.0))
        gained = gained + panels.sum_of(1e-14 * size + np.maximum(g, 0.0), up=True)
        lost = lost + panels.sum_of(np.maximum(-g, 0.0), up=False)
    moment = gained * (1 + _UNIT) - lost * (1 - _UNIT)
    log_z = np.log1p(r * np.where(moment > 0, moment / below, moment / above) * (1 + np.sign(moment) * _UNIT))
    u = (log_z - epsilon) / r
    u = u + _UNIT * (np.abs(log_z) + epsilon) / r
    return _below(curve, u, lowest, high, r) / below * (1 + _LAST) + 1e-300


def quick_bound(a: Any, b: Any, r: float, epsilon: float) -> Any:
    """A bound on delta in a few operations, ``r`` at most 1: e^-D min(1, r (max(0, v) + m)),

        v = (ln(1 + r / b) - epsilon) / r,      D = psi(0) - psi(v) where v < 0, else 0,      c = min(a, b + r)
        m^2 = (1 + 1/a) / a + (1 + 1/(b + r)) / (b + r) + 1 / c^2

    Proof: Z = Gamma(a + r) Gamma(b) / (Gamma(a) Gamma(b + r)) e^{-r t_0}, and Gamma(x + r) / Gamma(x) lies between
    (x / (x + r))^{1-r} x^r and x^r (Wendel 1948), so Z <= 1 + r / b and u <= v. With F(v) = P(t < v) and G(v) the
    integral of F up to v, delta = E[(1 - e^{-r (u - t)})_+] is at most F(v) and r G(v). phi is log-concave, and so F
    and G are, which means that phi / F and F / G fall. Hence F(v) / F(0) and G(v) / G(0) are at most phi(v) / phi(0)
    for v < 0; and G(v) <= v + G(0) for v > 0. G(0) <= E[t^2]^{1/2}: the variance of t is the sum of two trigamma
    functions, psi_1(x) <= 1/x + 1/x^2, and its mean a difference of ln x - digamma(x), which lie between 0 and 1/x. []
    """
    import numpy as np

    after = b + r
    v = (np.log1p(r / b) - epsilon) / r
    fall = np.maximum(-np.sum(_Curve(a, after).at(np.minimum(v, 0.0)), axis=0), 0.0)
    spread = np.sqrt((1 + 1 / a) / a + (1 + 1 / after) / after + np.minimum(a, after) ** -2.0)
    return np.exp(-fall) * np.minimum(1.0, r * (np.maximum(v, 0.0) + spread)) * (1 + 1e-9)


def _below(curve: _Curve, u: Any, lowest: Any, high: Any, r: float) -> Any:
    """J, rounded up."""
    import numpy as np

    top = np.minimum(u, 0.0)
    low = _fallen(curve, top, np.minimum(lowest, top), 0.0)
    rise = curve.rise(low)
    total = _Ends(curve, low).most * (-np.expm1(-r * (u - low)) / (rise + r) + r / (rise * (rise + r)))
    for first, last in ((low, top), (top, np.maximum(top, np.minimum(u, high)))):
        panels = _panels(curve, first, last, r)
        to_u = (u - last)[panels.owner][:, None] + panels.before
        total = total + panels.sum_of(-np.expm1(-r * to_u), up=True)
    far = np.flatnonzero(u > high)
    left = np.zeros_like(total)
    left[far] = _straight((curve.after - curve.lacking(high))[far], (u - high)[far], r)
    return total + _Ends(curve, high).most * left


def _straight(fall: Any, reach: Any, r: float) -> Any:
    """The integral of e^{-fall v} (1 - e^{-r (reach - v)}) over 0 < v < reach, rounded up."""
    import numpy as np

    end = np.minimum(reach, _FALL / fall)
    half = end[:, None] / (2 * _FALL)
    nodes = (1 + np.concatenate([np.negative(_NODES), _NODES])) + 2 * np.arange(int(_FALL))[:, None]
    before = half * nodes.ravel()
    g = -np.expm1(-r * ((reach - end)[:, None] + before))
    terms = np.exp(-fall[:, None] * (end[:, None] - before)) * g * np.tile(_WEIGHTS, 2 * int(_FALL))
    found = half[:, 0] * terms.sum(axis=1) * (1 + 1e-12)
    return found + np.where(reach > end, math.exp(-_FALL) / fall, 0.0)


class _Ends:
    """phi at each of ``t``, rounded up and down."""

    def __init__(self, curve: _Curve, t: Any) -> None:
        import numpy as np

        psi, off = curve.at(t)
        self.most, self.least = np.exp(psi + off), np.exp(psi - off)


@dataclass(frozen=True, eq=False)
class _Panels:
    """The panels of several integrals, each ``owner``'s: sixteen points ``t`` each, ``before`` the integral's end."""

    owner: Any
    count: int
    before: Any
    t: Any
    half: Any
    weight: Any
    psi: Any
    off: Any

    def sum_of(self, g: Any, *, up: bool) -> Any:
        """The integrals of phi g, g not negative, rounded up or down."""
        import numpy as np

        terms = self.weight * np.exp(self.psi + (self.off if up else -self.off)) * g
        most = 16 * int(np.bincount(self.owner, minlength=1).max()) + 32
        error = most * 2.0**-53 + 2e-14
        return np.bincount(self.owner, terms.sum(axis=1), self.count) * (1 + (error if up else -error))


def _panels(curve: _Curve, first: Any, last: Any, r: float) -> _Panels:
    """Panels from each of ``first`` to ``last``, none where these are the same."""
    import numpy as np

    mode = np.log(curve.a) - np.log(curve.after)
    bend = curve.bend(np.clip(-mode, first, last))  # k grows up to q = 1/2 and falls from there
    steep = np.maximum(np.abs(curve.rise(first)), np.abs(curve.rise(last)))
    by_slope, by_bend = 4 / np.maximum(steep, 1e-300), 0.5 / np.sqrt(np.maximum(bend, 1e-300))
    half = 0.999 * np.minimum(np.minimum(0.5, 0.5 / r), np.minimum(by_slope, by_bend))
    counts = np.ceil((last - first) / (2 * half)).astype(int)
    half = (last - first) / (2 * np.maximum(counts, 1))
    owner = np.repeat(np.arange(len(first)), counts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = half[owner][:, None]
    nodes = np.concatenate([np.negative(_NODES), _NODES])
    before = width * (2 * place[:, None] + 1 + nodes)
    # From the end at 0, where there is one: there a difference of two positions would lose digits.
    from_first = width * (2 * (counts[owner] - place)[:, None] - 1 - nodes)
    t = np.where((first == 0)[owner][:, None], from_first, last[owner][:, None] - before)
    psi, off = _Curve(curve.a[owner][:, None], curve.after[owner][:, None]).at(t)
    weight = width * np.concatenate([_WEIGHTS, _WEIGHTS])
    return _Panels(owner, len(first), before, t, width, weight, psi, off)


def _fallen(curve: _Curve, start: Any, farthest: Any, tilt: float) -> Any:
    """Where psi + ``tilt`` t is about `_FALL` less than at ``start``, between there and ``farthest``."""
    import numpy as np

    level = curve.at(start)[0] + tilt * start - _FALL
    near, far = start, farthest
    for _ in range(12):
        middle = (near + far) / 2
        fallen = curve.at(middle)[0] + tilt * middle < level
        near, far = np.where(fallen, near, middle), np.where(fallen, middle, far)
    return far
