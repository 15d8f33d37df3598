"""How many rows hold each level of one category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.statistic import Statistic


@dataclass(frozen=True)
class Counts(Statistic):
    """The number of rows at each level, on a lattice where one row counts as ``steps``.

    With two levels only the second one is counted: n is public, so the other count follows, and one number has half the
    sensitivity of two. With three or more all are counted: the last one is free and lets the noise average out.
    ``every`` counts both of two, too, for releases where n is not public.
    """

    column: str
    levels: tuple[str, ...]
    steps: int = lattice.resolution(1)
    every: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column that is counted."""
        return (self.column,)

    @property
    def counted(self) -> tuple[int, ...]:
        """The codes of the levels that are counted."""
        return tuple(range(len(self.levels)))[0 if self.every or len(self.levels) > 2 else 1 :]

    @property
    def entries(self) -> tuple[str, ...]:
        """One number a counted level."""
        return tuple(f"{self.column}={self.levels[code]}" for code in self.counted)

    @property
    def row_entries(self) -> tuple[int, ...]:
        """All, where every one is counted."""
        return tuple(range(len(self.levels))) if self.every else ()

    @property
    def unit(self) -> int:
        """A row counts as ``steps``."""
        return self.steps

    @property
    def batch_rows(self) -> int:
        """Exact for any batch: counting is done in 64-bit integers."""
        return lattice.batch_rows(1)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Count the codes and put them on the lattice."""
        import numpy as np

        counts = np.bincount(columns[self.column], minlength=len(self.levels))
        return [int(counts[code]) * self.steps for code in self.counted]

    def sensitivity(self) -> Sensitivity:
        """Replacing one record moves at most one row from one level to another.

        Proof: a row adds ``steps`` to the entry of its level, if that level is counted, and 0 elsewhere. Under
        replace-one the difference of two records' contributions is 0 if their levels agree. Otherwise, with all levels
        counted, it is +steps in one entry and -steps in another: L1 norm 2 steps, squared L2 norm 2 steps^2. With only
        the second of two levels counted it is +steps or -steps in the one entry. Both are attained. []
        """
        moved = 2 if len(self.counted) > 1 else 1
        return Sensitivity(
            l1=Fraction(moved * self.steps),
            l2_squared=Fraction(moved * self.steps**2),
            relative_scales=(Fraction(1),) * len(self.entries),
        )

    def addition(self) -> Sensitivity:
        """A record is in one level.

        Proof: under add-remove the sums differ by ``steps`` in the entry of the record's level, if it is counted, and
        by nothing elsewhere: L1 norm steps, squared L2 norm steps^2. Both are attained. []
        """
        return Sensitivity(Fraction(self.steps), Fraction(self.steps**2), (Fraction(1),) * len(self.entries))

    def of_unknown_n(self) -> Counts:
        """All levels are counted: no count follows from the others, and together they say how many rows there are."""
        return replace(self, every=True)
