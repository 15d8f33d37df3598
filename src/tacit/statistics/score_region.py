"""What a design lets a row's vector be: the norms, products and linear predictors that a sensitivity of scores needs.

Columns of a design fall into groups. The columns of one group are about the same categories and the same numbers, or
the same function of one, and differ in the levels, so that at most one of them is not 0 in a row. Groups are bounded
one by one.

The B-splines of one term are a group, too. They are not negative and add up to at most `STEPS` in whole numbers
(`Mapped.write` rounds them down; what `PublicFunction` computes adds up to less than 1 + 2^-45, and whole numbers whose
sum is below `STEPS` + 1 add up to at most `STEPS`), within the levels that hold if they are multiplied by any. So they
are a convex combination of 0 and of vectors with one entry of `STEPS`, as an indicator's group would have it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.statistics.design import DesignColumn, Indicator, Scaled
from tacit.statistics.score_tables import FINE, STEPS

POINT_UNIT = 2**20
"""Lattice steps of a coefficient that make a 1."""
_SHIFT = (POINT_UNIT * STEPS // FINE).bit_length() - 1


def shifted(eta: int) -> int:
    """A sum of products of lattice numbers and a lattice point in the steps of eta, rounded down."""
    return eta >> _SHIFT


@dataclass(frozen=True)
class ScoreRegion:
    """Bounds on the vectors q, q' of two rows, in lattice units: |q|^2 <= ``square``, <q, q'> >= ``inner_low``.

    ``nonzero`` is the most entries that are not 0, of which ``numbers`` can be negative; ``shared`` of them, at least,
    are in the same places in any two rows; ``constant`` says whether one of those is the constant. ``splines`` of the
    entries stand for a group of B-splines each, whose vector is a convex combination of such entries.
    """

    design: tuple[DesignColumn, ...]
    radius_square: int | None
    square: int
    inner_low: int
    nonzero: int
    numbers: int
    shared: int
    constant: bool
    splines: int = 0

    def etas(self, point: Sequence[int]) -> tuple[int, int]:
        """The least and the largest eta of a row at ``point``, in 1 / `FINE`, or numbers beyond them.

        Proof: eta is a sum over groups, to each of which at most one column contributes, q_j t_j with q_j between its
        bounds; none may, where levels have to hold. Of B-splines, it is linear on the convex hull of such vectors. In a
        ball the numbers together contribute at most |q| |t|, by Cauchy and Schwarz. Rounding down is monotone. []
        """
        low, high = 0, 0
        ball: list[int] = []
        balls = [0, 0]
        for group in column_groups(self.design):
            apart = self.design[group[0]].levels or self.radius_square is not None or _spline(self.design[group[0]])
            # a ball moves entries towards 0
            ends = [0] if apart else []
            for j in group:
                ends += [bound * point[j] for bound in _bounds(self.design[j])]
            if self.radius_square is not None and isinstance(self.design[group[0]], Scaled):
                ball += [point[j] for j in group]
                balls = [balls[0] + min(ends), balls[1] + max(ends)]
            else:
                low, high = low + min(ends), high + max(ends)
        if self.radius_square is not None:
            most = math.isqrt(self.radius_square * sum(t * t for t in ball)) + 1
            balls = [max(balls[0], -most), min(balls[1], most)]
        return shifted(low + balls[0]), shifted(high + balls[1])

    def lengths(self, point: Sequence[int]) -> tuple[float, float, float]:
        """|t| without and with the constant's entry, and the largest |t_j| without it, in real units."""
        own = [j for j, column in enumerate(self.design) if isinstance(column, Scaled) or column.levels]
        squares = [sum(point[j] ** 2 for j in some) for some in (own, range(len(point)))]
        short, whole = (math.sqrt(square) / POINT_UNIT for square in squares)
        return short, whole, max((abs(point[j]) for j in own), default=0) / POINT_UNIT


def score_region(design: Sequence[DesignColumn], radius: Fraction | None) -> ScoreRegion:
    """The region of a design; ``radius`` is that of the ball that its numbers are moved into, if there is one.

    Proof: |q|^2 is a sum over groups of at most the largest square of an entry, as it is convex, also for B-splines,
    whose products <q, q'> are 0 or more; in a ball the squares of the numbers
    sum up to at most floor(radius^2 steps^2). In <q, q'> the constant contributes steps^2, other indicators 0 or more,
    a group of numbers in [lo, hi] at least lo hi where lo < 0 and at least 0 otherwise; in a ball all numbers together
    at least minus their largest square. []
    """
    square = low = nonzero = numbers = shared = splines = 0
    negative = number_square = 0
    constant = False
    for group in column_groups(design):
        first = design[group[0]]
        most = max(max(abs(bound) for bound in _bounds(design[j])) for j in group)
        nonzero += 1
        shared += not first.levels and not _spline(first)
        if _spline(first):
            splines += 1
            square += most**2
        elif isinstance(first, Scaled):
            numbers += 1
            number_square += most**2
            negative += min(min(0, lo * hi) for lo, hi in (_bounds(design[j]) for j in group))
        else:
            square += most**2
            if not first.levels:
                constant, low = True, low + STEPS**2
    limit = None if radius is None else math.floor(radius * radius * STEPS * STEPS)
    if limit is not None:
        number_square, negative = min(number_square, limit), max(negative, -limit)
    square, low = square + number_square, low + negative
    return ScoreRegion(tuple(design), limit, square, low, nonzero, numbers, shared, constant, splines)


def column_groups(design: Sequence[DesignColumn]) -> list[list[int]]:
    """The places of the columns of each group."""
    found: dict[object, list[int]] = {}
    for j, column in enumerate(design):
        about: object = None
        if isinstance(column, Scaled):
            about = column.numbers, column.number.partition or column.number.curves
        found.setdefault((tuple(name for name, _ in column.levels), about), []).append(j)
    return list(found.values())


def _spline(column: DesignColumn) -> bool:
    return isinstance(column, Scaled) and column.number.partition is not None


def _bounds(column: DesignColumn) -> tuple[int, int]:
    """The whole numbers between which an entry lies where its levels hold, before it is moved into a ball."""
    if isinstance(column, Indicator):
        return STEPS, STEPS
    low, high = column.number.bounds(STEPS)
    return low, high
