"""Where the covariates of a row lie: a box, and inside it a Euclidean ball if there is one.

For designs of a constant, perhaps, and plain numbers. Numbers are mapped to [-1, 1] and rounded to the lattice as ever.
With a radius, the vector of all of them is then moved into the ball (`lattice.into_ball`), in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.statistics import lattice
from tacit.statistics.box_extrema import oriented
from tacit.statistics.design import DesignColumn, Indicator, Mapped, Scaled

Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Region:
    """The set that holds x, in mapped units: a box with hi_j >= |lo_j|, and |x|^2 <= ``square`` if there is a ball."""

    box: tuple[Interval, ...]
    square: Fraction | None

    @property
    def dimension(self) -> int:
        """How many covariates there are."""
        return len(self.box)

    @property
    def inner_low(self) -> Fraction:
        """A lower bound on <x, x'> for two points of the region.

        Proof: x_j x'_j is at least lo_j hi_j where lo_j < 0, else lo_j^2; and <x, x'> >= -|x| |x'|. []
        """
        of_box = sum((lo * hi if lo < 0 else lo * lo for lo, hi in self.box), Fraction(0))
        return of_box if self.square is None else max(of_box, -self.square)


def plain_numbers(design: Sequence[DesignColumn]) -> tuple[Scaled, ...] | None:
    """The design without its constant, if the rest is one or more different plain numbers; else None."""
    rest = [column for column in design if not (isinstance(column, Indicator) and not column.levels)]
    numbers = [c for c in rest if isinstance(c, Scaled) and not c.levels and c.number.plain]
    plain = len(rest) == len(numbers) > 0 and len(design) - len(rest) <= 1
    return tuple(numbers) if plain and len({c.numbers for c in numbers}) == len(numbers) else None


def checked_radius(radius: object, numbers: Sequence[Scaled], steps: int) -> Fraction:
    """``radius`` as an exact fraction, at least one step of the lattice and at most that of the box."""
    d = len(numbers)
    if isinstance(radius, bool) or not isinstance(radius, int | Fraction):
        raise expected("radius", radius, "to be a Fraction")
    if not (radius * steps >= 1 and radius * radius <= d):
        raise expected(
            "radius", radius, f"to be above 0 and at most sqrt({d}), the radius of the box of {d} mapped numbers"
        )
    return Fraction(radius)


def whole_bounds(numbers: Sequence[Scaled], steps: int, radius: Fraction | None) -> dict[Mapped, tuple[int, int]]:
    """The whole numbers between which each covariate lies.

    Proof: without a ball they are what the ends of its range round to. `into_ball` moves a coordinate towards 0 and
    never beyond, so with a ball the interval is widened to hold 0; and q_j^2 <= sum q^2 <= floor(radius^2 steps^2). []
    """
    found = {column.number: column.number.bounds(steps) for column in numbers}
    if radius is None:
        return found
    most = math.isqrt(math.floor(radius * radius * steps * steps))
    return {number: (max(min(low, 0), -most), min(max(high, 0), most)) for number, (low, high) in found.items()}


def region_of(numbers: Sequence[Scaled], steps: int, radius: Fraction | None) -> Region:
    """The region in mapped units: lattice points over ``steps``."""
    whole = whole_bounds(numbers, steps, radius).values()
    box = oriented([(Fraction(low, steps), Fraction(high, steps)) for low, high in whole])
    square = None if radius is None else Fraction(math.floor(radius * radius * steps * steps), steps * steps)
    return Region(tuple(box), square)


def covariates(numbers: Sequence[Scaled], columns: Mapping[str, Any], steps: int, radius: Fraction | None) -> Any:
    """The rows' covariates as whole numbers, (rows, covariates) in float64."""
    import numpy as np

    points = np.stack([column.values(columns, steps) for column in numbers], axis=1)
    return points if radius is None else lattice.into_ball(points, radius, steps)
