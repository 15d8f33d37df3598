"""What an expression reads of some rows, and the kinds of its values.

A number is a float64, NaN where it has no value. A condition is a pair of arrays, where it is known to hold and where
it is known not to; where neither, it has no value, as in SQL. A level is a code, -1 where it has no value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tacit.schema import Level


@dataclass(frozen=True)
class RowCells:
    """Some rows: the parsed ``values`` of each column, filled and clamped, and where cells were ``missing``.

    ``missing`` has the columns that some expression asks about.
    """

    values: Mapping[str, Any]
    missing: Mapping[str, Any]


@dataclass(frozen=True)
class Expression:
    """A checked expression: a total function of one row's cells."""

    def walk(self) -> Iterator[Expression]:
        """It, and all that it is made of."""
        yield self
        for one in fields(self):
            value = getattr(self, one.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield from part.walk()


@dataclass(frozen=True)
class Numeric(Expression):
    """A number in [``low``, ``high``], or none."""

    @property
    @abstractmethod
    def low(self) -> float:
        """No value is below."""

    @property
    @abstractmethod
    def high(self) -> float:
        """No value is above."""

    @abstractmethod
    def numbers(self, cells: RowCells) -> Any:
        """float64, NaN where there is no value; of one row's cells alone, bit for bit, wherever the row stands."""


@dataclass(frozen=True)
class Condition(Expression):
    """Something that holds, or does not, or has no value."""

    @abstractmethod
    def truths(self, cells: RowCells) -> tuple[Any, Any]:
        """Where it is known to hold, and where it is known not to."""


@dataclass(frozen=True)
class Leveled(Expression):
    """One of ``levels``, or none."""

    @property
    @abstractmethod
    def levels(self) -> tuple[Level, ...]:
        """The levels in order."""

    @abstractmethod
    def codes(self, cells: RowCells) -> Any:
        """int64, the position in ``levels``, or -1."""
