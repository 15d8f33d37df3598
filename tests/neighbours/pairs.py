"""Random pairs: a plan, and two tables that differ in the row, or in all the rows, of one person."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from random import Random
from typing import Any

import tacit
from tacit.schema import Category, Number

from .catalogue import BOUNDS, COUNT_BOUNDS, KINDS, LEVELS, NAMES, PEOPLE, TEXT_KINDS
from .derived_plans import with_derived_columns
from .derived_plans import written as _written
from .tables import Table

_PLANS = 500
_DAY = 18292  # 2020-01-31


@dataclass(frozen=True)
class Pair:
    """Two neighbours under ``plan``. ``n`` is what a release says of either; None where it must say nothing."""

    plan: tacit.Plan
    first: Table
    second: Table
    n: int | None


def draw_pair(
    random: Random, kinds: Sequence[str], people: Sequence[str] = (), *, inferred: bool = False, declared: bool = False
) -> Pair:
    """A pair whose columns are stored as ``kinds``; where ``people`` has kinds of identifiers, some have a person's.

    ``inferred``: the columns are text, of which a reader will guess types. So all rows but one are alike, and a guess
    that changes with the last one is about all of them. ``declared``: the same for a reader that is told the types, so
    that no cell needs to be left out.
    """
    alike = inferred or declared
    number, person_wanted = random.randrange(_PLANS), bool(people) and random.random() < 0.4
    plan = plan_of(number, people=person_wanted, levels=alike, lost=declared)
    needed = plan.reads
    others = [name for name in NAMES if name not in plan.schema and name != _id_of(plan)]
    names = [*needed, *random.sample(others, random.choice((1, 1, 2) if alike else (0, 1, 1, 2)))]
    random.shuffle(names)
    if alike:  # the last column is the one that a partitioned table has in the names of its folders
        names.sort(key=lambda name: name in needed and isinstance(plan.schema[name], Category))
    stored = {name: random.choice(list(kinds)) for name in names}
    draw = {name: _drawer(random, plan, name, stored[name], alike=alike, guessed=inferred) for name in names}
    wild = {name: _drawer(random, plan, name, stored[name], guessed=inferred) for name in names}
    person = plan.mechanism.person
    if person is None:
        rows = [tuple(draw[name]() for name in names) for _ in range(random.choice((1, 2, 3, 5, 9, 17, 17)))]
        place = random.randrange(len(rows))
        changed = tuple(wild[name]() if random.random() < 0.8 else rows[place][i] for i, name in enumerate(names))
        first, second = Table(stored, tuple(rows)), Table(stored, (*rows[:place], changed, *rows[place + 1 :]))
        return Pair(plan, first, second, len(rows))
    kind = random.choice(list(people))
    stored = {person.id: kind, **stored}
    everyone = random.sample(PEOPLE[kind], random.randint(2, min(8, len(PEOPLE[kind]))))
    newcomer = everyone.pop() if len(everyone) > 2 or random.random() < 0.5 else everyone[-1]

    def rows_of(who: object, draw: dict[str, Callable[[], Any]]) -> list[tuple[Any, ...]]:
        return [(who, *(draw[name]() for name in names)) for _ in range(random.choice((1, 1, 2, 3, 5)))]

    others_rows = [row for who in everyone[:-1] for row in rows_of(who, draw)]
    first_rows, second_rows = others_rows + rows_of(everyone[-1], draw), others_rows + rows_of(newcomer, wild)
    random.shuffle(first_rows)
    random.shuffle(second_rows)
    counted = {None: len(everyone) * person.max_rows, "person": len(everyone), "row": None}
    return Pair(plan, Table(stored, tuple(first_rows)), Table(stored, tuple(second_rows)), counted[person.weight])


def without_one(pair: Pair) -> Pair:
    """A pair under add-remove: the first table of ``pair``, and the same without a row, or all rows, of one person."""
    person, rows = pair.plan.mechanism.person, pair.first.rows
    if person is None:
        mechanism, gone = pair.plan.mechanism, [rows[len(rows) // 2]]
    else:
        place, weight = pair.first.names.index(person.id), ("row", "person")[len(rows) % 2]
        mechanism = replace(pair.plan.mechanism, unit=replace(person, weight=weight))  # type: ignore[call-arg]
        gone = [row for row in rows if repr(row[place]) == repr(rows[0][place])]
    budget = replace(pair.plan.budget, neighbours="add-remove")
    plan = replace(pair.plan, budget=budget, mechanism=mechanism)
    return Pair(plan, pair.first, pair.first.less(gone), None)


def with_filter(pair: Pair) -> Pair:
    """The same tables, of which only rows that meet a condition on some column count, so that a release says no n."""
    plan, person = pair.plan, pair.plan.mechanism.person
    random = Random(plan.to_toml())
    known = list(dict.fromkeys((*plan.reads, *plan.columns)))  # of others a table may have none
    names = [name for name in known if "`" not in name] or [random.choice(known)]
    name = random.choice(names)
    column = plan.schema.declared(name)
    if isinstance(column, Category):
        condition = f"`{name}` == {_written(random.choice(column.levels))}"
    else:
        condition = f"`{name}` < {column.low / 2 + column.high / 2!r}"
    condition = random.choice(("{}", "{} or is_missing(`{}`)", "not is_missing(`{1}`) and {0}")).format(condition, name)
    if person is not None and person.weight is None:
        plan = replace(plan, mechanism=replace(plan.mechanism, unit=replace(person, weight="row")))  # type: ignore[call-arg]
    try:
        plan = replace(plan, where=condition)
    except tacit.InputError:  # it holds for every number within bounds so narrow, or for none
        plan = replace(plan, where=f"not is_missing(`{name}`)")
    return Pair(plan, pair.first, pair.second, None)


def of_cells(pair: Pair) -> Pair | None:
    """The same tables for a survival curve, or for a regression that varies by group, if they have columns for one."""
    schema = pair.plan.schema.of_table
    numbers = [name for name, column in schema.items() if isinstance(column, Number)]
    levels = {name: len(column.levels) for name, column in schema.items() if isinstance(column, Category)}
    groups, twos = ([name for name, count in levels.items() if keep(count)] for keep in ((2).__lt__, (2).__eq__))
    models: list[Callable[[], Any]] = []
    for number in numbers:
        column = schema[number]
        edges = [column.low / 2 + column.high / 2]
        models += [partial(tacit.SurvivalCurve, number, two, edges) for two in twos]
        for group in groups:
            models.append(partial(tacit.VaryingRegression, f"`{number}` ~ (1 | `{group}`)"))
            for other in [one for one in (*numbers, *levels) if one not in (number, group)]:
                models.append(partial(tacit.VaryingRegression, f"`{number}` ~ `{other}` + (1 | `{group}`)"))
                models.append(partial(tacit.VaryingRegression, f"`{number}` ~ `{other}` + (`{other}` | `{group}`)"))
    models += [
        partial(tacit.VaryingLogisticRegression, f"`{two}` ~ (1 | `{group}`)") for two in twos for group in groups
    ]
    mechanism = tacit.AddNoise(unit=pair.plan.mechanism.person)
    for model in Random(pair.plan.to_toml()).sample(models, len(models)):
        with suppress(tacit.InputError):
            return replace(pair, plan=tacit.Plan(model(), tacit.Schema(schema), pair.plan.budget, mechanism))
    return None


def of_likelihoods(pair: Pair) -> Pair | None:
    """The same tables for a family by likelihood, if they have columns for one. In one round, so that what is read is
    the same for both tables.
    """
    schema = pair.plan.schema.of_table
    numbers = [name for name, column in schema.items() if isinstance(column, Number)]
    levels = {name: len(column.levels) for name, column in schema.items() if isinstance(column, Category)}
    models: list[Callable[[], Any]] = []
    for number in numbers:
        others = [*(name for name in numbers if name != number), *levels]
        explained = [f"`{number}` ~ `{other}`" for other in others]
        models += [partial(tacit.StudentRegression, one) for one in explained]
        models += [partial(tacit.GammaRegression, one) for one in explained]
        models += [
            partial(tacit.OrdinalRegression, f"`{one}` ~ `{number}`") for one, count in levels.items() if count > 2
        ]
        models += [
            partial(tacit.ExponentialSurvival, f"`{number}` ~ `{other}`", event=one)
            for one, count in levels.items()
            for other in others
            if count == 2 and other != one
        ]
    person = pair.plan.mechanism.person
    if person is not None and person.weight is None:
        return None
    mechanism = tacit.Newton(rounds=1, matrix=(0.5,), unit=person)
    for model in Random(pair.plan.to_toml()).sample(models, len(models)):
        with suppress(tacit.InputError):
            return replace(pair, plan=tacit.Plan(model(), tacit.Schema(schema), pair.plan.budget, mechanism))
    return None


CHANGES: dict[str, Callable[[Pair], Pair]] = {
    "replaced": lambda pair: pair,
    "less": lambda pair: without_one(pair),
    "filtered": lambda pair: with_filter(pair),
    "filtered less": lambda pair: with_filter(without_one(pair)),
}
"""What is made of a pair of which one row, or one person, is replaced."""


def _id_of(plan: tacit.Plan) -> str | None:
    return plan.mechanism.person.id if plan.mechanism.person else None


@cache
def plan_of(number: int, *, people: bool, levels: bool, lost: bool = False) -> tacit.Plan:
    """One of some hundred plans: to prove the sensitivity of a new one takes longer than to read a table.

    ``levels``: most have levels, and, unless ``lost``, none that a guess of types may change for good. Of the others,
    every third has derived columns.
    """
    random = Random(f"plan {number}")
    wanted = levels and number % 4 > 0  # most of what readers guess matters for levels
    while True:
        plan = draw_plan(random, people=people)
        categories = [column for column in plan.schema.values() if isinstance(column, Category)]
        needed = any(isinstance(plan.schema[name], Category) for name in plan.calibrated_mechanism().columns)
        if not levels or (
            (needed or not wanted) and (lost or not any(_lost(level) for one in categories for level in one.levels))
        ):
            derived = number % 3 == 2 and not levels
            return with_derived_columns(plan, Random(f"derive {number}")) if derived else plan


def _lost(value: object) -> bool:
    """Whether a reader that guesses types may change such a cell for good, as docs/data.md says of them.

    Dates, times and 0x10 become other types, or stay text; whole numbers past 2^53 become floats.
    """
    if isinstance(value, bytes | None):
        return False
    if isinstance(value, str) and re.search(r"\d:\d|\d[-/]\d+[-/]\d|^0x", value):
        return True
    number = _as_number(value)
    return number is not None and 2**53 <= abs(number) < math.inf


def draw_plan(random: Random, *, people: bool = False) -> tacit.Plan:
    """A plan that tacit does not refuse."""
    while True:
        try:
            return _any_plan(random, people)
        except tacit.InputError:
            pass


def _any_plan(random: Random, people: bool) -> tacit.Plan:
    a, b, c, d, who = random.sample(NAMES, 5)
    number = lambda: _number(random, BOUNDS)  # noqa: E731
    count = lambda: _number(random, COUNT_BOUNDS)  # noqa: E731
    levels = lambda: _levels(random)  # noqa: E731
    two = lambda: _levels(random, 2)  # noqa: E731
    either = random.choice((number, levels))
    terms = random.choice(
        ("`{1}` + `{2}`", "`{1}` * `{2}`", "`{1}` + `{1}`:`{2}`", "`{1}` + `{2}` - 1", "`{1}`:`{2}`", "`{1}`")
    )
    formula = ("`{0}` ~ " + terms).format(a, b, c)
    plain = f"`{a}` ~ `{b}` + `{c}`"
    simple = random.choice(
        (
            lambda: (tacit.Mean(a), {a: number()}),
            lambda: (tacit.Mean(a, by=random.choice((b, (b, c)))), {a: number(), b: levels(), c: levels()}),
            lambda: (tacit.Histogram(a, [1]), {a: Number(0, 3)}),
            lambda: (tacit.Quantiles(a, [0.5], [1], by=b), {a: Number(0, 3), b: levels()}),
            lambda: (tacit.Shares(a, by=b), {a: levels(), b: levels()}),
        )
    )
    model, schema = random.choice(
        (
            lambda: (tacit.Bernoulli(a), {a: two()}),
            lambda: (tacit.Categorical(a), {a: levels()}),
            lambda: (tacit.Normal(a, shape_check=random.random() < 0.5), {a: number()}),
            simple,
            lambda: (tacit.Exponential(a), {a: number()}),
            lambda: (tacit.Poisson(a), {a: random.choice((number, count))()}),
            lambda: (tacit.Geometric(a), {a: random.choice((number, count))()}),
            lambda: (tacit.LinearRegression(formula), {a: number(), b: number(), c: either()}),
            lambda: (tacit.LogisticRegression(formula), {a: two(), b: number(), c: either()}),
            lambda: (tacit.PoissonRegression(plain), {a: count(), b: number(), c: number()}),
        )
    )()
    weight = (None, "row", "person")[len(a + b) % 3]
    mechanism = tacit.AddNoise(unit=tacit.Person(who, random.choice((1, 2, 3)), weight)) if people else tacit.AddNoise()
    unread = {d: random.choice((number, levels))()} if random.random() < 0.3 else {}
    budget = random.choice((tacit.PureDP(1.0), tacit.ZCDP(0.5)))
    return tacit.Plan(model, tacit.Schema({**schema, **unread}), budget, mechanism)


def _number(random: Random, choices: Sequence[tuple[float, float]]) -> Number:
    low, high = random.choice(choices)
    return Number(low, high, random.choice((low, high))) if random.random() < 0.5 else Number(low, high)


def _levels(random: Random, count: int | None = None) -> Category:
    choices = [levels for levels in LEVELS if count in (None, len(levels))]
    levels = random.choice(choices)
    return Category(levels, random.choice((None, levels[-1])))  # type: ignore[arg-type]


def _drawer(
    random: Random, plan: tacit.Plan, name: str, kind: str, *, alike: bool = False, guessed: bool = False
) -> Callable[[], Any]:
    """A function that draws cells of one column: from the catalogue, or from what its declaration is about."""
    fitting = _fitting(plan, name, kind)
    cells = [cell for cell in KINDS[kind] if not _lost(cell)] if guessed else KINDS[kind]
    if alike:
        column = plan.schema[name] if name in plan.schema else None  # noqa: SIM401 (no KeyError)
        if isinstance(column, Category):  # a level that a cell does not get by being unreadable
            fitting = [cell for cell, level in zip(fitting, column.levels, strict=False) if level != column.missing]
        few = [
            random.choice(fitting if fitting and random.random() < 0.9 else cells)
            for _ in range(random.choice((1, 1, 2)))
        ]
        return lambda: random.choice(few)
    return lambda: random.choice(fitting if fitting and random.random() < 0.5 else cells)


def _fitting(plan: tacit.Plan, name: str, kind: str) -> list[Any]:
    column = plan.schema[name] if name in plan.schema else None  # noqa: SIM401 (no KeyError)
    if isinstance(column, Category):
        values = list(column.levels)
    elif isinstance(column, Number):
        low, high = column.low, column.high
        values = [
            low,
            high,
            (low + high) / 2,
            low + (high - low) / 3,
            math.nextafter(low, -math.inf),
            math.nextafter(high, math.inf),
        ]
    else:
        return []
    if kind in TEXT_KINDS:
        found: list[Any] = [value if isinstance(value, str) else repr(value) for value in values]
        numbers = [value for value in values if not isinstance(value, str | bool)]
        found += [f"{int(value)}" for value in numbers if float(value).is_integer() and abs(value) < 1e15]
        dated = kind == "read as date" and isinstance(column, Number) and column.low <= _DAY <= column.high
        return [*found, *["2020-01-31"] * (2 * len(found))] if dated else found
    whole = {
        "int": (-(2**63), 2**63),
        "int dictionary": (-(2**63), 2**63),
        "uint": (0, 2**64),
        "huge": (-(10**38), 10**38),
    }
    if kind in whole:
        least, most = whole[kind]
        numbers = [_as_number(value) for value in values]
        return [int(v) for v in numbers if v is not None and least <= v < most and math.isfinite(v)]
    if kind in ("float", "float32"):
        return [float(v) for v in map(_as_number, values) if v is not None]
    return [v for v in values if isinstance(v, bool)] if kind == "bool" else []


def _as_number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except ValueError:
        return None
