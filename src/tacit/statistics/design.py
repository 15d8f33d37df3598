"""The columns of a design matrix as bounded whole numbers.

Three kinds of column: a constant; an `Indicator`, 0 or 1, of a combination of levels; and a `Scaled` number, mapped
from its range to [-1, 1]. Products of columns (interactions) are columns of their own: a product of levels is an
indicator; a product of numbers is multiplied in the units of the data and then mapped and rounded like any other; a
number times levels is the mapped number where the levels hold and 0 elsewhere. Instead of a number there may be a
public function of it (`curves`).

A response that is one of two levels is a fourth kind: a `Sign`, -1 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

from tacit.errors import expected
from tacit.schema import LEAST_WIDTH, Number, Schema
from tacit.statistics.curves import PublicFunction

Levels = tuple[tuple[str, int], ...]  # (column, code) of each level that holds, by the column's name


@dataclass(frozen=True)
class Indicator:
    """1 where every named column is at the named level (by its code), else 0. No levels at all: the constant 1."""

    levels: Levels
    name: str

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """Whole numbers 0 or ``steps``, as float64."""
        return _holds(self.levels, columns) * float(steps)

    def write(self, columns: Mapping[str, Any], steps: int, out: Any) -> Any:
        """`values`, into ``out``."""
        out[:] = self.values(columns, steps) if self.levels else steps
        return out


@dataclass(frozen=True, order=True)
class Mapped:
    """A product of numbers, mapped from its range over the declared bounds to [low, high] inside [-1, 1].

    ``offset`` and ``scale`` tie both units together: mapped = (raw - offset) / scale. ``low`` and ``high`` are -1 and 1
    when the map is centred on the middle of the range; otherwise the offset is 0. ``curves`` has a function of each
    number, or nothing where all are taken as they are.
    """

    numbers: tuple[str, ...]
    offset: float
    scale: float
    low: float
    high: float
    curves: tuple[PublicFunction, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it is one column as it is."""
        return len(self.numbers) == 1 and not self.curves

    @property
    def partition(self) -> tuple[object, ...] | None:
        """Of a B-spline that nothing is multiplied by: what it shares with those that add up to at most 1 with it."""
        return self.curves[0].partition if len(self.curves) == 1 else None

    def bounds(self, steps: int) -> tuple[int, int]:
        """The smallest and the largest whole number that `values` gives: what the ends of the range round to."""
        return round(self.low * steps), round(self.high * steps)

    def raw(self, columns: Mapping[str, Any]) -> Any:
        """The product in the units of the data, float64."""
        import numpy as np

        factors = [np.asarray(columns[name], np.float64) for name in self.numbers]
        if self.curves:
            factors = [curve.of(values) for curve, values in zip(self.curves, factors, strict=True)]
        first, *others = factors
        for other in others:
            first = first * other
        return first

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """Whole numbers inside `bounds`, as float64: total, because the last two operations round and clamp."""
        import numpy as np

        return self.write(columns, steps, np.empty(len(columns[self.numbers[0]])))

    def write(self, columns: Mapping[str, Any], steps: int, out: Any) -> Any:
        """`values`, into ``out``. Every step works in place: over many rows, memory traffic is what takes time."""
        import numpy as np

        first = self.raw(columns)
        if self.partition is not None:  # rounded down: whole numbers that add up to at most ``steps``
            np.floor(np.multiply(first, steps, out=out), out=out)
            return np.clip(out, *self.bounds(steps), out=out)
        centred = first if self.offset == 0 else np.subtract(first, self.offset, out=out)
        factor = steps / self.scale
        if 2**-1000 < factor < 2**1000:
            np.multiply(centred, factor, out=out)  # a division takes several times as long
        else:
            np.divide(centred, self.scale, out=out)
            np.multiply(out, steps, out=out)
        np.rint(out, out=out)
        return np.clip(out, *self.bounds(steps), out=out)


@dataclass(frozen=True)
class Scaled:
    """A mapped product of numbers where every named column is at the named level, and 0 elsewhere."""

    number: Mapped
    levels: Levels
    name: str

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of the data that are multiplied."""
        return self.number.numbers

    @property
    def offset(self) -> float:
        """The raw value that is mapped to 0."""
        return self.number.offset

    @property
    def scale(self) -> float:
        """The raw length that is mapped to 1."""
        return self.number.scale

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """Whole numbers inside the bounds of ``number``, or 0, as float64."""
        import numpy as np

        return self.write(columns, steps, np.empty(len(columns[self.numbers[0]])))

    def write(self, columns: Mapping[str, Any], steps: int, out: Any) -> Any:
        """`values`, into ``out``."""
        self.number.write(columns, steps, out)
        if self.levels:
            out *= _holds(self.levels, columns)
        return out


DesignColumn = Indicator | Scaled


@dataclass(frozen=True)
class Sign:
    """A response with two levels: -1 where ``column`` is at the first one, 1 at the second."""

    column: str
    name: str

    @property
    def levels(self) -> Levels:
        """It is not 0 anywhere, so no levels have to hold."""
        return ()

    def values(self, columns: Mapping[str, Any], steps: int) -> Any:
        """Whole numbers -``steps`` or ``steps``, as float64."""
        import numpy as np

        return np.where(columns[self.column] == 1, float(steps), -float(steps))

    def write(self, columns: Mapping[str, Any], steps: int, out: Any) -> Any:
        """`values`, into ``out``."""
        out[:] = self.values(columns, steps)
        return out


@dataclass(frozen=True)
class Product:
    """What a product of two columns is, whatever columns it came from.

    It is the product of ``numbers`` (two at most, sorted) and of the columns in ``signs`` where ``levels`` hold, and 0
    elsewhere. So two products are equal as functions of the row if they are equal here: an indicator is its own square,
    x:f times f is x:f, and the square of a sign is 1.
    """

    levels: Levels
    numbers: tuple[Mapped, ...]
    signs: tuple[str, ...] = ()

    @property
    def constant(self) -> bool:
        """Whether it is 1 for every row."""
        return not self.levels and not self.numbers and not self.signs


def product_of(first: DesignColumn | Sign, second: DesignColumn | Sign) -> Product | None:
    """The product of two columns; None where their levels exclude each other, so that it is 0 for every row."""
    levels = dict(first.levels)
    for column, code in second.levels:
        if levels.setdefault(column, code) != code:
            return None
    numbers = [column.number for column in (first, second) if isinstance(column, Scaled)]
    signs: set[str] = set()
    for column in (first, second):
        if isinstance(column, Sign):
            signs ^= {column.column}
    return Product(tuple(sorted(levels.items())), tuple(sorted(numbers)), tuple(sorted(signs)))


def sign(column: str, schema: Schema) -> Sign:
    """The response ``column``, which must be declared with two levels."""
    if len(schema.category(column).levels) != 2:
        raise expected("response", column, "to be declared with two levels")
    return Sign(column, column)


def constant(name: str = "Intercept") -> Indicator:
    """The column of ones."""
    return Indicator((), name)


NumberFactor = tuple[str, PublicFunction | None]  # a number's column, and the function of it


def columns_of_term(
    term: Sequence[str | Sequence[tuple[str, NumberFactor]]],
    schema: Schema,
    *,
    centred: Collection[Levels],
    every_level: bool,
    references: Mapping[str, int] = MappingProxyType({}),
) -> list[DesignColumn]:
    """The design columns of one term: one for each combination of its categories' levels but the reference.

    A factor of it is a column's name or a list of functions of one, each with a name, of which one column is made. The
    reference is the first level, unless ``references`` has the code of another. ``every_level`` keeps the references
    too, as the first factor of a model without intercept needs. A number is centred where its levels are among
    ``centred``: the levels whose indicator is itself in the design, so that what centring takes away can be given back.
    """
    choices: list[list[tuple[str, NumberFactor | tuple[str, int]]]] = []
    for factor in term:
        if not isinstance(factor, str):
            choices.append(list(factor))
        elif isinstance(schema.declared(factor), Number):
            choices.append([(factor, (factor, None))])
        else:
            levels, reference = schema.category(factor).levels, references.get(factor, 0)
            codes = [code for code in range(len(levels)) if every_level or code != reference]
            choices.append([(f"{factor}[{levels[code]}]", (factor, code)) for code in codes])
    found: list[DesignColumn] = []
    for combination in product(*choices):
        name = ":".join(label for label, _ in combination)
        levels = tuple(sorted(part for _, part in combination if isinstance(part[1], int)))
        numbers = sorted((part for _, part in combination if not isinstance(part[1], int)), key=lambda part: part[0])
        if numbers:
            found.append(Scaled(mapped(numbers, schema, centred=levels in centred), levels, name))  # type: ignore[arg-type]
        else:
            found.append(Indicator(levels, name))  # type: ignore[arg-type]
    return found


def mapped(parts: Sequence[NumberFactor], schema: Schema, *, centred: bool) -> Mapped:
    """The map of a product of numbers, from its range over the corners of the declared bounds.

    Polynomials keep their units, in which they are between -1 and 1, and so do B-splines, which are between 0 and 1.

    Proof: that `Mapped.values` is total. Float multiplication is monotone in each factor, and rows are multiplied in
    the same order as corners; so a row's product, and each on the way to it, is no larger than one at a corner. Those
    are finite: where one on the way overflows, so does the corner that goes on with an end other than 0. The product
    lies in [low, high], hence at most a width from the offset; the scale is finite and above 0, so no quotient is NaN;
    the last two operations round and clamp. A curve is finite on its bounds, outside of which no cell gets; where
    rounding took it past the ends of its range, the clamp takes it back. []
    """
    numbers = tuple(name for name, _ in parts)
    curves = tuple(
        curve or PublicFunction("identity", schema.number(name).low, schema.number(name).high) for name, curve in parts
    )
    bounds = [
        curve.range if curve is not None else (schema.number(name).low, schema.number(name).high)
        for name, curve in parts
    ]
    curves = curves if any(curve is not None for _, curve in parts) else ()
    if len(curves) == 1 and curves[0].function in ("poly", "bs"):
        return Mapped(numbers, 0.0, 1.0, *curves[0].range, curves)
    corners = [math.prod(corner) for corner in product(*bounds)]
    finite = all(math.isfinite(corner) for corner in corners)
    low, high = (min(corners), max(corners)) if finite else (0.0, 0.0)
    half = high / 2 - low / 2
    if not LEAST_WIDTH <= high - low < math.inf:
        raise expected(
            "bounds", [list(b) for b in bounds], f"of {':'.join(numbers)} to be a range that float64 can hold"
        )
    if centred:
        return Mapped(numbers, low + (high - low) / 2, half, -1.0, 1.0, curves)
    largest = max(abs(low), abs(high))
    return Mapped(numbers, 0.0, largest, low / largest, high / largest, curves)


def _holds(levels: Levels, columns: Mapping[str, Any]) -> Any:
    import numpy as np

    holds = np.ones(len(next(iter(columns.values()))), bool)
    for column, code in levels:
        holds &= columns[column] == code
    return holds
