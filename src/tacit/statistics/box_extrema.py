"""How far two records in a box can be apart in their monomials: the corner theorem and what follows from it.

Corner theorem. Let v lie in the box prod_j [lo_j, hi_j], oriented so that hi_j >= |lo_j| (flip the sign of a coordinate
in both records otherwise: no |v^e - w^e| changes). For any set of monomials v^e, any non-negative weights and any L_p
norm, the largest distance between two records is attained with one of them at the corner hi:

    max over v, w of ||(v^e - w^e)_e||  =  max over u in the box of ||(hi^e - u^e)_e||

Proof: put p_j = |v_j - w_j| and u_j = hi_j - p_j, which lies in [lo_j, hi_j]. With p fixed, a difference of products is
affine in each coordinate's position, hence extremal when every pair (v_j, w_j) is +-(hi_j, u_j) or +-(u_j, hi_j). Write
x for the product of the ratios u_j / hi_j in [-1, 1] over the coordinates of one kind and y over the other kind: then
|x - y| <= 1 - xy, because (1 - x)(1 + y) >= 0 and (1 + x)(1 - y) >= 0. So |v^e - w^e| <= hi^e - u^e for every e at
once. []

All functions work in exact rationals. The neighbour relation is replace-one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product

_MOST_PATTERNS = 5_000
_MOST_CORNERS = 1_000

Box = Sequence[tuple[Fraction, Fraction]]


def oriented(box: Box) -> list[tuple[Fraction, Fraction]]:
    """The box with signs flipped where needed so that hi >= |lo| everywhere."""
    return [(lo, hi) if hi >= -lo else (-hi, -lo) for lo, hi in box]


def half_square(u: Sequence[Fraction]) -> Fraction:
    """T(u) = ((sum u)^2 + sum u^2) / 2, the sum of all distinct products u_j u_k, j <= k."""
    return (sum(u, Fraction(0)) ** 2 + sum((v * v for v in u), Fraction(0))) / 2


def least_half_square(box: Box, slopes: Sequence[Fraction]) -> Fraction:
    """The minimum over the box of T(u) + sum_j slopes_j u_j, exactly."""
    return least_quadratic(box, slopes, Fraction(1), Fraction(1))


def least_quadratic(box: Box, slopes: Sequence[Fraction], cross: Fraction, square: Fraction) -> Fraction:
    """The minimum over the box of cross sum_{j<k} u_j u_k + square sum_j u_j^2 + sum_j slopes_j u_j, exactly.

    ``cross`` and h = 2 square - cross must be positive. With S = sum u it is cross S^2 / 2 + h sum u^2 / 2 + sum slopes
    u. That is convex, so it is least where u_j = clip(-(cross S + slopes_j) / h, lo_j, hi_j). The right side of S =
    sum_j clip(...) falls in S, so S is unique; between two breakpoints it is linear and solved in rationals.
    """
    if not box:
        return Fraction(0)
    bend = 2 * square - cross
    breaks = sorted({-(slope + bend * end) / cross for ends, slope in zip(box, slopes, strict=True) for end in ends})

    def at(total: Fraction) -> list[Fraction]:
        return [_clip(-(cross * total + s) / bend, lo, hi) for (lo, hi), s in zip(box, slopes, strict=True)]

    def excess(total: Fraction) -> Fraction:
        return sum(at(total), Fraction(0)) - total

    low, high = 0, len(breaks)  # the first breakpoint at which the excess is no longer positive
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if excess(breaks[middle]) > 0 else (low, middle)
    if low in (0, len(breaks)):  # every coordinate at one of its ends
        beyond = breaks[0] - 1 if low == 0 else breaks[-1] + 1
        total = beyond + excess(beyond)
    else:
        left, right = breaks[low - 1], breaks[low]
        a, b = excess(left), excess(right)
        total = left + (right - left) * a / (a - b)
    u = at(total)
    squares = sum((v * v for v in u), Fraction(0))
    tilt = sum((s * v for s, v in zip(slopes, u, strict=True)), Fraction(0))
    return (cross * sum(u, Fraction(0)) ** 2 + bend * squares) / 2 + tilt


def l1_products(box: Box) -> Fraction:
    """The exact L1 sensitivity of all products v_j v_k, j <= k. An intercept is a coordinate with lo = hi = 1.

    Proof: by the corner theorem it is the maximum of sum_{j<=k} (hi_j hi_k - u_j u_k) = T(hi) - T(u). []
    bernstein2019 (section 3.1) adds up w_x^2, w_x w_y and w_y^2 instead, which is too little for boxes away from 0.
    """
    box = oriented(box)
    return half_square([hi for _, hi in box]) - least_half_square(box, [Fraction(0)] * len(box))


def l2_products_squared(box: Box) -> Fraction:
    """The squared L2 sensitivity of all products v_j v_k with sqrt 2 on those with j < k, to 12 digits from above.

    Proof: by the corner theorem it is the maximum over u of H(u) = |hi|^4 + |u|^4 - 2 <hi, u>^2, the squared Frobenius
    distance of hi hi' and u u'. For a fixed <hi, u> one maximises |u|^2, which is convex, over a slice of the box, so
    at most one coordinate is strictly inside: try each with all others at their ends. Coordinates with equal bounds are
    exchangeable, so only how many of them sit at lo matters. []
    Boxes with more than 5,000 such patterns get `l2_products_bound_squared`.
    """
    box = oriented(box)
    kinds = Counter(box)
    if math.prod(count + 1 for count in kinds.values()) > _MOST_PATTERNS:
        return l2_products_bound_squared(box)
    corner = sum((hi * hi for _, hi in box), Fraction(0)) ** 2
    best = -corner
    for free in kinds:
        others = kinds - Counter([free])
        for at_low in product(*(range(count + 1) for count in others.values())):
            squares = inner = Fraction(0)
            for ((lo, hi), count), k in zip(others.items(), at_low, strict=True):
                squares += k * lo * lo + (count - k) * hi * hi
                inner += k * lo * hi + (count - k) * hi * hi
            best = max(best, _largest_inside(free, squares, inner))
    return corner + best


def _largest_inside(interval: tuple[Fraction, Fraction], squares: Fraction, inner: Fraction) -> Fraction:
    """An upper bound on (squares + x^2)^2 - 2 (inner + hi x)^2 over x in [lo, hi], attained up to rounding.

    Proof: the derivative is 4 (x^3 + p x + q), p = squares - hi^2, q = -inner hi. The function is concave where
    3 x^2 <= -p and convex elsewhere. On the convex parts it is largest at an end, that is at lo, hi or where the
    concave part begins. On the concave part it is below its tangent at any point c of that part; c is put at the
    stationary point, up to rounding, so the tangent is nearly flat and nothing but rounding is lost. []
    """
    low, high = interval
    p, q = squares - high * high, -inner * high

    def value(x: Fraction) -> Fraction:
        return (squares + x * x) ** 2 - 2 * (inner + high * x) ** 2

    best = max(value(low), value(high))
    if p >= 0:
        return best
    reach = Fraction(math.sqrt(-p / 3)) * (1 + Fraction(1, 2**40))  # a little further than the concave part
    ends = (max(low, -reach), min(high, reach))
    if ends[0] > ends[1]:
        return best
    left, right = map(float, ends)
    for _ in range(100):  # the cubic falls on the concave part
        middle = (left + right) / 2
        left, right = (middle, right) if middle**3 + float(p) * middle + float(q) > 0 else (left, middle)
    c = Fraction(left)
    while 3 * c * c > -p:
        c *= 1 - Fraction(1, 2**40)
    slope = 4 * (c * c * c + p * c + q)
    return max([best, *(value(c) + slope * (x - c) for x in ends)])


def l2_products_bound_squared(box: Box) -> Fraction:
    """An upper bound on `l2_products_squared` in any dimension.

    Proof: replace each u_j^2 in |u|^4 by its chord (lo_j + hi_j) u_j - lo_j hi_j, which is no smaller on the interval.
    For a fixed t = <hi, u> the largest sum of chords is a fractional knapsack: fill the coordinates in order of falling
    beta_j = 1 + lo_j / hi_j. On each piece rho = alpha + beta t is linear, and |hi|^4 + rho^2 - 2 t^2 is largest at an
    end or, where beta^2 < 2, at t = alpha beta / (2 - beta^2). []
    """
    box = oriented(box)
    corner = sum((hi * hi for _, hi in box), Fraction(0)) ** 2
    t = sum((lo * hi for lo, hi in box), Fraction(0))
    rho = sum((lo * lo for lo, _ in box), Fraction(0))
    best = corner + rho * rho - 2 * t * t
    for lo, hi in sorted((pair for pair in box if pair[1] > 0), key=lambda pair: -(1 + pair[0] / pair[1])):
        beta = 1 + lo / hi
        alpha, end = rho - beta * t, t + hi * (hi - lo)
        candidates = [end]
        if beta * beta < 2 and t < alpha * beta / (2 - beta * beta) < end:
            candidates.append(alpha * beta / (2 - beta * beta))
        best = max([best, *(corner + (alpha + beta * s) ** 2 - 2 * s * s for s in candidates)])
        rho, t = alpha + beta * end, end
    return best


@dataclass(frozen=True)
class Bends:
    """What pulls one coordinate u of the box towards its ends: minus (hi - u)^2 + plus (hi + u)^2 + inside u^2."""

    minus: Fraction
    plus: Fraction = Fraction(0)
    inside: Fraction = Fraction(0)

    def at(self, u: Fraction, high: Fraction) -> Fraction:
        """Its value."""
        return self.minus * (high - u) ** 2 + self.plus * (high + u) ** 2 + self.inside * u * u


def l2_at_corners_squared(box: Box, bends: Sequence[Bends], cross: Fraction, square: Fraction) -> Fraction | None:
    """The maximum over the oriented box of a squared L2 distance from the corner hi, where it is at a corner:

        H(u) = cross sum_{j<k} (hi_j hi_k - u_j u_k)^2 + square sum_j (hi_j^2 - u_j^2)^2 + sum_j bends_j(u_j)

    Proof: let m_j be the least of u_j^2 over the interval and M_j = hi_j^2 - m_j. Replace (hi_j^2 - u_j^2)^2 by the
    larger M_j (hi_j^2 - u_j^2). The second derivative in u_j of the result is at least
    2 (minus_j + plus_j + inside_j + cross sum_{k != j} m_k - square M_j). If that is not negative for any j, the result
    is convex in each coordinate, so it is largest at a corner. Nothing was lost there if every interval is symmetric
    or does not hold 0 inside: then hi_j^2 - u_j^2 is 0 or M_j at both ends. []
    None: the condition fails, or there are more than 1,000 patterns of corners to try.
    """
    least = [Fraction(0) if lo <= 0 else lo * lo for lo, _ in box]
    for (_, hi), m, bend in zip(box, least, bends, strict=True):
        convex = bend.minus + bend.plus + bend.inside + cross * (sum(least, Fraction(0)) - m)
        if convex < square * (hi * hi - m):
            return None
    symmetric = [hi for lo, hi in box if lo == -hi]
    if len(symmetric) == len(box) and len(set(symmetric)) == 1:  # then the ones at lo are those that gain most by it
        h = symmetric[0]
        gains = sorted((bend.at(-h, h) - bend.at(h, h) for bend in bends), reverse=True)
        start = sum((bend.at(h, h) for bend in bends), Fraction(0))
        rising = accumulate(gains, initial=start)
        return max(gain + 4 * cross * h**4 * k * (len(box) - k) for k, gain in enumerate(rising))
    kinds = Counter(zip(box, bends, strict=True))
    if math.prod(count + 1 for count in kinds.values()) > _MOST_CORNERS:
        return None
    corner = sum((hi * hi for _, hi in box), Fraction(0)) ** 2
    best = Fraction(0)
    for at_low in product(*(range(count + 1) for count in kinds.values())):
        squares = inner = own = twice = Fraction(0)
        for (((lo, hi), bend), count), k in zip(kinds.items(), at_low, strict=True):
            gap, m = hi * hi - lo * lo, Fraction(0) if lo <= 0 else lo * lo
            squares += k * lo * lo + (count - k) * hi * hi
            inner += k * lo * hi + (count - k) * hi * hi
            own += k * (bend.at(lo, hi) + square * (hi * hi - m) * gap) + (count - k) * bend.at(hi, hi)
            twice += k * gap * gap
        best = max(best, own + cross * (corner + squares * squares - 2 * inner * inner - twice) / 2)
    return best


def product_range(first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction] | None) -> Fraction:
    """The width of the range of v_j v_k over the box, or of v_j^2 when ``second`` is None."""
    lo, hi = first
    if second is None:
        largest = max(lo * lo, hi * hi)
        return largest if lo <= 0 <= hi else largest - min(lo * lo, hi * hi)
    corners = [a * b for a in first for b in second]
    return max(corners) - min(corners)


def _clip(value: Fraction, low: Fraction, high: Fraction) -> Fraction:
    return min(max(value, low), high)
