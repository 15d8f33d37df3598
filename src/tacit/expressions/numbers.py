"""Numbers of a row: columns, literals, arithmetic and a few functions, with the range that interval arithmetic gives.

**The same bits everywhere.** A row's value must not depend on its batch, its place in it, the thread, the machine or
the library's build: otherwise one person's row would change another's. So every step is an operation that IEEE 754
rounds in one way only (+, -, *, /, square root, floor, comparisons), done for each row apart. Powers are repeated
products. NumPy's own ``log`` and ``power`` are not used: their vector and scalar code round differently, and so do
builds; `logarithm` has its own.

**Every step ends in `settled`.** What is not finite is no value (NaN), and stays none. What is smaller than 2^-1000 is
0, so that it does not matter if a thread flushes subnormal numbers, and -0 is 0, so that 1/x does not tell them apart.

The range of a step is made of the same operations at the ends of the ranges of its parts. Each of them is monotone in
each part where its range is used, and rounding keeps that order. A value is clamped to the declared range all the same.
"""

from __future__ import annotations

import math
import operator
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from tacit.expressions.cells import Numeric, RowCells
from tacit.expressions.logarithm import logarithm

LARGEST = sys.float_info.max
SMALLEST = 2.0**-1000
_OF_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def settled(values: Any) -> Any:
    """Finite numbers that are 0 or at least 2^-1000 in size, else NaN."""
    import numpy as np

    size = np.abs(values)
    return np.where(size <= LARGEST, np.where(size < SMALLEST, 0.0, values), np.nan)


def range_of(candidates: Sequence[float]) -> tuple[float, float]:
    """The range of values that have these at the corners; what overflows has no value, so none lies beyond."""
    low, high = min(candidates), max(candidates)
    clipped = [min(max(end, -LARGEST), LARGEST) for end in (low, high)]
    return tuple(0.0 if abs(end) < SMALLEST else end for end in clipped)  # type: ignore[return-value]


@dataclass(frozen=True)
class Literal(Numeric):
    """A number that was written."""

    value: float

    @property
    def low(self) -> float:
        return self.value

    @property
    def high(self) -> float:
        return self.value

    def numbers(self, cells: RowCells) -> Any:
        return self.value


@dataclass(frozen=True)
class NumberColumn(Numeric):
    """A column with bounds, ``ends``."""

    name: str
    ends: tuple[float, float]

    @property
    def low(self) -> float:
        return self.ends[0]

    @property
    def high(self) -> float:
        return self.ends[1]

    def numbers(self, cells: RowCells) -> Any:
        return settled(cells.values[self.name])


@dataclass(frozen=True)
class Made(Numeric):
    """A number that is made of others."""

    parts: tuple[Numeric, ...]

    @property
    def low(self) -> float:
        return self.range[0]

    @property
    def high(self) -> float:
        return self.range[1]

    @cached_property
    def range(self) -> tuple[float, float]:
        """Its range, from those of its parts; kept, because whatever is made of it asks several times."""
        return self._range()

    @abstractmethod
    def _range(self) -> tuple[float, float]: ...

    @property
    def corners(self) -> list[tuple[float, ...]]:
        """Every choice of an end of each part."""
        return list(product(*((part.low, part.high) for part in self.parts)))


@dataclass(frozen=True)
class Arithmetic(Made):
    """left + right, left - right, left * right or left / right."""

    sign: str

    def _range(self) -> tuple[float, float]:
        right = self.parts[1]
        if self.sign == "/" and right.low <= 0 <= right.high:
            return -LARGEST, LARGEST
        return range_of([_OF_FLOATS[self.sign](a, b) for a, b in self.corners])

    def numbers(self, cells: RowCells) -> Any:
        import numpy as np

        step = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[self.sign]
        left, right = (part.numbers(cells) for part in self.parts)
        return settled(step(left, right))


@dataclass(frozen=True)
class Power(Made):
    """A whole power, as a repeated product from left to right."""

    times: int

    def _range(self) -> tuple[float, float]:
        (base,) = self.parts
        ends = [_power(base.low, self.times), _power(base.high, self.times)]
        return range_of([*ends, 0.0] if base.low < 0 < base.high else ends)

    def numbers(self, cells: RowCells) -> Any:
        return settled(_power(self.parts[0].numbers(cells), self.times))


def _power(base: Any, times: int) -> Any:
    found = base
    for _ in range(times - 1):
        found = found * base
    return found


@dataclass(frozen=True)
class Extreme(Made):
    """The smallest, or the largest, of some numbers; none where one of them is none."""

    largest: bool

    def _range(self) -> tuple[float, float]:
        pick = max if self.largest else min
        return pick(part.low for part in self.parts), pick(part.high for part in self.parts)

    def numbers(self, cells: RowCells) -> Any:
        import numpy as np

        pick = np.maximum if self.largest else np.minimum
        found, *others = (part.numbers(cells) for part in self.parts)
        for other in others:
            found = pick(found, other)
        return found


@dataclass(frozen=True)
class Applied(Made):
    """A function of one number: abs, floor, sqrt or log; none where it is not defined."""

    function: str

    def _range(self) -> tuple[float, float]:
        import numpy as np

        (part,) = self.parts
        if self.function == "abs":
            ends = [abs(part.low), abs(part.high)]
            return (0.0 if part.low < 0 < part.high else min(ends)), max(ends)
        if self.function == "floor":
            return float(math.floor(part.low)), float(math.floor(part.high))
        if self.function == "sqrt":
            return math.sqrt(max(part.low, 0.0)), math.sqrt(max(part.high, 0.0))
        low, high = (float(end) for end in logarithm(np.array([max(part.low, SMALLEST), part.high])))
        return (low if part.low > 0 else -LARGEST), high

    def numbers(self, cells: RowCells) -> Any:
        import numpy as np

        step = {"abs": np.abs, "floor": np.floor, "sqrt": np.sqrt, "log": logarithm}[self.function]
        return settled(step(self.parts[0].numbers(cells)))
