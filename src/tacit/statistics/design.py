"""The columns of a design matrix as bounded whole numbers.

Three kinds of column: a constant; an `Indicator`, 0 or 1, of a combination of levels; and a `Scaled` number, mapped
from its range to [-1, 1]. Products of columns (interactions) are columns of their own: a product of levels is an
indicator, and a product that involves numbers is multiplied in the units of the data and then mapped and rounded like
any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from tacit.errors import expected
from tacit.schema import Category, Number, Schema
from tacit.statistics.lattice import signed


@dataclass(frozen=True)
class Indicator:
    """1 where every named column is at the named level (by its code), else 0. No levels at all: the constant 1."""

    levels: tuple[tuple[str, int], ...]
    name: str

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """Whole numbers 0 or ``steps``, as float64."""
        import numpy as np

        rows = len(next(iter(columns.values())))
        holds = np.ones(rows, bool)
        for column, code in self.levels:
            holds &= columns[column] == code
        return holds * float(steps)

    def merged(self, other: Indicator) -> tuple[tuple[str, int], ...] | None:
        """The levels of the product of both; None where they exclude each other."""
        levels = dict(self.levels)
        for column, code in other.levels:
            if levels.setdefault(column, code) != code:
                return None
        return tuple(sorted(levels.items()))


@dataclass(frozen=True)
class Scaled:
    """A product of numbers, and perhaps an indicator, mapped to [-1, 1] from its range over the declared bounds.

    ``offset`` and ``scale`` tie both units together: mapped = (raw - offset) / scale. ``low`` is the smallest mapped
    value and ``high`` the largest: -1 and 1 when the map is centred. Without an intercept in the model the offset is 0.
    """

    numbers: tuple[str, ...]
    levels: tuple[tuple[str, int], ...]
    name: str
    offset: float
    scale: float
    low: float
    high: float

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """Whole numbers in [low * steps, high * steps], as float64."""
        import numpy as np

        raw = np.prod([columns[name] for name in self.numbers], axis=0)
        if self.levels:
            raw = raw * Indicator(self.levels, "").values(columns, 1)
        whole = signed(raw, Number(self.offset - self.scale, self.offset + self.scale), steps)
        return np.clip(whole, -_whole(-self.low, steps), _whole(self.high, steps))


def _whole(bound: float, steps: int) -> int:
    """How many whole steps lie in a bound in [-1, 1]; rounded away from 0, so that no value inside it is cut."""
    return math.ceil(bound * steps)


DesignColumn = Indicator | Scaled


def constant(name: str = "Intercept") -> Indicator:
    """The column of ones."""
    return Indicator((), name)


def columns_of_term(term: tuple[str, ...], schema: Schema, *, centred: bool, every_level: bool) -> list[DesignColumn]:
    """The design columns of one term: one for each combination of its categories' levels but the first.

    ``every_level`` keeps the first levels too, as the first factor of a model without intercept needs.
    """
    numbers = tuple(name for name in term if isinstance(schema.declared(name), Number))
    factors = [name for name in term if isinstance(schema.declared(name), Category)]
    choices = [range(0 if every_level else 1, len(schema.category(name).levels)) for name in factors]
    found: list[DesignColumn] = []
    for codes in product(*choices):
        level_of = dict(zip(factors, codes, strict=True))
        name = ":".join(f"{n}[{schema.category(n).levels[level_of[n]]}]" if n in level_of else n for n in term)
        levels = tuple(sorted(level_of.items()))
        found.append(scaled(numbers, levels, name, schema, centred=centred) if numbers else Indicator(levels, name))
    return found


def scaled(
    numbers: tuple[str, ...], levels: tuple[tuple[str, int], ...], name: str, schema: Schema, *, centred: bool
) -> Scaled:
    """The column of a product of numbers, with its range over the corners of the declared bounds."""
    bounds = [(schema.number(n).low, schema.number(n).high) for n in numbers]
    corners = [math.prod(corner) for corner in product(*bounds)] + ([0.0] if levels else [])
    low, high = min(corners), max(corners)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise expected("bounds", [list(b) for b in bounds], f"of {name} to have a finite product")
    if centred:
        return Scaled(numbers, levels, name, low + (high - low) / 2, (high - low) / 2, -1.0, 1.0)
    largest = max(abs(low), abs(high))
    return Scaled(numbers, levels, name, 0.0, largest, low / largest, high / largest)
