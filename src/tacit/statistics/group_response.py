"""What a varying intercept needs of the rows: by group how many there are and the sum of the response, and over all
rows the sum of its squares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.design import Scaled
from tacit.statistics.factors import Factors
from tacit.statistics.statistic import Statistic

_CHUNK = 2**15
_SQUARES = Fraction(2)  # relative scale of the noise on the sum of squares


@dataclass(frozen=True)
class GroupResponse(Statistic):
    """For each group of ``by`` the sums of (1 - y) / 2 and (1 + y) / 2, and over all rows that of y^2; y is the
    response
    mapped to [-1, 1].

    The two sums of a group add up to its rows, and their difference is the sum of y. A dense Gram matrix with an
    indicator
    for each group holds no more, since products of two groups are 0.
    """

    response: Scaled
    by: Factors
    steps: int = lattice.resolution(2)

    @property
    def columns(self) -> tuple[str, ...]:
        """The group, and the response."""
        return (*self.by.columns, *self.response.numbers)

    @property
    def entries(self) -> tuple[str, ...]:
        """Two numbers a group, and one more."""
        name = self.response.name
        by_group = tuple(f"{name} {part}, {group}" for group in self.by.named for part in ("low", "high"))
        return (*by_group, f"{name}*{name}")

    @property
    def row_entries(self) -> tuple[int, ...]:
        """All but the last: a row is spread over the two of its group."""
        return tuple(range(2 * self.by.size))

    @property
    def unit(self) -> int:
        """Products of two lattice numbers."""
        return self.steps**2

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum below 2^53."""
        return lattice.batch_rows(2)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact: float64 counts whole numbers below 2^53, which `batch_rows` sees to; the steps are even."""
        import numpy as np

        size = self.by.size
        parts, squares = np.zeros((size, 2)), 0.0
        rows = len(next(iter(columns.values())))
        for start in range(0, rows, _CHUNK):
            chunk = {name: values[start : start + _CHUNK] for name, values in columns.items()}
            group, y = self.by.codes(chunk), self.response.values(chunk, self.steps)
            for i, sign in enumerate((-1, 1)):
                weights = self.steps / 2 * (self.steps + sign * y)
                parts[:, i] += np.bincount(group, weights=weights, minlength=size)
            squares += float(y @ y)
        return [*parts.reshape(-1).astype(np.int64).tolist(), int(squares)]

    def sensitivity(self) -> Sensitivity:
        """A row that changes its group moves two blocks, by one unit each: L1 5/2 and L2 squared 2, in units.

        Proof: for replace-one neighbours with responses y and y', in units, the sum of squares divided by its relative
        scale 2. The parts of a row are not negative, add up to 1, and their squares to (1 + y^2) / 2. In two groups
        L1 is
        2 + |y^2 - y'^2| / 2 <= 5/2, which y = 1, y' = 0 reach. In one group it is d + d s / 2 with d = |y - y'| and
        s = |y + y'| <= 2 - d, so at most 2 d - d^2 / 2 <= 2. L2 squared is in two groups
        (1 + y^2) / 2 + (1 + y'^2) / 2 + (y^2 - y'^2)^2 / 4, convex in y^2 and in y'^2, so largest where these are 0
        or 1:
        1, 7/4 or 2. In one group it is (y - y')^2 / 2 + (y^2 - y'^2)^2 / 4, whose second derivative in y is
        1 + 3 y^2 - y'^2 >= 0, and the same in y': it is largest at the ends, where it is 0 or 2. []
        """
        return Sensitivity(Fraction(5, 2) * self.unit, Fraction(2) * self.unit**2, self._scales)

    def addition(self) -> Sensitivity:
        """One row's vector: L1 3/2 and L2 squared 5/4, in units.

        Proof: under add-remove the sums differ by one row's vector, whose L1 norm is 1 + y^2 / 2 and whose squared L2
        norm is
        (1 + y^2) / 2 + y^4 / 4, with the last entry divided by 2. Both grow with y^2 <= 1, and y = 1 reaches them. []
        """
        return Sensitivity(Fraction(3, 2) * self.unit, Fraction(5, 4) * self.unit**2, self._scales)

    def of_unknown_n(self) -> GroupResponse:
        """Itself: some of its entries add up to the number of rows."""
        return self

    @property
    def _scales(self) -> tuple[Fraction, ...]:
        return (*(Fraction(1),) * (2 * self.by.size), _SQUARES)
