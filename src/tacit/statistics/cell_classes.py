"""How many cells of each column are not what was declared, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Schema, Screened
from tacit.statistics import lattice
from tacit.statistics.statistic import Statistic


@dataclass(frozen=True)
class CellClasses(Statistic):
    """For every screened column the number of cells in each of its classes, where one cell counts as ``steps``.

    ``counted`` holds each column's name and its classes. Cells that are as declared are not counted.
    """

    counted: tuple[tuple[str, tuple[str, ...]], ...]
    steps: int = lattice.resolution(1)

    @classmethod
    def of(cls, schema: Schema) -> CellClasses:
        """The counts of all columns of a schema that is screened."""
        return cls(tuple((name, column.classes) for name, column in schema.items() if isinstance(column, Screened)))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.counted)

    @property
    def entries(self) -> tuple[str, ...]:
        """One number a column and class."""
        return tuple(f"{name}: {one}" for name, classes in self.counted for one in classes)

    @property
    def unit(self) -> int:
        """A cell counts as ``steps``."""
        return self.steps

    @property
    def batch_rows(self) -> int:
        """Exact for any batch: counting is done in 64-bit integers."""
        return lattice.batch_rows(1)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Count the codes of `Screened`; code 0 is a cell as declared."""
        import numpy as np

        counts = [np.bincount(columns[name], minlength=len(classes) + 1)[1:] for name, classes in self.counted]
        return [int(count) * self.steps for column in counts for count in column]

    def sensitivity(self) -> Sensitivity:
        """Replacing one record moves at most one cell of each column from one class to another.

        Proof: a cell belongs to at most one class, so in the entries of one column a record adds ``steps`` to one entry
        or to none. Under replace-one the difference of two records' contributions is, within each column: 0 if both
        cells are in the same class or both as declared; +-steps in one entry if one of them is as declared; +steps in
        one entry and -steps in another if they are in different classes. A column with one class knows the first two
        only. So a column of one class adds at most 1 step to the L1 norm and 1 to the squared L2 norm, in units of
        steps and steps^2, and every other column at most 2 to both. Entries of different columns are different
        coordinates, so both norms add up over columns. All of it is attained at once: every class holds some cell
        whatever stands in the other columns (an empty cell is missing, the text ``?`` or a text that is no level is
        unreadable or unknown), so one record may have all its cells in a first class and the other in a second. []
        """
        moved = sum(min(len(classes), 2) for _, classes in self.counted)
        return Sensitivity(
            l1=Fraction(moved * self.steps),
            l2_squared=Fraction(moved * self.steps**2),
            relative_scales=(Fraction(1),) * len(self.entries),
        )
