"""The sensitivity of a Gram statistic whose covariates lie in a ball, with the relative scales of the least noise.

The ball lies inside a box, so every bound for the box is one for the ball, too. Three claims are made, each for
relative scales of its own, and the one of the least criterion (`noise_allocation`) is used:

* ball: `l2_ball_squared`, the exact maximum over the ball, with balanced scales of the five blocks of entries;
* box: the corner theorem, with balanced scales of blocks (below);
* equal: the corner theorem with equal scales, `gram_sensitivity`.

Box, L2: let hi be the corner and b = hi_j, the same for all j. One record is (hi, 1), the other (u, s). Choose
W_yy <= W_y with an intercept, else let y^2 count apart. Replace (1 - s^2)^2 by the larger 1 - s^2. Then F is convex in
s, its second derivative being at least 2 W_y + 2 W_xy |u|^2 - 2 W_yy, so that s is 1 or -1; the maximum over u is that
of `l2_at_corners_squared` with W_x (hi_j - u_j)^2 + W_xy (hi_j - s u_j)^2 for each j, and W_y (1 - s)^2 is added. The
squares x_j^2 cost nothing at a corner as long as W_xx b^2 <= W_x + W_xy, so their scale is that one.

L1, for any scales: by the corner theorem, with a = 1/w,

    max over (u, s) of  a_x sum (hi_j - u_j) + a_xy sum (hi_j - s u_j) + a_xx sum (hi_j^2 - u_j^2)
                        + a_cross sum_{j<k} (hi_j hi_k - u_j u_k) + a_y (1 - s) + a_yy (1 - s^2)

Proof of the value: for a fixed s the minimum over u of what is taken away is m(s), a convex quadratic over the box
(`least_quadratic`; where a_xx is too small for that it is raised, which only adds, as no term is negative). A sign has
s = 1 or -1. For a number, m is a minimum of functions that are affine in s, so it is concave: between two values of s
it is above its chord, and chord + a_y s + a_yy s^2 is a parabola with a known minimum. Sixteen pieces are used. If the
bound that L2 implies (`with_root_bound`) is smaller, that one is claimed. []
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.box_extrema import Bends, l2_at_corners_squared, least_quadratic, oriented
from tacit.statistics.design import Mapped, Product
from tacit.statistics.gram_ball import ball_differences, l2_ball_squared, weights_of
from tacit.statistics.gram_sensitivity import gram_sensitivity
from tacit.statistics.noise_allocation import HALF_ROOT, balanced_scales, least_volume, with_root_bound
from tacit.statistics.region import Region

_PIECES = 16


@dataclass(frozen=True)
class GramScales:
    """Relative scales by kind of entry; ``cross`` is that of x_j x_k, j < k. Without an intercept x and y have none."""

    xy: Fraction
    square: Fraction
    cross: Fraction
    x: Fraction | None = None
    y: Fraction | None = None
    yy: Fraction | None = None


@dataclass(frozen=True)
class GramClaim:
    """Relative scales and the bounds that hold for them, in mapped units."""

    scales: GramScales
    l1: Fraction
    l2_squared: Fraction


def gram_ball_sensitivity(
    products: Sequence[Product],
    steps: int,
    region: Region,
    bounds: Mapping[Mapped, tuple[int, int]],
    response: Mapped | None,
) -> Sensitivity:
    """The sensitivity of the sums of ``products``; a response that is no number is a sign.

    ``bounds`` are those of the covariates in whole numbers, and ``region`` is where they lie in mapped units.
    Proof: each candidate is a claim for the same pairs of records, by the head of this file or `gram_sensitivity`. []
    """
    low = None
    if response is not None:
        ends = response.bounds(steps)
        ((low, _),) = oriented([(Fraction(ends[0], steps), Fraction(ends[1], steps))])
    intercept = any(len(entry.numbers) + len(entry.signs) == 1 for entry in products)
    unit = Fraction(steps) ** 2
    equal = gram_sensitivity(products, steps, bounds)
    found = [with_root_bound(equal.l1, equal.l2_squared, equal.relative_scales)]
    for claim in gram_claims(region, intercept, low):
        scales = [_scale(entry, claim.scales, response) for entry in products]
        found.append(with_root_bound(claim.l1 * unit, claim.l2_squared * unit**2, scales))
    return least_volume(found)


def _scale(entry: Product, scales: GramScales, response: Mapped | None) -> Fraction:
    """The relative scale of one entry."""
    others = [number for number in entry.numbers if number != response]
    times = len(entry.numbers) - len(others) + len(entry.signs)  # how often the response is a factor
    if len(others) == 2:
        return scales.square if others[0] == others[1] else scales.cross
    kept = {(1, 1): scales.xy, (1, 0): scales.x, (0, 1): scales.y, (0, 2): scales.yy}[len(others), times]
    assert kept is not None
    return kept


@lru_cache(maxsize=64)
def gram_claims(region: Region, intercept: bool, response_low: Fraction | None) -> tuple[GramClaim, ...]:
    """The claims with balanced scales: for the box and, if there is one, for the ball."""
    box = _box_claim(region, intercept, response_low)
    return (box,) if region.square is None else (box, _ball_claim(region, intercept, response_low))


def _ball_claim(region: Region, intercept: bool, response_low: Fraction | None) -> GramClaim:
    d, number = region.dimension, response_low is not None
    counts = [d, d * (d + 1) // 2, *((d, 1) if intercept else ()), *((1,) if number else ())]
    table = ball_differences(region, intercept=intercept, response_low=response_low)
    found = balanced_scales(table, counts)
    l2_squared = l2_ball_squared(weights_of(found, intercept=intercept, number=number), region, response_low)
    x, y = found[2:4] if intercept else (None, None)
    scales = GramScales(found[0], found[1], found[1] * HALF_ROOT, x, y, found[-1] if number else None)
    return GramClaim(scales, l1_box(scales, region, response_low), l2_squared)


def _box_claim(region: Region, intercept: bool, response_low: Fraction | None) -> GramClaim:
    d, b, number = region.dimension, max(hi for _, hi in region.box), response_low is not None
    pairs = d * (d - 1) // 2
    # Blocks that share a scale, up to a fixed factor: x, xy and x_j^2; x_j x_k; y, and with an intercept y^2; else y^2.
    counts = [(3 if intercept else 2) * d, *((pairs,) if pairs else ()), *((1 + number,) if intercept else ())]
    counts += [1] if number and not intercept else []
    table: list[list[float]] = []
    for k in range(d + 1):
        for turned in (False, True):
            own = 4.0 * b * b * ((d - k if turned else k) + (k if intercept else 0))
            row = [own, *((4.0 * b**4 * k * (d - k),) if pairs else ()), *((4.0 * turned,) if intercept else ())]
            table.append([float(v) for v in row] + ([1.0] if number and not intercept else []))
    found = balanced_scales(table, counts)
    own, last = found[0], found[-1]
    cross = found[1] if pairs else own
    square = own * b * (HALF_ROOT if intercept else 1)
    x, y = (own, last) if intercept else (None, None)
    scales = GramScales(own, square, cross, x, y, last if number else None)
    return GramClaim(scales, l1_box(scales, region, response_low), l2_box_squared(scales, region))


def l2_box_squared(scales: GramScales, region: Region) -> Fraction:
    """The squared L2 sensitivity over the box, for scales such that the maximum is at a corner.

    Proof: in the head of this file. Without y, y^2 moves by no more than 1, which is added. []
    """
    x, y, yy = (Fraction(0) if scale is None else 1 / scale**2 for scale in (scales.x, scales.y, scales.yy))
    xy, square, cross = (1 / scale**2 for scale in (scales.xy, scales.square, scales.cross))
    assert yy <= y or scales.y is None
    best = Fraction(0)
    for s in (1, -1):
        bends = [Bends(x + xy) if s == 1 else Bends(x, xy)] * region.dimension
        at = l2_at_corners_squared(region.box, bends, cross, square)
        if at is None:  # intervals of too many kinds: widen them all to the largest, which holds them
            b = max(hi for _, hi in region.box)
            at = l2_at_corners_squared([(-b, b)] * region.dimension, bends, cross, square)
        assert at is not None
        best = max(best, at + y * (1 - s) ** 2)
    return best + (yy if scales.y is None else 0)


def l1_box(scales: GramScales, region: Region, response_low: Fraction | None) -> Fraction:
    """The L1 sensitivity over the box: exact for a sign, a bound for a number.

    Proof: in the head of this file. []
    """
    zero = Fraction(0)
    x, y, yy = (zero if scale is None else 1 / scale for scale in (scales.x, scales.y, scales.yy))
    xy, square, cross = 1 / scales.xy, 1 / scales.square, 1 / scales.cross
    if region.dimension == 1:
        cross = square
    square = max(square, cross * Fraction(513, 1024))

    def least(s: Fraction) -> Fraction:
        return least_quadratic(region.box, [x + s * xy] * region.dimension, cross, square)

    total = sum((hi for _, hi in region.box), zero)
    squares = sum((hi * hi for _, hi in region.box), zero)
    start = (x + xy) * total + square * squares + cross * (total * total - squares) / 2 + y + yy
    if response_low is None:
        return start - min(least(Fraction(s)) + y * s for s in (1, -1))
    ends = [response_low + (1 - response_low) * Fraction(i, _PIECES) for i in range(_PIECES + 1)]
    lows = [least(s) for s in ends]
    lowest = min(low + y * s + yy * s * s for low, s in zip(lows, ends, strict=True))
    for left, right, a, b in zip(ends, ends[1:], lows, lows[1:], strict=False):
        if left < right and yy:
            slope = (b - a) / (right - left)
            s = min(max(-(slope + y) / (2 * yy), left), right)
            lowest = min(lowest, a + slope * (s - left) + y * s + yy * s * s)
    return start - lowest
