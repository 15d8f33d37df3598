"""Sums of one number with a few counts beside them, by which an assumed shape can be seen to be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.power_sums import PowerSums
from tacit.statistics.statistic import Statistic

SHARE = Fraction(1, 10)
"""Of a pure budget that goes to the counts; with Gaussian noise they add 1% to the noise on the sums, or less."""
_QUARTERS = 4
CELLS = ("at the lower bound", "in quarter 1", "in quarter 2", "in quarter 3", "in quarter 4", "at the upper bound")


@dataclass(frozen=True)
class ShapeCheck(Statistic):
    """``sums``, and how many rows are at either bound and in each quarter between them. A row counts as one unit."""

    sums: PowerSums

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return self.sums.columns

    @property
    def entries(self) -> tuple[str, ...]:
        """The sums, then the counts."""
        return (*self.sums.entries, *(f"{self.sums.column} {cell}" for cell in CELLS))

    @property
    def unit(self) -> int:
        """That of the sums."""
        return self.sums.unit

    @property
    def batch_rows(self) -> int:
        """That of the sums."""
        return self.sums.batch_rows

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """The sums, and the counts of the six cells: a total function of a number inside its bounds."""
        import numpy as np

        low, high = self.sums.low, self.sums.high
        cells = np.clip(np.asarray(columns[self.sums.column], np.float64), low, high)
        quarter = np.clip(np.floor((cells - low) / (high - low) * _QUARTERS), 0, _QUARTERS - 1).astype(np.int64)
        code = np.where(cells <= low, 0, np.where(cells >= high, len(CELLS) - 1, 1 + quarter))
        counts = np.bincount(code, minlength=len(CELLS))
        return [*self.sums.batch_sum(columns), *(int(count) * self.unit for count in counts)]

    def sensitivity(self) -> Sensitivity:
        """That of the sums, and one row that moves from one cell to another.

        Proof: under replace-one the sums move by at most their own sensitivity and the counts by +1 in one cell and -1
        in another, in units: with w the relative scale of the counts the L1 norm is at most that of the sums plus 2 / w
        and the squared L2 norm at most that of the sums plus 2 / w^2. The pairs of records that attain the sums' own
        bounds have one of them at the upper bound and the other below it, in another cell, so both are attained up to
        the lattice. w is chosen so that 2 / w is SHARE of the whole L1 norm. []
        """
        own = self.sums.sensitivity()
        l1 = own.l1 / self.unit
        w = 2 * (1 - SHARE) / (SHARE * l1)
        return Sensitivity(
            own.l1 + 2 * self.unit / w,
            own.l2_squared + 2 * Fraction(self.unit) ** 2 / w**2,
            (*own.relative_scales, *(w,) * len(CELLS)),
        )

    def addition(self) -> Sensitivity:
        """That of the sums, and one row in one cell.

        Proof: under add-remove a record adds its own sums and one unit to the count of its cell. A record at the upper
        bound attains both bounds of the sums, and it is in a cell, so the norms add up. []
        """
        own, w = self.sums.addition(), self.sensitivity().relative_scales[-1]
        step = self.unit / w
        return Sensitivity(own.l1 + step, own.l2_squared + step**2, self.sensitivity().relative_scales)
