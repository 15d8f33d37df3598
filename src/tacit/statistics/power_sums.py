"""Sums over rows of one clamped number and of its square: what the one-column families need of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Number
from tacit.statistics import lattice
from tacit.statistics.statistic import Statistic

_SQUARE_SCALE = Fraction(5, 8)


@dataclass(frozen=True)
class PowerSums(Statistic):
    """The sums of c^k for k in ``powers``, (1,) or (1, 2), where c is the cell of ``column`` clamped and mapped.

    Cells are clamped to [``low``, ``high``] and mapped to [-1, 1] if ``signed``, else to [0, 1]. Every entry is brought
    to the degree of the highest power by factors of 1, which is ``steps`` on the lattice, so that one `unit` serves
    all. Counts from 0 to a whole ``high`` are on the lattice exactly if ``high`` is not finer than it.
    """

    column: str
    low: float
    high: float
    powers: tuple[int, ...]
    signed: bool

    def __post_init__(self) -> None:
        Number(self.low, self.high)  # refuses bounds that are none
        object.__setattr__(self, "powers", tuple(self.powers))
        if self.powers not in ((1,), (1, 2)):
            raise expected("powers", self.powers, "to be (1,) or (1, 2)")

    @property
    def steps(self) -> int:
        """The lattice steps of a one: for counts a multiple of ``high``."""
        finest = lattice.resolution(max(self.powers))
        counts = not self.signed and self.low == 0 and float(self.high).is_integer() and self.high <= finest
        return finest - finest % int(self.high) if counts else finest

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column that is summed."""
        return (self.column,)

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of each power."""
        return (self.column, f"{self.column}^2")[: len(self.powers)]

    @property
    def unit(self) -> int:
        """Products of as many lattice numbers as the highest power has factors."""
        return self.steps ** max(self.powers)

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum below 2^53."""
        return lattice.batch_rows(max(self.powers))

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums of whole numbers in float64."""
        import numpy as np

        bounds = Number(self.low, self.high)
        cells = np.clip(np.asarray(columns[self.column], np.float64), self.low, self.high)
        rows = (lattice.signed if self.signed else lattice.unsigned)(cells, bounds, self.steps)[:, None]
        if len(self.powers) == 1:
            return lattice.exact_products(np.ones_like(rows), rows)[0]
        first = lattice.exact_products(np.full_like(rows, float(self.steps)), rows)[0][0]
        return [first, lattice.exact_gram(rows)[0][0]]

    def sensitivity(self) -> Sensitivity:
        """The exact maximum over pairs of records, for noise on the square that is 5/8 of that on a signed number.

        Proof: let c and c' be two records' lattice numbers over steps, in [lo, 1] with lo = -1 if signed and 0 else.
        Under replace-one the sums differ by D = (c - c', c^2 - c'^2) units. By the corner theorem (`box_extrema`) both
        norms are largest with one record at 1, so with u the other one and w the relative scale of the square

            L1 = max over u of (1 - u) + (1 - u^2) / w,    L2^2 = max over u of (1 - u)^2 + (1 - u^2)^2 / w^2.

        One power: 1 - u is largest at u = lo: 1 - lo in L1, its square in L2. Both powers, unsigned, w = 1: both terms
        are largest at u = 0, L1 = 2 and L2^2 = 2. Both powers, signed, w = 5/8: L1 is concave in u with its maximum
        1 + w/4 + 1/w at u = -w/2, a lattice point as steps is a multiple of 16. L2^2 is (1 - u)^2 (1 + (1 + u)^2/w^2):
        with v = 1 + u in [0, 2] it is at most 4, its value at v = 0, if and only if v (2 - v)^2 / (4 - v) <= w^2. The
        left side is largest where v^2 - 6 v + 4 = 0, at v = 3 - sqrt(5): 2 v^2 / (1 + sqrt(5)) < 0.361, and w^2 is
        0.390625. All are attained. []
        The choice of w: noise on the square is cheap, because two numbers far apart have equal squares. By the
        criterion of `noise_allocation` the best w is 0.600 for L2 and 0.667 for L1.
        """
        lowest = Fraction(-1 if self.signed else 0)
        if len(self.powers) == 1:
            l1, l2_squared, scales = 1 - lowest, (1 - lowest) ** 2, (Fraction(1),)
        elif self.signed:
            w = _SQUARE_SCALE
            l1, l2_squared, scales = 1 + w / 4 + 1 / w, Fraction(4), (Fraction(1), w)
        else:
            l1, l2_squared, scales = Fraction(2), Fraction(2), (Fraction(1), Fraction(1))
        return Sensitivity(l1 * self.unit, l2_squared * Fraction(self.unit) ** 2, scales)
