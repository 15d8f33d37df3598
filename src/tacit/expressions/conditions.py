"""Conditions of a row: comparisons, membership, is_missing, and, or, not; and how many of some hold.

A condition about something that has no value has none itself, and with and, or and not it goes on as in SQL: false and
nothing is false, true or nothing is true, anything else with nothing is nothing.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tacit.expressions.cells import Condition, Leveled, Numeric, RowCells


@dataclass(frozen=True)
class Compared(Condition):
    """left < right, and so on, of two numbers."""

    left: Numeric
    right: Numeric
    sign: str

    def truths(self, cells: RowCells) -> tuple[Any, Any]:
        a, b = self.left.numbers(cells), self.right.numbers(cells)
        below, equal, above = a < b, a == b, a > b  # none of them where one is NaN
        parts = {"<": below, "==": equal, ">": above}
        if self.sign in parts:
            others = [found for sign, found in parts.items() if sign != self.sign]
            return parts[self.sign], others[0] | others[1]
        opposite = {"<=": above, ">=": below, "!=": equal}[self.sign]
        held = {"<=": below | equal, ">=": above | equal, "!=": below | above}[self.sign]
        return held, opposite


@dataclass(frozen=True)
class AtLevel(Condition):
    """Whether ``level`` is at one of these codes."""

    level: Leveled
    accepted: tuple[int, ...]

    def truths(self, cells: RowCells) -> tuple[Any, Any]:
        import numpy as np

        codes = self.level.codes(cells)
        held = np.isin(codes, self.accepted)
        return held, (codes >= 0) & ~held


@dataclass(frozen=True)
class Missing(Condition):
    """Whether the cell of a column is missing: empty, unreadable, no declared level, or derived from such a cell."""

    name: str

    def truths(self, cells: RowCells) -> tuple[Any, Any]:
        found = cells.missing[self.name]
        return found, ~found


@dataclass(frozen=True)
class Not(Condition):
    """The opposite."""

    part: Condition

    def truths(self, cells: RowCells) -> tuple[Any, Any]:
        held, failed = self.part.truths(cells)
        return failed, held


@dataclass(frozen=True)
class Joined(Condition):
    """Whether all, or any, of some conditions hold."""

    parts: tuple[Condition, ...]
    every: bool

    def truths(self, cells: RowCells) -> tuple[Any, Any]:
        held, failed = zip(*(part.truths(cells) for part in self.parts), strict=True)
        if self.every:
            return reduce(operator.and_, held), reduce(operator.or_, failed)
        return reduce(operator.or_, held), reduce(operator.and_, failed)


@dataclass(frozen=True)
class HowMany(Numeric):
    """How many of some conditions hold; none where one of them has no value."""

    parts: tuple[Condition, ...]

    @property
    def low(self) -> float:
        return 0.0

    @property
    def high(self) -> float:
        return float(len(self.parts))

    def numbers(self, cells: RowCells) -> Any:
        import numpy as np

        truths = [part.truths(cells) for part in self.parts]
        known = reduce(operator.and_, (held | failed for held, failed in truths))
        total = reduce(operator.add, (np.where(held, 1.0, 0.0) for held, _ in truths))
        return np.where(known, total, np.nan)
