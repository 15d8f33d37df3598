"""What answers a plan's question: a few numbers in the units that people use, each with the words of its sentence.

The other parameters of a family (the covariates' distribution, latent counts) serve the method and are no answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from tacit._support.printable import in_prose
from tacit.schema import Category, Schema
from tacit.statistics.design import Indicator, Scaled

if TYPE_CHECKING:
    from tacit.models.regression import DesignMatrix

EffectScale = Literal["amount", "share", "difference", "odds", "rate"]
"""How an effect is read: as it is, as a percentage, as so much higher, or as so many times the odds or the rate."""


_HUGE = math.log(1e6)  # of a ratio: beyond, digits say nothing more
_PIECE = re.compile(r"\)\[\d+\]")  # the end of poly(age, 2)[1]


@dataclass(frozen=True, eq=False)
class EffectDraws:
    """One answer: its draws, of the logarithm where it is a ratio, and the words around it.

    The sentence is ``before``, the estimate, ``after``, and the interval in brackets.
    """

    name: str
    scale: EffectScale
    values: Any
    before: str
    after: str = ""

    @property
    def is_ratio(self) -> bool:
        """Whether it multiplies, so that its values are logarithms."""
        return self.scale in ("odds", "rate")

    def sentence(self, estimate: float, low: float, high: float) -> str:
        """The answer in one sentence; all three numbers on the scale of the values."""
        return f"{self.before}{self._estimate(estimate)}{self.after} {self._interval(low, high)}"

    def shown(self, value: float) -> str:
        """A value as it is read: the ratio itself, a percentage, or the number."""
        if self.is_ratio:
            if abs(value) > _HUGE:
                return "over a million" if value > 0 else "below a millionth"
            return rounded(math.exp(value))
        return percent(value) if self.scale == "share" else rounded(value)

    def _estimate(self, value: float) -> str:
        if self.is_ratio:
            return f"{self.shown(value)} times"
        return _signed(value) if self.scale == "difference" else self.shown(value)

    def _interval(self, low: float, high: float) -> str:
        open_ended = low < 0 < high
        if self.scale == "difference":
            if open_ended:
                return f"[from {_signed(low)} to {_signed(high)}]: the direction stays open."
            return f"[{', '.join(rounded(end) for end in sorted((abs(low), abs(high))))}]."
        ends = f"[{self.shown(low)}, {self.shown(high)}]"
        return f"{ends}: the direction stays open." if self.is_ratio and open_ended else f"{ends}."


def effects_of_array(
    values: Any,
    axes: Sequence[Sequence[str]],
    words: Callable[..., tuple[str, str, str]],
    scale: EffectScale = "amount",
) -> list[EffectDraws]:
    """One effect for each entry of ``values`` (draws, ...); ``words`` makes name, before and after of its labels."""
    found: list[EffectDraws] = []
    for places in product(*(range(len(axis)) for axis in axes)):
        labels = [axis[place] for axis, place in zip(axes, places, strict=True)]
        name, before, after = words(*labels)
        found.append(EffectDraws(name, scale, values[(slice(None), *places)], before, after))
    return found


def effects_of_coefficients(
    coefficients: Mapping[str, Any], design: DesignMatrix, scale: EffectScale, outcome: str
) -> list[EffectDraws]:
    """What a step of each covariate goes with, from ``coefficients`` by name in the units of the data.

    A step of a number is the power of ten that fits into its bounds about four times or more (`step_of`). The
    intercept, which is what the others are compared with, is none of them; nor is one piece of a polynomial or a
    spline, which says nothing without the others: predictions show those.
    """
    found: list[EffectDraws] = []
    for column in design.columns:
        if column.name not in coefficients or not (column.levels or isinstance(column, Scaled)):
            continue
        if _PIECE.search(column.name):
            continue
        change, label, step = _change(column, design)
        after = f" the {scale} of {outcome}" if scale in ("odds", "rate") else ""
        before = f"{change} goes with " if scale in ("odds", "rate") else f"{change} goes with {outcome} "
        found.append(EffectDraws(label, scale, coefficients[column.name] * step, before, after))
    return found


def step_of(low: float, high: float) -> float:
    """A round step of a number between bounds: 10 from 18 to 90, 1 from 1 to 5, 1 from 0 to 1."""
    width = high - low
    return 1.0 if width == 1 else 10.0 ** math.floor(math.log10(width / 4) + 1e-9)


def and_words(by: Sequence[str] | str) -> str:
    """The columns of groups: "sex", or "sex and region"."""
    return " and ".join(map(in_prose, [by] if isinstance(by, str) else by))


def by_words(by: Sequence[str] | str | None) -> str:
    """The same after a comma; nothing without groups."""
    return f", by {and_words(by)}" if by else ""


def condition(by: Sequence[str] | str | None, group: str) -> str:
    """What a sentence about one group begins with: "Where sex = m and region = north, "."""
    names, levels = [by] if isinstance(by, str) else list(by or ()), group.split(", ")
    if len(levels) != len(names):  # a level holds a comma itself
        return f"Where {and_words(names)} is {in_prose(group)}, "
    return f"Where {' and '.join(f'{in_prose(a)} = {in_prose(b)}' for a, b in zip(names, levels, strict=True))}, "


def response_words(name: str, schema: Schema) -> str:
    """The response in a sentence: a number by its name, a category by its second level."""
    column = schema.declared(name)
    return f"{in_prose(name)} = {in_prose(str(column.levels[1]))}" if isinstance(column, Category) else in_prose(name)


def question_of_levels(column: str, schema: Schema) -> str:
    """How many have each level, without the question mark; of two levels the second, which says both."""
    if len(schema.category(column).levels) == 2:
        return f"How many have {response_words(column, schema)}"
    return f"How many have each level of {in_prose(column)}"


def rounded(value: float) -> str:
    """Three digits, whole with separators from a thousand on."""
    if value != value or abs(value) == math.inf:
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"


def percent(share: float) -> str:
    """A share as a percentage, with a decimal below 10% and above 90%."""
    return f"{share:.1%}" if share < 0.0995 or share > 0.9005 else f"{share:.0%}"


def _signed(value: float) -> str:
    return f"{rounded(abs(value))} {'lower' if value < 0 else 'higher'}"


def _change(column: Indicator | Scaled, design: DesignMatrix) -> tuple[str, str, float]:
    """A step of one column of the design in words, its short name, and how large the step is."""
    levels = [(name, str(design.schema.category(name).levels[code])) for name, code in column.levels]
    held = " and ".join(f"{in_prose(name)} = {in_prose(level)}" for name, level in levels)
    if isinstance(column, Indicator):
        if len(levels) > 1:
            return f"The interaction of {held}", column.name, 1.0
        first = design.schema.category(levels[0][0]).levels[0]
        if not any(isinstance(c, Indicator) and not c.levels for c in design.columns):
            return held, column.name, 1.0
        return f"{held}, compared with {in_prose(str(first))},", column.name, 1.0
    if not set(column.numbers) <= set(column.name.split(":")):  # a function of them: a step of its own value
        return f"1 more in {in_prose(column.name)}", column.name, 1.0
    numbers = [design.schema.number(name) for name in column.numbers]
    steps = [step_of(number.low, number.high) for number in numbers]
    said = " times ".join(
        f"{rounded(step)} more in {in_prose(n)}" for step, n in zip(steps, column.numbers, strict=True)
    )
    label = f"{column.name}, +{' × '.join(map(rounded, steps))}"
    where = f" where {held}, on top of the rest," if levels else ""
    product_of = f"The interaction of {said}" if len(numbers) > 1 else said[:1].upper() + said[1:]
    return f"{product_of}{where}", label, math.prod(steps)
