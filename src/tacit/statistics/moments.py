"""How far two records in a box can be apart in all their monomials up to the fourth degree.

The corner theorem (`box_extrema`) turns both questions below into the minimum of a convex polynomial P over the box.
Write h_k(v) for the complete homogeneous polynomial of degree k: the sum of all distinct monomials of degree k.

Certified minimum. P is convex, so it lies above its tangent plane at any point c of the box:

    min P  >=  P(c) + sum_j min over u_j in [lo_j, hi_j] of P_j(c) (u_j - c_j)

with P_j the partial derivative. The right side is evaluated in rationals at a c that floating point has brought near
the minimum, where it is nearly P(c). Whatever c is, the bound holds. All results are rounded up.

The neighbour relation is replace-one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tacit.statistics.box_extrema import Box, oriented

_GRID = 2**60  # results are rounded up to multiples of 1 / _GRID
_SWEEPS = 500


def complete_homogeneous(u: Sequence[Any], degree: int) -> Any:
    """h_degree(u): the sum of all distinct monomials of ``degree``, in the arithmetic of ``u``."""
    sums: list[Any] = [1] + [0] * degree
    for value in u:
        for k in range(1, degree + 1):
            sums[k] += value * sums[k - 1]
    return sums[degree]


def l1_fourth_moments(box: Box) -> Fraction:
    """The L1 sensitivity of all distinct monomials of degree 4. A constant is a coordinate with lo = hi = 1.

    Proof: by the corner theorem it is h4(hi) - min h4(u). With xi_j independent and standard exponential, E[xi^k] = k!
    and so 24 h4(u) = E[(sum_j u_j xi_j)^4], a mean of convex functions. The minimum is certified as above. []
    bernstein2019 (section 3.4.4) counts w_x^4 for each of them, which is too little for boxes away from 0.
    """
    box = oriented(box)
    least = _least(
        box,
        value=lambda u: complete_homogeneous(u, 4),
        derivative=lambda u, i: complete_homogeneous([*u, u[i]], 3),
        curvature=lambda u, i: 2 * complete_homogeneous([*u, u[i], u[i]], 2),
    )
    return _rounded_up(complete_homogeneous([hi for _, hi in box], 4) - least)


def l1_with_fourth_moments(covariates: Box, response: tuple[Fraction, Fraction]) -> Fraction:
    """The L1 sensitivity of one joint release: all monomials of x of degree 1 to 4, and y, x_j y, y^2.

    Proof: by the corner theorem it is P(hi) - min P with P(u, y) = h4(1, u) + y (1 + sum_j u_j) + y^2. P is convex: let
    xi_0, xi_j be as in `l1_fourth_moments` and Z = xi_0 + sum_j u_j xi_j, W = sum_j a_j xi_j. In the direction (a, b)
    the second derivative is E[Z^2 W^2]/2 + 2 b A + 2 b^2 with A = sum_j a_j. The variable xi_0 - 1 has mean 0 and
    variance 1, and E[Z W (xi_0 - 1)] = A, so by Cauchy and Schwarz E[Z^2 W^2] >= A^2. What remains is at least
    A^2/2 + 2 b A + 2 b^2 = (A + 2 b)^2 / 2 >= 0. The minimum is certified as above. []
    """
    box = oriented([*covariates, response])

    def value(u: Sequence[Any]) -> Any:
        *x, y = u
        return complete_homogeneous([1, *x], 4) + y * (1 + sum(x)) + y * y

    def derivative(u: Sequence[Any], i: int) -> Any:
        *x, y = u
        return complete_homogeneous([1, *x, x[i]], 3) + y if i < len(x) else 1 + sum(x) + 2 * y

    def curvature(u: Sequence[Any], i: int) -> Any:
        *x, _ = u
        return 2 * complete_homogeneous([1, *x, x[i], x[i]], 2) if i < len(x) else 2

    return _rounded_up(value([hi for _, hi in box]) - _least(box, value, derivative, curvature))


def _least(
    box: Box,
    value: Callable[[Sequence[Any]], Any],
    derivative: Callable[[Sequence[Any], int], Any],
    curvature: Callable[[Sequence[Any], int], Any],
) -> Fraction:
    """A lower bound on a convex function over the box: its tangent plane near the minimum.

    ``derivative`` and ``curvature`` are the first and second derivative in one coordinate.
    """
    ends = [(float(lo), float(hi)) for lo, hi in box]
    u = [min(max(0.0, lo), hi) for lo, hi in ends]
    for _ in range(_SWEEPS):  # Newton's method, one coordinate after the other
        before = list(u)
        for i, (lo, hi) in enumerate(ends):
            bend = curvature(u, i)
            if bend > 0:
                u[i] = min(max(u[i] - derivative(u, i) / bend, lo), hi)
        if u == before:
            break
    at = [min(max(Fraction(v), lo), hi) for v, (lo, hi) in zip(u, box, strict=True)]
    drop = Fraction(0)
    for i, (lo, hi) in enumerate(box):
        rise = derivative(at, i)
        drop += min(rise * (lo - at[i]), rise * (hi - at[i]))
    return value(at) + drop


def _rounded_up(value: Fraction) -> Fraction:
    return Fraction(math.ceil(value * _GRID), _GRID)
