"""Plans some of whose columns are derived: the model's own columns, from columns of other names."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import tacit
from tacit.schema import Category, Number, Schema

from .catalogue import BOUNDS, LEVELS, NAMES

_NUMBERS = (
    "`{0}` / `{1}`",
    "`{0}` * `{1}`",
    "`{0}` - `{1}`",
    "log(`{0}`)",
    "sqrt(`{0}`)",
    "`{0}`^2",
    "1 / (1 / `{0}`)",
    "floor(`{0}`)",
    "max(`{0}`, `{1}`, 0)",
    "min(1 / `{0}`, `{1}`)",
    "abs(`{0}`)",
    "count(`{0}` > 1, is_missing(`{1}`))",
    "`{0}`",
)
_TRUTHS = (
    "`{0}` > 1",
    "`{0}` == 0",
    "1 / `{0}` > 0.5 or `{1}` > 1",
    "is_missing(`{0}`)",
    "not is_missing(`{1}`) and `{0}` < 2",
    "0 < `{0}` <= 3",
    "`{0}` in [0, 1, 2]",
    "`{0}` / `{1}` != 1",
    "log(`{0}`) < 1",
)
_LEVELED = ("is_missing(`{0}`)", "`{0}` == {1}", "`{0}` not in [{1}, {2}]", "recode(`{0}`, {{{1}: {2}}})", "`{0}`")


def with_derived_columns(plan: tacit.Plan, random: Random) -> tacit.Plan:
    """The plan with one or two of its columns derived from others, as far as a few tries are not refused."""
    wanted = random.sample(plan.columns, min(len(plan.columns), random.choice((1, 1, 2))))
    for name in wanted:
        for _ in range(6):
            try:
                plan = _derived(plan, name, random)
                break
            except tacit.InputError:
                continue
    return plan


def _derived(plan: tacit.Plan, name: str, random: Random) -> tacit.Plan:
    column, person = plan.schema.declared(name), plan.mechanism.person
    taken = {*plan.schema, None if person is None else person.id}
    one, other = random.sample([free for free in NAMES if free not in taken and "`" not in free], 2)
    sources: dict[str, Any] = {one: _number(random), other: _number(random)}
    said: dict[str, Any] = {}
    if isinstance(column, Number):
        text = random.choice(_NUMBERS).format(one, other)
        said = {"bounds": [column.low, column.high], "missing": column.missing}
    elif random.random() < 0.5:
        text = random.choice(_TRUTHS).format(one, other)
    else:
        levels = random.choice([levels for levels in LEVELS if len(levels) >= len(column.levels)])
        first, second = (written(level) for level in random.sample(levels, 2))
        text = random.choice(_LEVELED).format(one, first, second)
        sources[one] = Category(levels)
    kept = {key: one for key, one in plan.schema.of_table.items() if key != name}
    derive = {**plan.derive, name: {"value": text, **said}}
    used = {key: one for key, one in sources.items() if f"`{key}`" in text}
    return replace(plan, schema=Schema({**kept, **used}), derive=derive)


def _number(random: Random) -> Number:
    low, high = random.choice((*BOUNDS, (0.0, 3.0), (-2.0, 2.0), (0.5, 1000.0)))
    return Number(low, high, random.choice((low, high)))


def written(level: object) -> str:
    """A level as it stands in an expression."""
    if isinstance(level, bool):
        return "true" if level else "false"
    return f'"{level}"' if isinstance(level, str) else repr(level)
