"""The interface of a bounded lattice statistic: integers that rows add to, and how far a row can move them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity


class Statistic(ABC):
    """A sum over rows of a bounded integer vector.

    Each row's contribution is a total function of its cells, so the sum is exact and does not depend on the order of
    rows, on batches or on threads. The real-valued statistic is the integer one divided by `unit`, and no row adds more
    than `largest` to any entry, up or down: one unit unless a statistic says another number.
    """

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of. What it found out since, it finds out again where it is sent."""
        made = getattr(self, "__dataclass_fields__", self.__dict__)
        return {name: self.__dict__[name] for name in made}

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""

    @property
    @abstractmethod
    def entries(self) -> tuple[str, ...]:
        """The name of each number, as it stands in a release."""

    @property
    @abstractmethod
    def unit(self) -> int:
        """The integer that stands for a real 1."""

    @property
    def largest(self) -> int:
        """A bound on what one row adds to any entry."""
        return self.unit

    @property
    @abstractmethod
    def batch_rows(self) -> int:
        """The most rows that one call of `batch_sum` adds up exactly."""

    @abstractmethod
    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """The exact sum over one batch; ``columns`` holds parsed cells (numbers inside bounds, level codes)."""

    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """How far replacing one record moves the sum, in lattice units, with its proof."""

    def addition(self) -> Sensitivity:
        """How far one record more, or less, moves the sum, in lattice units; its scales are those of `sensitivity`.

        Proof: under add-remove the sums differ by one record's vector v. No entry of it exceeds m = `largest` in size,
        so sum |v_i| / w_i is at most the sum of m / w_i, and sum (v_i / w_i)^2 at most the sum of (m / w_i)^2. A
        statistic whose entries cannot all be that large at once says less. []
        """
        scales = self.sensitivity().relative_scales
        steps = [self.largest / scale for scale in scales]
        return Sensitivity(sum(steps, Fraction(0)), sum((step**2 for step in steps), Fraction(0)), scales)

    def of_unknown_n(self) -> Statistic:
        """What is released in its place where the number of rows is not public: the same sums, and that number."""
        from tacit.statistics.counted_rows import CountedRows

        return CountedRows(self)

    @property
    def row_entries(self) -> tuple[int, ...]:
        """The places of the entries that add up to the number of rows; none unless it is released with the sums."""
        return ()

    @property
    def addition_attained(self) -> tuple[float, float]:
        """The shares of the claims of `addition` that some record is known to reach, as `attained`."""
        return 0.999, 0.999

    @property
    def attained(self) -> tuple[float, float]:
        """The shares of the claimed L1 and squared L2 sensitivity that some pair of records is known to reach.

        Up to the lattice, an exact claim is reached; a certified bound may lie higher. Tests hold a statistic to this.
        """
        return 0.999, 0.999
