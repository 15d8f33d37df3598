"""How many rows each group has, and the sums of a clamped number and of its square in each, in three soft bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Number
from tacit.statistics.factors import Factors
from tacit.statistics.fine_lattice import CHUNK, chunks, steps_of, whole
from tacit.statistics.statistic import Statistic

PARTS = ("low", "middle", "high")


@dataclass(frozen=True)
class GroupMoments(Statistic):
    """For each group the sums of (1 - u)^2, 2 u (1 - u) and u^2, u the cell of ``column`` mapped to [0, 1].

    A row is spread over the three by the Bernstein polynomials of degree 2, which add up to 1. So the three sums of a
    group, b_0 + b_1 + b_2, give its number of rows; b_1 / 2 + b_2 is the sum of u, and b_2 that of u^2.
    """

    column: str
    low: float
    high: float
    by: Factors

    def __post_init__(self) -> None:
        bounds = Number(self.low, self.high)
        object.__setattr__(self, "low", bounds.low)
        object.__setattr__(self, "high", bounds.high)

    @property
    def steps(self) -> int:
        """The lattice steps from 0 to 1."""
        return steps_of(self.low, self.high)

    @property
    def columns(self) -> tuple[str, ...]:
        """The factors and the number."""
        return (*self.by.columns, self.column)

    @property
    def entries(self) -> tuple[str, ...]:
        """Three numbers a group."""
        return tuple(f"{self.column} {part}, {group}" for group in self.by.named for part in PARTS)

    @property
    def row_entries(self) -> tuple[int, ...]:
        """All: a row is spread over them."""
        return tuple(range(len(self.entries)))

    @property
    def unit(self) -> int:
        """The square of the steps."""
        return self.steps**2

    @property
    def batch_rows(self) -> int:
        """Exact for any batch; so many are a fair share of work."""
        return 64 * CHUNK

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums in 64-bit integers: q is split into two halves of 12 bits, so that float64 counts exactly."""
        import numpy as np

        size, total = self.by.size, [0] * len(self.entries)
        for chunk in chunks(columns):
            group = self.by.codes(chunk)
            q = whole(chunk[self.column], self.low, self.high, self.steps)
            parts = ((self.steps - q) ** 2, 2 * q * (self.steps - q), q * q)
            for k, part in enumerate(parts):  # below 2^49: two halves, each sum below 2^25 * 2^13
                high, low = np.divmod(part, 2**24)
                upper = np.bincount(group, weights=high, minlength=size)
                lower = np.bincount(group, weights=low, minlength=size)
                for g in range(size):
                    total[3 * g + k] += int(upper[g]) * 2**24 + int(lower[g])
        return total

    def sensitivity(self) -> Sensitivity:
        """A row weighs one unit, whatever its number: replacing it moves two.

        Proof: a row adds b(u) = ((1 - u)^2, 2 u (1 - u), u^2) units to the entries of its group and 0 elsewhere; on the
        lattice the three are whole, none is negative, and they add up to the unit exactly. Under replace-one the L1
        norm of the difference is at most |b(u)|_1 + |b(u')|_1 = 2. With no entry negative the squared L2 norm of a
        difference is at most |b(u)|^2 + |b(u')|^2, and |b(u)|^2 <= |b(u)|_1^2 = 1: at most 2. Both are attained by rows
        at a bound in different groups. []
        """
        return Sensitivity(
            Fraction(2 * self.unit), Fraction(2) * Fraction(self.unit) ** 2, (Fraction(1),) * len(self.entries)
        )

    def addition(self) -> Sensitivity:
        """A row weighs one unit, whatever its number.

        Proof: under add-remove the sums differ by one row's b(u), none of whose entries is negative and which add up
        to one unit: L1 norm 1, squared L2 norm |b(u)|^2 <= |b(u)|_1^2 = 1, in units. A row at a bound attains both. []
        """
        return Sensitivity(Fraction(self.unit), Fraction(self.unit) ** 2, (Fraction(1),) * len(self.entries))

    def of_unknown_n(self) -> GroupMoments:
        """Itself: its entries add up to the number of rows."""
        return self
