"""What is kept of the rows while they are read: the secret side of the boundary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.statistics.statistic import Statistic


class Accumulator(ABC):
    """What is kept of the rows while they are read. It is secret: only a mechanism makes it fit to leave."""

    @property
    @abstractmethod
    def batch_rows(self) -> int:
        """The most rows that one call of `add` takes."""

    @abstractmethod
    def add(self, columns: Mapping[str, Any], *, times: int = 1) -> None:
        """Take in one batch of parsed cells, ``times`` times over."""


class Sums(Accumulator):
    """The exact integer sums of a statistic over the rows seen so far."""

    def __init__(self, statistic: Statistic) -> None:
        self.statistic = statistic
        self.totals = [0] * len(statistic.entries)

    @property
    def batch_rows(self) -> int:
        """As many rows as the statistic adds up exactly."""
        return self.statistic.batch_rows

    def add(self, columns: Mapping[str, Any], *, times: int = 1) -> None:
        """Exact, so that as many as it takes are a product. However many rows come, no more are summed at once."""
        rows, most = len(next(iter(columns.values()))), self.batch_rows
        for start in range(0, rows, most):
            some = columns if rows <= most else {name: values[start : start + most] for name, values in columns.items()}
            added = self.statistic.batch_sum(some)
            self.totals = [a + times * b for a, b in zip(self.totals, added, strict=True)]

    def fresh(self) -> Sums:
        """Sums of the same statistic, of no rows."""
        return Sums(self.statistic)

    def merge(self, totals: Sequence[int]) -> None:
        """Take in the sums over other rows. Exact, so that neither the order nor the grouping matters."""
        self.totals = [a + b for a, b in zip(self.totals, totals, strict=True)]
