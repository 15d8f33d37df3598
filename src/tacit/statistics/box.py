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

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

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
    """The squared L2 sensitivity of all products v_j v_k with sqrt 2 on those with j < k, for up to 16 coordinates.

    Proof: by the corner theorem it is the maximum over u of H(u) = |hi|^4 + |u|^4 - 2 <hi, u>^2, the squared Frobenius
    distance of hi hi' and u u'. For a fixed <hi, u> one maximises |u|^2, which is convex, over a slice of the box, so
    at most one coordinate is strictly inside. Along it H is a quartic in x whose stationary points solve
    x^3 + (N - hi_f^2) x - t hi_f = 0, N = sum of the other u^2, t = sum of the other hi u. Real roots are not rational:
    H is evaluated at both ends of a narrow interval around each and bounded above by its slope there. []
    """
    box = oriented(box)
    if len(box) > 16:
        return l2_products_bound_squared(box)
    corner = sum((hi * hi for _, hi in box), Fraction(0)) ** 2
    best = Fraction(0)
    for free, (low, high) in enumerate(box):
        others = [pair for i, pair in enumerate(box) if i != free]
        for ends in product(*others):
            squares = sum((u * u for u in ends), Fraction(0))
            inner = sum((hi * u for (_, hi), u in zip(others, ends, strict=True)), Fraction(0))

            def value(
                x: Fraction, squares: Fraction = squares, inner: Fraction = inner, hi: Fraction = high
            ) -> Fraction:
                return corner + (squares + x * x) ** 2 - 2 * (inner + hi * x) ** 2

            for x in (low, high):
                best = max(best, value(x))
            for x in _cubic_roots(float(squares - high * high), float(-inner * high)):
                if low < x < high:
                    root = Fraction(x)
                    slope = abs(4 * root * (squares + root * root) - 4 * high * (inner + high * root))
                    best = max(best, value(root) + slope * Fraction(1, 10**6))
    return best


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


def _cubic_roots(p: float, q: float) -> list[float]:
    """The real roots of x^3 + p x + q."""
    import numpy as np

    return [float(root.real) for root in np.roots([1.0, 0.0, p, q]) if abs(root.imag) < 1e-7]
