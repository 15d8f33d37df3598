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
from fractions import Fraction
from itertools import product

_MOST_PATTERNS = 5_000

Box = Sequence[tuple[Fraction, Fraction]]


def oriented(box: Box) -> list[tuple[Fraction, Fraction]]:
    """The box with signs flipped where needed so that hi >= |lo| everywhere."""
    return [(lo, hi) if hi >= -lo else (-hi, -lo) for lo, hi in box]


def half_square(u: Sequence[Fraction]) -> Fraction:
    """T(u) = ((sum u)^2 + sum u^2) / 2, the sum of all distinct products u_j u_k, j <= k."""
    return (sum(u, Fraction(0)) ** 2 + sum((v * v for v in u), Fraction(0))) / 2


def least_half_square(box: Box, slopes: Sequence[Fraction]) -> Fraction:
    """The minimum over the box of T(u) + sum_j slopes_j u_j, exactly.

    It is convex, so it is least where u_j = clip(-(S + slopes_j), lo_j, hi_j) with S = sum u. The right side of
    S = sum_j clip(...) falls in S, so S is unique; between two breakpoints it is linear and solved in rationals.
    """
    breaks = sorted({-slope - bound for (lo, hi), slope in zip(box, slopes, strict=True) for bound in (lo, hi)})

    def excess(total: Fraction) -> Fraction:
        return sum((_clip(-(total + s), lo, hi) for (lo, hi), s in zip(box, slopes, strict=True)), Fraction(0)) - total

    low, high = 0, len(breaks)  # the first breakpoint at which the excess is no longer positive
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if excess(breaks[middle]) > 0 else (low, middle)
    if low in (0, len(breaks)):  # every coordinate at one of its ends
        at = breaks[0] - 1 if low == 0 else breaks[-1] + 1
        total = at + excess(at)
    else:
        left, right = breaks[low - 1], breaks[low]
        a, b = excess(left), excess(right)
        total = left + (right - left) * a / (a - b)
    u = [_clip(-(total + s), lo, hi) for (lo, hi), s in zip(box, slopes, strict=True)]
    return half_square(u) + sum((s * v for s, v in zip(slopes, u, strict=True)), Fraction(0))


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
