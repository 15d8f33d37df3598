"""What a person expects of columns and effects before any row is read: means, spreads, shares, correlations.

Bounds are generous, so that they say little about where the values of a column lie. What is said here takes the place
of the guesses of `plausible_tables`. All of it is public: it comes from knowledge, never from the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.models.regression import Regression
from tacit.plan import Plan
from tacit.schema import Category, Number

_FORM = "to have the form COLUMN=MEAN+-SD, COLUMN=MEAN, COLUMN=LEVEL:SHARE,LEVEL:SHARE or COLUMN:COLUMN=CORRELATION"


@dataclass(frozen=True)
class ExpectedColumns:
    """``numbers`` have a mean and an sd (None where only the mean was said), ``shares`` one number a level.

    ``correlations`` are those of pairs of numbers, ``effects`` coefficients by name; all in the units of the data.
    """

    numbers: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    correlations: Mapping[tuple[str, str], float] = field(default_factory=dict)
    effects: Mapping[str, float] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "columns": {name: list(said) for name, said in {**self.numbers, **self.shares}.items()},
            "correlations": {":".join(pair): value for pair, value in self.correlations.items()},
            "effects": dict(self.effects),
        }


def expected_columns(plan: Plan, expect: Any, effect: Any) -> ExpectedColumns:
    """Check what was said: ``{"age": (40, 10), "smoker": {"no": 0.7, "yes": 0.3}, "age:bmi": 0.2}``, and effects."""
    for name, said in (("expect", expect), ("effect", effect)):
        if said is not None and not isinstance(said, Mapping):
            raise expected(name, said, "to be a mapping of names")
    if not expect and not effect:
        return ExpectedColumns()
    model = plan.model
    if not isinstance(model, Regression):
        raise expected("expect", list(expect or effect), f"to be left out: family {model.family} is no regression")
    numbers: dict[str, tuple[float, float | None]] = {}
    shares: dict[str, tuple[float, ...]] = {}
    correlations: dict[tuple[str, str], float] = {}
    design = model.design(plan.schema)
    known = [*design.cells, design.formula.response]
    for name, said in (expect or {}).items():
        pair = _pair(name, design.cells, plan)
        if pair is not None:
            correlations[pair] = _correlation(name, said)
            continue
        if name not in known:
            raise expected("expect", name, f"to be a column of the formula: {', '.join(known)}{_hint(name, known)}")
        column = plan.schema.declared(name)
        if isinstance(column, Category):
            shares[name] = _shares(name, said, column)
        else:
            counts = name == design.formula.response and model.family == "poisson-regression"
            numbers[name] = _number(name, said, column, counts=counts)
    effects = {name: _effect(name, said, design.names) for name, said in (effect or {}).items()}
    return ExpectedColumns(numbers, shares, correlations, effects)


def read_expect(texts: Sequence[str], plan: Plan) -> dict[str, Any]:
    """``--expect`` options in the form that Python takes."""
    found: dict[str, Any] = {}
    for text in texts:
        names = sorted((name for name in plan.schema if text.startswith(f"{name}=")), key=len)
        name, _, value = (names[-1], "=", text[len(names[-1]) + 1 :]) if names else text.rpartition("=")
        if not name or not value:
            raise expected("expect", text, _FORM)
        if name in found:
            raise expected("expect", text, f"to be all that is said of {name!r}")
        column: Any = plan.schema[name] if names else None
        found[name] = _levels(text, value, column) if isinstance(column, Category) else _mean_and_sd(text, value)
    return found


def read_effect(texts: Sequence[str]) -> dict[str, float]:
    """``--effect NAME=NUMBER`` options in the form that Python takes."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            name, number = "", 0.0
        if not name:
            raise expected("effect", text, "to have the form COEFFICIENT=NUMBER")
        if name in found:
            raise expected("effect", text, f"to be all that is said of {name!r}")
        found[name] = number
    return found


def _levels(text: str, value: str, column: Category) -> dict[Any, float]:
    by_text = {str(level): level for level in column.levels}
    found: dict[Any, float] = {}
    for part in value.split(","):
        level, sign, share = part.rpartition(":")
        try:
            number = float(share)
        except ValueError:
            sign, number = "", 0.0
        if not sign:
            raise expected("expect", text, "to have the form COLUMN=LEVEL:SHARE,LEVEL:SHARE for a column of levels")
        found[by_text.get(level.strip(), level.strip())] = number
    return found


def _mean_and_sd(text: str, value: str) -> Any:
    parts = value.replace("±", "+-").split("+-")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 2:
        raise expected("expect", text, _FORM)
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def _hint(name: object, known: Sequence[str]) -> str:
    return did_you_mean(name, known)


def _pair(name: object, cells: Sequence[str], plan: Plan) -> tuple[str, str] | None:
    """The two columns of numbers that a name such as ``age:bmi`` stands for, in the formula's order."""
    if not isinstance(name, str) or name.count(":") != 1:
        return None
    both = name.split(":")
    for one in both:
        if one not in cells or isinstance(plan.schema.declared(one), Category) or both[0] == both[1]:
            numbers = [cell for cell in cells if not isinstance(plan.schema.declared(cell), Category)]
            raise expected("expect", name, f"to name two different numbers of the formula: {', '.join(numbers)}")
    first, second = sorted(both, key=list(cells).index)
    return first, second


def _real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _correlation(name: str, said: Any) -> float:
    if not _real(said) or not -1 < said < 1:
        raise expected(f"expect {name}", said, "to be a correlation, between -1 and 1")
    return float(said)


def _number(name: str, said: Any, column: Number, *, counts: bool) -> tuple[float, float | None]:
    given: list[Any] = list(said) if isinstance(said, list | tuple) else [said]
    if not 1 <= len(given) <= 2 or not all(map(_real, given)):
        raise expected(f"expect {name}", said, "to be a mean and a standard deviation, or a mean alone")
    mean, rest = given[0], given[1:]
    if not column.low < mean < column.high:
        raise expected(f"expect {name}", mean, f"to be a mean inside the bounds {(column.low, column.high)}")
    if counts and rest:
        raise expected(f"expect {name}", said, "to be a mean alone: how a count is spread follows from the model")
    if not rest:
        return float(mean), None
    most = math.sqrt((mean - column.low) * (column.high - mean))
    if not 0 < rest[0] < most:
        raise expected(
            f"expect {name}", rest[0], f"to be a standard deviation above 0 and below {most:.4g}, as the bounds allow"
        )
    return float(mean), float(rest[0])


def _shares(name: str, said: Any, column: Category) -> tuple[float, ...]:
    """One share for each level; levels that are not named share the rest equally."""
    if not isinstance(said, Mapping) or not said:
        raise expected(f"expect {name}", said, "to give shares of its levels, such as {'no': 0.7, 'yes': 0.3}")
    for level, share in said.items():
        if level not in column.levels:
            levels = list(map(str, column.levels))
            raise expected(
                f"expect {name}", level, f"to be a declared level: {', '.join(levels)}{_hint(level, levels)}"
            )
        if not _real(share) or not 0 <= share <= 1:
            raise expected(f"expect {name}", share, "to be shares from 0 to 1")
    total, others = sum(said.values()), len(column.levels) - len(said)
    if total > 1.001 or (not others and total < 0.999):
        raise expected(f"expect {name}", total, "to be shares that sum to 1")
    rest = max(0.0, 1 - total) / max(1, others)
    shares = [float(said.get(level, rest)) for level in column.levels]
    return tuple(share / sum(shares) for share in shares)


def _effect(name: object, said: Any, names: Sequence[str]) -> float:
    if name == names[0] == "Intercept":
        raise expected("effect", name, "to be left out: expect the mean or the shares of the response instead")
    if name not in names:
        slopes = [one for one in names if one != "Intercept"]
        raise expected("effect", name, f"to be a coefficient: {', '.join(slopes)}{_hint(name, slopes)}")
    if not _real(said):
        raise expected(f"effect {name}", said, "to be a number, in the units of the data")
    return float(said)
