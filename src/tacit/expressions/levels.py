"""Levels of a row: columns of levels, numbers cut at declared edges, levels under other names."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tacit.expressions.cells import Condition, Leveled, Numeric, RowCells
from tacit.schema import Level


@dataclass(frozen=True)
class LevelColumn(Leveled):
    """A column of levels."""

    name: str
    known: tuple[Level, ...]

    @property
    def levels(self) -> tuple[Level, ...]:
        return self.known

    def codes(self, cells: RowCells) -> Any:
        return cells.values[self.name]


@dataclass(frozen=True)
class Cut(Leveled):
    """The interval of ``edges`` that a number lies in: [e_0, e_1), [e_1, e_2), ..., the last one with both ends.

    The first and the last edge are the ends of the number's range, so that every number lies in one of them.
    """

    part: Numeric
    edges: tuple[float, ...]

    @property
    def levels(self) -> tuple[Level, ...]:
        named = [str(int(edge)) if edge.is_integer() and abs(edge) < 2**53 else repr(edge) for edge in self.edges]
        pairs = list(pairwise(named))
        return (*(f"[{a}, {b})" for a, b in pairs[:-1]), f"[{pairs[-1][0]}, {pairs[-1][1]}]")

    def codes(self, cells: RowCells) -> Any:
        import numpy as np

        values = np.asarray(self.part.numbers(cells), np.float64)
        found = np.zeros(values.shape, np.int64)
        for edge in self.edges[1:-1]:
            found += values >= edge
        return np.where(np.isnan(values), -1, found)


@dataclass(frozen=True)
class Recoded(Leveled):
    """Levels under other names: ``codes_of[i]`` is the place in ``known`` that the i-th level of ``part`` takes."""

    part: Leveled
    known: tuple[Level, ...]
    codes_of: tuple[int, ...]

    @property
    def levels(self) -> tuple[Level, ...]:
        return self.known

    def codes(self, cells: RowCells) -> Any:
        import numpy as np

        return np.array([*self.codes_of, -1], np.int64)[self.part.codes(cells)]


@dataclass(frozen=True)
class Truth(Leveled):
    """A condition as the levels false and true."""

    part: Condition

    @property
    def levels(self) -> tuple[Level, ...]:
        return (False, True)

    def codes(self, cells: RowCells) -> Any:
        import numpy as np

        held, failed = self.part.truths(cells)
        return np.where(held, 1, np.where(failed, 0, -1)).astype(np.int64)
