"""Mapped, clamped rows: what the collector keeps of the data for a density with one term a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from tacit.statistics import lattice
from tacit.statistics.accumulator import Accumulator
from tacit.statistics.design import DesignColumn, Indicator, Scaled, Sign
from tacit.statistics.region import checked_radius, plain_numbers

_STEPS = 2**15
_MOST_COMBINATIONS = 4096


@dataclass(frozen=True)
class Codes:
    """A response that is a level: its code, 0, 1, ..."""

    column: str
    name: str

    @property
    def levels(self) -> tuple[Any, ...]:
        """It is never void."""
        return ()

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """The codes times ``steps``, as float64."""
        import numpy as np

        return np.asarray(columns[self.column], np.float64) * steps


@dataclass(frozen=True)
class ClampedResponse:
    """A response that is a number in the units of the data, clamped to [``low``, ``high``]."""

    column: str
    low: float
    high: float
    name: str

    @property
    def levels(self) -> tuple[Any, ...]:
        """It is never void."""
        return ()

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """The clamped cells times ``steps``, as float64."""
        import numpy as np

        return np.clip(np.asarray(columns[self.column], np.float64), self.low, self.high) * steps


ResponseMap = Sign | Codes | ClampedResponse | Scaled


@dataclass(frozen=True)
class RowMap:
    """How a row becomes x, its design in mapped units, and y: -1 or 1, a code, a number.

    Numbers are mapped to [-1, 1] and rounded to the lattice; with a ``radius`` the vector of all of them is moved into
    the Euclidean ball of that radius, in integers. The design must then be plain numbers and at most a constant.
    """

    design: tuple[DesignColumn, ...]
    response: ResponseMap
    radius: Fraction | None = None

    def __post_init__(self) -> None:
        if self.radius is not None:
            numbers = plain_numbers(self.design)
            if numbers is None:
                from tacit.errors import expected

                names = [column.name for column in self.design]
                raise expected("design", names, "to be different plain numbers and at most a constant, for a radius")
            object.__setattr__(self, "radius", checked_radius(self.radius, numbers, _STEPS))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the data that is read."""
        named: dict[str, None] = {}
        for column in (*self.design, self.response):
            named |= dict.fromkeys(name for name, _ in column.levels)
            named |= dict.fromkeys(column.numbers if isinstance(column, Scaled) else ())
            named |= dict.fromkeys([column.column] if isinstance(column, Sign | Codes | ClampedResponse) else ())
        return tuple(named)

    def arrays(self, columns: Mapping[str, Any]) -> tuple[Any, Any]:
        """x (rows, design) and y (rows,), as float64."""
        import numpy as np

        rows = len(next(iter(columns.values())))
        x = np.stack([column.values(columns, _STEPS) for column in self.design], axis=1)
        if self.radius is not None:
            places = [j for j, column in enumerate(self.design) if isinstance(column, Scaled)]
            x[:, places] = lattice.into_ball(x[:, places], self.radius, _STEPS)
        y = np.asarray(self.response.values(columns, _STEPS), np.float64)
        return x.reshape(rows, -1) / _STEPS, y / _STEPS

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The columns of the design in parts, of which a row is other than 0 in one alone.

        Proof: a row has one code in every category, so two columns that ask for different codes of one category are
        never both other than 0. Columns are joined where nothing excludes that they are; parts are what is joined by
        a path. []
        """
        found: list[set[int]] = []
        for j, column in enumerate(self.design):
            joined = [one for one in found if any(_together(column, self.design[i]) for i in one)]
            found = [*(one for one in found if one not in joined), {j}.union(*joined)]
        return tuple(sorted(tuple(sorted(one)) for one in found))

    def norm_squared(self) -> Fraction:
        """The largest |x|^2 that any row can have.

        Proof: a `Scaled` column is at most 1 in size, since it is clamped to bounds inside [-1, 1], and an `Indicator`
        is 0 or 1. Columns whose levels exclude each other are never both other than 0, so for each combination of the
        codes of the categories the sum of squares is at most the number of columns whose levels hold; the largest over
        combinations is taken, or the number of all columns where there are too many to go through. With a radius the
        numbers together are at most floor(radius^2 steps^2) / steps^2, exactly, and the constant adds 1. []
        """
        constants = sum(isinstance(c, Indicator) and not c.levels for c in self.design)
        if self.radius is not None:
            return Fraction(int(self.radius * self.radius * _STEPS * _STEPS), _STEPS * _STEPS) + constants
        codes: dict[str, set[int]] = {}
        for column in self.design:
            for name, code in column.levels:
                codes.setdefault(name, {-1}).add(code)  # -1: none of those that stand in the design
        count = 1
        for found in codes.values():
            count *= len(found)
        if count > _MOST_COMBINATIONS:
            return Fraction(len(self.design))
        most = 0
        for chosen in product(*codes.values()):
            holds = dict(zip(codes, chosen, strict=True))
            most = max(most, sum(all(holds[name] == code for name, code in c.levels) for c in self.design))
        return Fraction(most)


def _together(first: DesignColumn, second: DesignColumn) -> bool:
    """Whether both can be other than 0 in one row."""
    codes = dict(first.levels)
    return all(codes.get(name, code) == code for name, code in second.levels)


class CollectedRows(Accumulator):
    """The mapped and clamped rows seen so far. Secret."""

    def __init__(self, row_map: RowMap) -> None:
        self._map = row_map
        self._parts: list[tuple[Any, Any]] = []

    @property
    def batch_rows(self) -> int:
        """Enough to keep the cells of one batch small."""
        return 2**16

    def add(self, columns: Mapping[str, Any], *, times: int = 1) -> None:
        """Map one batch; ``times`` copies of it."""
        import numpy as np

        x, y = self._map.arrays(columns)
        self._parts.append((np.tile(x, (times, 1)), np.tile(y, times)))

    def arrays(self) -> tuple[Any, Any]:
        """x (n, design) and y (n,)."""
        import numpy as np

        return np.concatenate([x for x, _ in self._parts]), np.concatenate([y for _, y in self._parts])
