"""What a survey asks of one cohort: the public point at which each person's own score is taken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tacit.errors import expected
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sums import LARGEST

USUAL_SHARE = 0.25
"""Of a report that goes to the information, unless a plan says another."""


@dataclass(frozen=True)
class Cohort:
    """The ``point`` of a cohort in mapped units, and which part of a report, ``matrix``, goes to the information.

    Left out, the point is 0 and the part `USUAL_SHARE`; with a part of 0 people report their scores alone. A point lies
    on the lattice of multiples of 1 / `POINT_UNIT` and is no larger than `LARGEST`. A number off the lattice is refused
    and not rounded, so that every device that takes a point takes the same one.
    """

    point: tuple[float, ...] | None = None
    matrix: float | None = None

    def __post_init__(self) -> None:
        if self.point is not None:
            given = self.point
            if not isinstance(given, list | tuple) or not given:
                raise expected("point", given, "to be a list of numbers, one for each coefficient")
            for number in given:
                if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= LARGEST:
                    raise expected("point", number, f"to have coefficients of at most {LARGEST} in size")
                if not float(number * POINT_UNIT).is_integer():
                    raise expected("point", number, f"to have coefficients that are multiples of 1/{POINT_UNIT}")
            object.__setattr__(self, "point", tuple(float(number) for number in given))
        if self.matrix is not None:
            share = self.matrix
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
                raise expected("matrix", share, "to be a number of at least 0 and below 1")

    @property
    def share(self) -> float:
        """The part of a report that goes to the information."""
        return USUAL_SHARE if self.matrix is None else float(self.matrix)

    def lattice_point(self, coefficients: int) -> tuple[int, ...]:
        """The point in steps of 1 / `POINT_UNIT`; refuses one of another length."""
        if self.point is None:
            return (0,) * coefficients
        if len(self.point) != coefficients:
            raise expected("point", list(self.point), f"to have {coefficients} coefficients, as the formula has")
        return tuple(round(number * POINT_UNIT) for number in self.point)

    def to_plain(self) -> dict[str, Any]:
        """As it stands in the ``[mechanism]`` table of a plan file; nothing where all is left out."""
        plain: dict[str, Any] = {} if self.point is None else {"point": list(self.point)}
        return plain if self.matrix is None else {**plain, "matrix": self.matrix}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the keys of `to_plain` from a table that may have others."""
        return cls(table.get("point"), table.get("matrix"))


def rounded_point(point: Any) -> tuple[float, ...]:
    """The point nearest to ``point`` on a lattice of multiples of 1/1024, which plan files show in few digits."""
    return tuple(
        round(min(max(float(number), -LARGEST), LARGEST) * _SHOWN) / _SHOWN if math.isfinite(number) else 0.0
        for number in point
    )


_SHOWN = 1024
