"""Sums over rows of one clamped number and of its square, on a fine lattice: what a mean and a spread need of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Number
from tacit.statistics.fine_lattice import CHUNK, chunks, steps_of, whole
from tacit.statistics.statistic import Statistic

SQUARE_SCALE = Fraction(5, 8)
"""The noise on the square over that on the number; the criterion of `noise_allocation` has its best in 0.600..0.667."""


@dataclass(frozen=True)
class BoundedMoments(Statistic):
    """The sums of c and of c^2, where c is the cell of ``column`` clamped to its bounds and mapped to [-1, 1]."""

    column: str
    low: float
    high: float

    def __post_init__(self) -> None:
        bounds = Number(self.low, self.high)  # refuses bounds that are none
        object.__setattr__(self, "low", bounds.low)
        object.__setattr__(self, "high", bounds.high)

    @property
    def steps(self) -> int:
        """The lattice steps from -1 to 1, an even number."""
        return steps_of(self.low, self.high)

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column that is summed."""
        return (self.column,)

    @property
    def entries(self) -> tuple[str, ...]:
        """The number and its square."""
        return self.column, f"{self.column}^2"

    @property
    def unit(self) -> int:
        """The square of the steps from 0 to 1."""
        return (self.steps // 2) ** 2

    @property
    def batch_rows(self) -> int:
        """Exact for any batch; so many are a fair share of work."""
        return 64 * CHUNK

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums in 64-bit integers, chunk by chunk."""
        half, first, second = self.steps // 2, 0, 0
        for chunk in chunks(columns):
            c = whole(chunk[self.column], self.low, self.high, self.steps) - half
            first += int(c.sum())
            second += int((c * c).sum())
        return [first * half, second]

    def sensitivity(self) -> Sensitivity:
        """The maximum over pairs of records, for noise on the square that is 5/8 of that on the number.

        Proof: let c and c' be two records' lattice numbers, in [-1, 1]. Under replace-one the sums differ by
        D = (c - c', c^2 - c'^2) units. By the corner theorem (`box_extrema`) both norms are largest with one record at
        1; u is the other one, and w = 5/8. L1 is (1 - u) + (1 - u^2) / w, concave in u, and its maximum over real u is
        1 + w/4 + 1/w at u = -w/2; that is within 2^-40 of a lattice point's value, so it is claimed. L2^2 is
        (1 - u)^2 (1 + (1 + u)^2 / w^2): with v = 1 + u in [0, 2] it is at most 4, its value at v = 0, if and only if
        v (2 - v)^2 / (4 - v) <= w^2. The left side is largest where v^2 - 6 v + 4 = 0, at v = 3 - sqrt(5):
        2 v^2 / (1 + sqrt(5)) < 0.361, and w^2 is 0.390625. []
        """
        w = SQUARE_SCALE
        return Sensitivity((1 + w / 4 + 1 / w) * self.unit, Fraction(4) * Fraction(self.unit) ** 2, (Fraction(1), w))
