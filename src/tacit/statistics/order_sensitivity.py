"""How far two vectors of a ball can be apart in all their powers up to some order.

The power of degree i of z is the tensor of all products z_j1 ... z_ji. Its distinct entries are the monomials z^e of
degree i, each of which stands i! / prod_j e_j! times in the tensor (3 z_1^2 z_2, 6 z_1 z_2 z_3; kulkarni2021, section
9.3, prints 3 for the latter). Released once, with the scale w_i / sqrt(i! / prod e_j!), it counts as often as that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from tacit.statistics.polynomial import largest

_GRID = 2**60


def multiplicity(monomial: Sequence[int]) -> int:
    """How often the product of the coordinates in ``monomial`` stands in the tensor: i! / prod_j e_j!."""
    return math.factorial(len(monomial)) // math.prod(math.factorial(e) for e in Counter(monomial).values())


def order_sensitivity_squared(radius: Fraction, ratios: Sequence[Fraction]) -> Fraction:
    """The squared L2 sensitivity of the powers of degree 1 to m of z, |z| <= R = ``radius``, rounded up:

        Delta^2 = 2 sum_i c_i R^(2i) - 2 min over |t| <= R^2 of sum_i c_i t^i

    with c_i = ``ratios[i - 1]`` = 1 / w_i^2, the weight of degree i.

    Proof: for powers, <z^(i), z'^(i)> = <z, z'>^i, so the squared distance is sum_i c_i (|z|^(2i) + |z'|^(2i) - 2 t^i)
    with t = <z, z'>. At a fixed t it grows in |z| and |z'|, so both are R; and |t| <= R^2. `largest` bounds the maximum
    of -sum c_i t^i from above. []
    Exact in two or more dimensions, up to rounding; a bound in one (kulkarni2021, section 9.3, leaves t unrestricted).
    """
    return in_ball_squared(radius * radius, ratios)


def in_ball_squared(square: Fraction, ratios: Sequence[Fraction]) -> Fraction:
    """`order_sensitivity_squared` for the square of the radius, which need not be that of a rational.

    Proof: nothing there needs the radius itself. []
    """
    ends = 2 * sum((c * square**i for i, c in enumerate(ratios, start=1)), Fraction(0))
    return _rounded_up(ends + 2 * largest([Fraction(0), *(-c for c in ratios)], -square, square))


def on_line_squared(radius: Fraction, ratios: Sequence[Fraction]) -> Fraction:
    """The squared L2 sensitivity for one coordinate: max over |u| <= R of sum_i c_i (R^i - u^i)^2.

    Proof: by the corner theorem (`box_extrema`), for the monomials u, ..., u^m on [-R, R]. []
    """
    polynomial = [Fraction(0)] * (2 * len(ratios) + 1)
    for i, c in enumerate(ratios, start=1):
        polynomial[0] += c * radius ** (2 * i)
        polynomial[i] -= 2 * c * radius**i
        polynomial[2 * i] += c
    return _rounded_up(largest(polynomial, -radius, radius))


def _rounded_up(value: Fraction) -> Fraction:
    return Fraction(math.ceil(value * _GRID), _GRID)
