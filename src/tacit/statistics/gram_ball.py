"""How far two records with covariates in a ball can be apart in the entries of a Gram statistic, in the L2 norm.

Two records (x, y) and (x', y'), |x|, |x'| <= R. The blocks of entries are x, y, xy, xx' and y^2, with weights W = 1/w^2
of the squared relative scales, and the products x_j x_k with j < k count twice: their scale is w / sqrt 2, so that xx'
counts by its Frobenius norm. With r = |x|, r' = |x'| and t = <x, x'>, the squared distance is

    F = W_x (r^2 + r'^2 - 2t) + W_xx (r^4 + r'^4 - 2t^2) + W_xy (y^2 r^2 + y'^2 r'^2 - 2 y y' t)
        + W_y (y - y')^2 + W_yy (y^2 - y'^2)^2

Proof of the maximum: at a fixed t, F grows in r and in r', so both are R, and t in [-R^2, R^2] stays possible. Without
an intercept W_x = W_y = 0.

A sign y is -1 or 1, W_yy = 0 and y y' = s = 1 or -1. A number y lies in [lo, 1], lo >= -1: exchange the records, or
flip both signs, so that y >= |y'|. Then F grows in y, because its derivative is 2 W_xy (R^2 y - t y') + 2 W_y (y - y')
+ 4 W_yy y (y^2 - y'^2) and R^2 y >= |t y'|. So y = 1 and y' = s in [lo, 1]. (A flip is needed only where the larger of
both is negative, so lo < 0 and |y|, |y'| <= |lo|, which the flip keeps.) What remains is

    F(t, s) = 2 W_x R^2 + 2 W_xx R^4 + W_xy R^2 (1 + s^2) + W_y (1 - s)^2 + W_yy (1 - s^2)^2
              - 2 t (W_x + s W_xy) - 2 W_xx t^2

It is concave in t, so t is -(W_x + s W_xy) / (2 W_xx), or the end of its interval where that lies outside. Put in, it
leaves a polynomial of degree 4 in s between the points where t meets an end; `polynomial.largest` bounds each. []

Every (R, R, t) with |t| <= R^2 is a pair of points of a ball in two or more dimensions, so the maximum is exact there,
up to the rounding of points to the lattice. It is a bound where the ball sticks out of the box [-1, 1]^d, and where the
box allows t >= ``inner_low`` alone. In one dimension with a sign, `_one_covariate` is exact instead.

For a sign and no intercept this is Lemma 3.4.1 of kulkarni2021, whose formula leaves t unrestricted and is too large
where 2 W_xx R^2 < W_xy. At W_xx = W_xy / (2 R^2) the maximum is 4 R^2 W_xy, as if xx' were not released. For a number
without intercept it is Lemma 3.1 of kulkarni2022, which adds up terms that cannot be large together. Where a coordinate
of x is an intercept alpha inside the ball, t >= 2 alpha^2 - R^2 must not be used for a sign: opposite signs turn t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tacit.statistics.polynomial import largest
from tacit.statistics.region import Region

_TIMES = 33  # values of t, and of s for a number, at which pairs of records are compared when scales are chosen
_RESPONSES = 17


@dataclass(frozen=True)
class GramWeights:
    """1 / w^2 by block; 0 where the block is not released."""

    xy: Fraction
    xx: Fraction
    x: Fraction = Fraction(0)
    y: Fraction = Fraction(0)
    yy: Fraction = Fraction(0)


def l2_ball_squared(weights: GramWeights, region: Region, response_low: Fraction | None) -> Fraction:
    """The maximum of F over pairs of records of the region; a response without ``response_low`` is a sign.

    Proof: in the head of this file. []
    """
    assert region.square is not None
    if response_low is None:
        if region.dimension == 1:
            return max(_one_covariate(weights, region.box[0], s) for s in (1, -1))
        return max(_given_response(weights, region.square, region.inner_low, s) for s in (1, -1))
    square, low = region.square, region.inner_low
    one = Fraction(1)
    # t meets an end of its interval where W_x + s W_xy = -2 W_xx t there.
    meets = [(-2 * weights.xx * t - weights.x) / weights.xy for t in (low, square)]
    cuts = sorted({response_low, one, *(s for s in meets if response_low < s < one)})
    best = _given_response(weights, square, low, response_low)
    for left, right in pairwise(cuts):
        best = max(best, _largest_piece(weights, square, low, left, right))
    return best


def _given_response(w: GramWeights, square: Fraction, low: Fraction, s: Fraction | int) -> Fraction:
    """max over t of F(t, s)."""
    slope = w.x + s * w.xy
    t = min(max(-slope / (2 * w.xx), low), square)
    constant = 2 * w.x * square + 2 * w.xx * square**2 + w.xy * square * (1 + s * s)
    return constant + w.y * (1 - s) ** 2 + w.yy * (1 - s * s) ** 2 - 2 * t * slope - 2 * w.xx * t * t


def _largest_piece(w: GramWeights, square: Fraction, low: Fraction, left: Fraction, right: Fraction) -> Fraction:
    """max over t and over s in [left, right], where t does not meet an end of its interval inside, of F(t, s)."""
    middle = (left + right) / 2
    free = -(w.x + middle * w.xy) / (2 * w.xx)
    flat = 2 * w.x * square + 2 * w.xx * square**2 + w.xy * square + w.y + w.yy
    polynomial = [flat, -2 * w.y, w.xy * square + w.y - 2 * w.yy, Fraction(0), w.yy]
    if low < free < square:  # + (W_x + s W_xy)^2 / (2 W_xx)
        added = [w.x**2 / (2 * w.xx), w.x * w.xy / w.xx, w.xy**2 / (2 * w.xx)]
    else:
        t = low if free <= low else square
        added = [-2 * t * w.x - 2 * w.xx * t * t, -2 * t * w.xy, Fraction(0)]
    return largest([a + b for a, b in zip(polynomial, [*added, Fraction(0), Fraction(0)], strict=True)], left, right)


def _one_covariate(w: GramWeights, interval: tuple[Fraction, Fraction], s: int) -> Fraction:
    """One covariate in [lo, hi] and a sign: the maximum over u of the squared distance of (hi, 1) and (u, s).

    Proof: by the corner theorem (`box_extrema`), for the monomials x, y, xy, x^2 and a y that is only ever at its ends.
    []
    """
    lo, hi = interval
    # W_x (hi - u)^2 + W_xy (hi - s u)^2 + W_xx (hi^2 - u^2)^2 + W_y (1 - s)^2
    flat = (w.x + w.xy) * hi**2 + w.xx * hi**4 + w.y * (1 - s) ** 2
    polynomial = [flat, -2 * (w.x + s * w.xy) * hi, w.x + w.xy - 2 * w.xx * hi**2, Fraction(0), w.xx]
    return largest(polynomial, lo, hi)


def ball_differences(region: Region, *, intercept: bool, response_low: Fraction | None) -> list[list[float]]:
    """Squared distances by block, in the order xy, xx, x and y (with an intercept), yy (for a number).

    For pairs of records on a grid of t and s; they only serve to choose scales.
    """
    assert region.square is not None
    square, low = float(region.square), float(region.inner_low)
    responses = [1.0, -1.0]
    if response_low is not None:
        # The scale of y^2 must not be 0 where bounds are so narrow that y rounds to one point.
        start = min(float(response_low), 0.999)
        responses = [start + (1 - start) * i / (_RESPONSES - 1) for i in range(_RESPONSES)]
    found: list[list[float]] = []
    for s in responses:
        for i in range(_TIMES):
            if region.dimension == 1 and response_low is None:
                lo, hi = map(float, region.box[0])
                u = lo + (hi - lo) * i / (_TIMES - 1)
                blocks = [(hi - s * u) ** 2, (hi * hi - u * u) ** 2, (hi - u) ** 2]
            else:
                t = low + (square - low) * i / (_TIMES - 1)
                blocks = [square * (1 + s * s) - 2 * t * s, 2 * square * square - 2 * t * t, 2 * square - 2 * t]
            kept = [*blocks, (1 - s) ** 2] if intercept else blocks[:2]
            found.append(kept if response_low is None else [*kept, (1 - s * s) ** 2])
    return found


def weights_of(scales: Sequence[Fraction], *, intercept: bool, number: bool) -> GramWeights:
    """The weights that belong to scales in the order of `ball_differences`."""
    inverse = [1 / scale**2 for scale in scales]
    zero = Fraction(0)
    xy, xx, x, y = inverse[:4] if intercept else [*inverse[:2], zero, zero]
    return GramWeights(xy, xx, x, y, inverse[-1] if number else zero)
