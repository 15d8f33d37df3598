"""How far one record can move the sums of x, xx', yx, yxx' and y, for a count y in [0, 1].

Notation. Relative scales w and weights W = 1/w^2 by block: x, xx, yx, yxx and y. Where the covariates lie in a ball,
products x_j x_k with j < k count twice: their scale is w / sqrt 2, so that xx' counts by its Frobenius norm.

Ball, L2: with r = |x|, r' = |x'| <= R and t = <x, x'> the squared distance of two records is

    F = W_x (r^2 + r'^2 - 2t) + W_xx (r^4 + r'^4 - 2t^2) + W_yx (y^2 r^2 + y'^2 r'^2 - 2 y y' t)
        + W_yxx (y^2 r^4 + y'^2 r'^4 - 2 y y' t^2) + W_y (y - y')^2

Proof of the maximum: at a fixed t it grows in r and r', so both are R, and it is convex in y and in y', as a sum of
squares of what is affine in each; so they are 0 or 1. Both 0 is never more than both 1. What remains are

    (1, 1):  2 (W_x + W_yx) (R^2 - t) + 2 (W_xx + W_yxx) (R^4 - t^2)
    (1, 0):  2 W_x (R^2 - t) + 2 W_xx (R^4 - t^2) + W_yx R^2 + W_yxx R^4 + W_y

each concave in t, with a known maximum over t in [`inner_low`, R^2]. []
The maximum is exact in two or more dimensions where the ball lies in the box [-1, 1]^d, up to the rounding of points to
the lattice; in one dimension `_one_covariate` is exact. Lemma 3.4.2 of kulkarni2021 takes the same y for both records,
which is too little for some scales: at R = 1, W = (1, 0.5, 0.01, 0.1, 0) it says 4.0701, and (1, 0) has 4.11.

Box, L2 and L1: by the corner theorem (`box_extrema`) one record is (hi, 1), the other (u, s). In L2 the distance is
convex in s, in L1 affine, so s is 0 or 1. In L2 the maximum over u is that of `l2_at_corners_squared`; the squares
x_j^2 cost nothing at a corner as long as W_xx hi_j^2 <= W_x and W_yxx hi_j^2 <= W_yx. In L1 it follows from the minimum
of a convex quadratic (`least_quadratic`), exactly. []
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.statistics.box_extrema import Bends, l2_at_corners_squared, least_quadratic
from tacit.statistics.noise_allocation import HALF_ROOT, balanced_scales
from tacit.statistics.polynomial import largest
from tacit.statistics.region import Interval, Region

_TIMES = 65  # values of t at which pairs of records are compared when scales are chosen


@dataclass(frozen=True)
class CountScales:
    """Relative scales by kind of entry: x, x_j^2, x_j x_k with j < k, the same with a factor y, and y itself."""

    x: Fraction
    square: Fraction
    cross: Fraction
    yx: Fraction
    ysquare: Fraction
    ycross: Fraction
    y: Fraction


@dataclass(frozen=True)
class CountClaim:
    """Relative scales and the bounds that hold for them, in mapped units."""

    scales: CountScales
    l1: Fraction
    l2_squared: Fraction


@dataclass(frozen=True)
class CountWeights:
    """1 / w^2 by block."""

    x: Fraction
    xx: Fraction
    yx: Fraction
    yxx: Fraction
    y: Fraction


@lru_cache(maxsize=64)
def count_claims(region: Region) -> tuple[CountClaim, ...]:
    """Claims for the region: equal scales and, for a ball, balanced ones, over the box around it and over the ball.

    Without a ball scales are equal: balanced ones would take 3 to 8% less Gaussian noise, and up to 5% more of Laplace.
    """
    equal = CountScales(*[Fraction(1)] * 7)
    found = [CountClaim(equal, l1_box(equal, region), l2_box_squared(equal, region))]
    if region.square is not None:
        scales = _box_scales(region)
        found.append(CountClaim(scales, l1_box(scales, region), l2_box_squared(scales, region)))
        d = region.dimension
        half = d * (d + 1) // 2
        x, xx, yx, yxx, y = balanced_scales(_ball_differences(region), [d, half, d, half, 1])
        scales = CountScales(x, xx, xx * HALF_ROOT, yx, yxx, yxx * HALF_ROOT, y)
        weights = CountWeights(*(1 / scale**2 for scale in (x, xx, yx, yxx, y)))
        found.append(CountClaim(scales, l1_box(scales, region), l2_ball_squared(weights, region)))
    return tuple(found)


def l2_ball_squared(w: CountWeights, region: Region) -> Fraction:
    """The maximum of F over pairs of records of the region.

    Proof: in the head of this file. []
    """
    assert region.square is not None
    square, low = region.square, region.inner_low
    if region.dimension == 1:
        (lo, hi) = region.box[0]
        alone = w.yx * hi**2 + w.yxx * hi**4 + w.y
        same = _one_covariate(w.x + w.yx, w.xx + w.yxx, (lo, hi))
        return max(same, _one_covariate(w.x, w.xx, (lo, hi)) + alone)
    alone = w.yx * square + w.yxx * square**2 + w.y
    same = _linear_and_quadratic(w.x + w.yx, w.xx + w.yxx, square, low)
    return max(same, _linear_and_quadratic(w.x, w.xx, square, low) + alone)


def _linear_and_quadratic(linear: Fraction, quadratic: Fraction, square: Fraction, low: Fraction) -> Fraction:
    """max over t in [low, square] of 2 linear (square - t) + 2 quadratic (square^2 - t^2)."""
    t = min(max(-linear / (2 * quadratic), low), square)
    return 2 * linear * (square - t) + 2 * quadratic * (square**2 - t * t)


def _one_covariate(linear: Fraction, quadratic: Fraction, interval: Interval) -> Fraction:
    """max over u of linear (hi - u)^2 + quadratic (hi^2 - u^2)^2: the other record is at hi by the corner theorem."""
    lo, hi = interval
    flat = linear * hi**2 + quadratic * hi**4
    return largest([flat, -2 * linear * hi, linear - 2 * quadratic * hi**2, Fraction(0), quadratic], lo, hi)


def l2_box_squared(scales: CountScales, region: Region) -> Fraction:
    """The squared L2 sensitivity over the box, for scales such that the maximum is at a corner.

    Proof: in the head of this file. []
    """
    x, square, cross, yx, ysquare, ycross, y = (1 / scale**2 for scale in _in_order(scales))
    squares = [hi * hi for _, hi in region.box]
    fourths = sum((v * v for v in squares), Fraction(0))
    total = sum(squares, Fraction(0))
    alone = yx * total + ysquare * fourths + ycross * (total * total - fourths) / 2 + y
    same = _at_corners(region, x + yx, cross + ycross, square + ysquare)
    return max(same, _at_corners(region, x, cross, square) + alone)


def _at_corners(region: Region, linear: Fraction, cross: Fraction, square: Fraction) -> Fraction:
    bends = [Bends(linear)] * region.dimension
    found = l2_at_corners_squared(region.box, bends, cross, square)
    if found is None:  # intervals of too many kinds: widen them all to the largest, which holds them
        b = max(hi for _, hi in region.box)
        found = l2_at_corners_squared([(-b, b)] * region.dimension, bends, cross, square)
    assert found is not None
    return found


def l1_box(scales: CountScales, region: Region) -> Fraction:
    """The L1 sensitivity over the box, exactly unless x_j^2 has a scale above twice that of x_j x_k.

    Proof: in the head of this file. With a = 1/w and s = 0 or 1 it is the maximum over u of sum_j (a_x (hi_j - u_j) +
    a_yx (hi_j - s u_j)) and so on. The minimum of what is taken away needs 2 a_square > a_cross; a_square is raised
    where that fails, which only adds, as no term is negative. []
    """
    x, square, cross, yx, ysquare, ycross, y = (1 / scale for scale in _in_order(scales))
    if region.dimension == 1:
        cross, ycross = square, ysquare
    square, ysquare = (max(own, both * Fraction(513, 1024)) for own, both in ((square, cross), (ysquare, ycross)))
    total = sum((hi for _, hi in region.box), Fraction(0))
    squares = sum((hi * hi for _, hi in region.box), Fraction(0))
    pairs = (total * total - squares) / 2
    start = (x + yx) * total + (square + ysquare) * squares + (cross + ycross) * pairs + y
    d = region.dimension
    same = least_quadratic(region.box, [x + yx] * d, cross + ycross, square + ysquare) + y
    return start - min(same, least_quadratic(region.box, [x] * d, cross, square))


def _in_order(s: CountScales) -> Sequence[Fraction]:
    return s.x, s.square, s.cross, s.yx, s.ysquare, s.ycross, s.y


def _ball_differences(region: Region) -> list[list[float]]:
    """Squared distances by block for pairs of records on a grid of t; they only serve to choose scales."""
    assert region.square is not None
    square, low = float(region.square), float(region.inner_low)
    lo, hi = map(float, region.box[0])
    found: list[list[float]] = []
    for i in range(_TIMES):
        share = i / (_TIMES - 1)
        if region.dimension == 1:
            u = lo + (hi - lo) * share
            x, xx, alone = (hi - u) ** 2, (hi * hi - u * u) ** 2, hi * hi
        else:
            t = low + (square - low) * share
            x, xx, alone = 2 * square - 2 * t, 2 * square * square - 2 * t * t, square
        found += [[x, xx, x, xx, 0.0], [x, xx, alone, alone * alone, 1.0]]
    return found


def _box_scales(region: Region) -> CountScales:
    """Balanced scales over the box [-b, b]^d, with those of the squares at the point where they cost nothing."""
    d, b = region.dimension, max(hi for _, hi in region.box)
    half = float(b)
    pairs = d * (d - 1) // 2
    table: list[list[float]] = []
    for k in range(d + 1):
        x, cross = 4 * half**2 * k, 4 * half**4 * k * (d - k)
        rows = ([x, x, 0.0, cross, cross], [x, 2 * d * half**2, 1.0, cross, pairs * half**4])
        table += [row if pairs else row[:3] for row in rows]
    found = balanced_scales(table, [2 * d, 2 * d, 1, pairs, pairs][: 5 if pairs else 3])
    x, yx, y, cross, ycross = found if pairs else [*found, found[0], found[1]]
    return CountScales(x, x * b, cross, yx, yx * b, ycross, y)
