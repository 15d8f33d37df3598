"""A statistic with the number of rows beside it, for releases where that number is not public."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.statistic import Statistic

ROWS = "rows"
_GRID = 64


@dataclass(frozen=True)
class CountedRows(Statistic):
    """The sums of ``counted``, and how many rows there are: the last entry. A row counts as one unit.

    The relative scale of the count has the least criterion of `noise_allocation` for Gaussian noise. With A the
    squared L2 norm of one record in units, over d entries, it is sqrt(d / A): -log W / 2 + (d + 1) / 2 log(A + W) is
    least at W = A / d, W = 1 / w^2. It is rounded to a 64th; no claim rests on it.
    """

    counted: Statistic

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the statistic."""
        return self.counted.columns

    @property
    def entries(self) -> tuple[str, ...]:
        """Those of the statistic, then ``rows``."""
        return (*self.counted.entries, ROWS)

    @property
    def unit(self) -> int:
        """That of the statistic."""
        return self.counted.unit

    @property
    def largest(self) -> int:
        """That of the statistic, or the unit of a row."""
        return max(self.counted.largest, self.unit)

    @property
    def batch_rows(self) -> int:
        """That of the statistic."""
        return self.counted.batch_rows

    @property
    def scale(self) -> Fraction:
        """The relative scale of the noise on the count."""
        return self._scale

    @cached_property
    def _scale(self) -> Fraction:
        one = self.counted.addition()
        size = float(one.l2_squared / Fraction(self.unit) ** 2)
        return Fraction(max(1, round(_GRID * math.sqrt(one.entries / size))), _GRID)

    @property
    def row_entries(self) -> tuple[int, ...]:
        """The last entry."""
        return (len(self.counted.entries),)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """The sums, and as many units as there are rows."""
        return [*self.counted.batch_sum(columns), len(next(iter(columns.values()))) * self.unit]

    @property
    def attained(self) -> tuple[float, float]:
        """That of the statistic."""
        return self.counted.attained

    @property
    def addition_attained(self) -> tuple[float, float]:
        """That of the statistic."""
        return self.counted.addition_attained

    def sensitivity(self) -> Sensitivity:
        """That of the statistic.

        Proof: under replace-one both tables have as many rows, so the count does not move. []
        """
        own = self.counted.sensitivity()
        return Sensitivity(own.l1, own.l2_squared, (*own.relative_scales, self.scale))

    def addition(self) -> Sensitivity:
        """That of the statistic, and one unit of the count.

        Proof: under add-remove the record that one table has more adds its own vector to the sums and one unit to the
        count, whatever its cells hold. So with w the scale of the count both norms are those of the vector plus
        unit / w, and squared (unit / w)^2. Where the vector's bounds are attained, these are. []
        """
        own, step = self.counted.addition(), self.unit / self.scale
        return Sensitivity(own.l1 + step, own.l2_squared + step**2, (*own.relative_scales, self.scale))

    def of_unknown_n(self) -> Statistic:
        """Itself: it has the count."""
        return self
