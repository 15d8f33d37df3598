"""What `tacit init` asks on a terminal, in words: from a question about a table to a whole plan.

Suggestions come from the names of columns, and never from a value. A wrong answer is asked for again, with the column
that it was about.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import typer

from tacit._support.printable import spelled_out
from tacit.cli.answers import (
    columns_of,
    derived_response,
    formula_of,
    formula_of_groups,
    named_in,
    read_column,
    read_columns,
    read_declaration,
    read_epsilon,
    read_family,
    read_field,
    read_formula,
    read_person,
    read_rows,
    read_weight,
)
from tacit.cli.shared import say
from tacit.errors import InputError

_LIKELY = {
    r"\b(\d+) ?[-–] ?(\d+)\)?$": r"\1 \2",  # a name such as "satisfaction 1-5" says its scale
    r"\bage\b": "0 110",
    r"percent|\bpct\b|%": "0 100",
    r"\bbmi\b": "10 60",
    r"\bmonth\b": "1 12",
    r"\bhour\b": "0 24",
}
"""Bounds that a name suggests: what the thing itself can be, whoever is in the table. `_` reads as a space."""


def asked(columns: Mapping[str, str | None]) -> Any:
    """A plan, by asking: the question, its columns, their bounds and levels, whose the rows are, epsilon, a title."""
    from tacit.mechanisms.registry import DEFAULT
    from tacit.models.model import required
    from tacit.models.registry import FAMILIES, SCORED
    from tacit.plan import Plan

    families = {**FAMILIES, **SCORED}
    names = list(families)
    say(f"Columns: {', '.join(f'{place} {name}' for place, name in enumerate(columns, 1))}")
    say("Answer with a column's name or its number.")
    say("What do you want to know?")
    width = max(map(len, names))
    for place, name in enumerate(names, 1):
        say(f"  {place:>2}  {name:<{width}}  {families[name].about}")
    family = _until("Family, its number or its name", lambda answer: read_family(answer, names))
    model: dict[str, Any] = {"family": family}
    fields = families[family].__dataclass_fields__
    derive: dict[str, str] = {}
    if "formula" in fields:
        model["formula"], used = _asked_formula(columns, derive, varies=getattr(families[family], "varies", False))
    else:
        model["column"] = _until("Column", lambda answer: read_column(answer, columns))
        used = [model["column"]]
    missing = [name for name in required(families[family]) if name not in model]
    for name in missing:
        last = name == missing[-1]
        model[name] = _until(
            f"{name}, {fields[name].metadata.get('asks', 'which the family needs')}",
            lambda answer, name=name, last=last: read_field(
                families[family],
                {**model, name: read_column(answer, columns) if fields[name].metadata.get("column", False) else answer},
                name,
                whole=last,
            ),
        )
    used += [model[name] for name in missing if fields[name].metadata.get("column", False)]
    by = model.get("by", [])
    used += [by] if isinstance(by, str) else by
    say("Now what each column can hold, from what you know and never from these rows.")
    say("  a number: its least and largest value, such as  1 5")
    say("  a category: all its levels, spelt as in the file, capitals too, such as  no, yes")
    schema: dict[str, Any] = {}
    while not _declare(schema, model, used, derive):
        model["formula"], used = _asked_formula(columns, derive, varies=getattr(families[family], "varies", False))
    person = _until(
        "Can one person have several rows? Say no, or the column that tells people apart",
        lambda answer: read_person(answer, columns, used),
        likely="no",
    )
    unit: dict[str, Any] = {}
    if person is not None:
        rows = _until(f"How many rows of one {person} count at most? More need more noise", read_rows)
        unit = {"unit": "person", "id": person, "max_rows": rows}
        tables = _tables(model, schema, derive, 1.0, {"kind": DEFAULT, **unit})
        if Plan.from_plain(tables).filled:
            unit["weight"] = _until(f"Does every row count, or each {person} once? Say row or person", read_weight)
    epsilon = _until("epsilon (0.1 tells little about anyone, 1 is common, above 3 is weak)", read_epsilon)
    tables = _tables(model, schema, derive, epsilon, {"kind": DEFAULT, **unit})
    plan = Plan.from_plain(tables)
    return _until(
        "A title for the report",
        lambda answer: Plan.from_plain({**tables, "title": answer}),
        likely=plan.model.question(plan.schema),
    )


def _tables(
    model: dict[str, Any], schema: dict[str, Any], derive: dict[str, str], epsilon: float, mechanism: dict[str, Any]
) -> dict[str, Any]:
    derived = {"derive": dict(derive)} if derive else {}
    return {"model": model, "schema": schema, **derived, "budget": {"epsilon": epsilon}, "mechanism": mechanism}


def _asked_formula(columns: Mapping[str, str | None], derive: dict[str, str], *, varies: bool) -> tuple[str, list[str]]:
    """A formula, of columns or as it was written, and the columns that it names; ``derive`` gets what it needs."""
    derive.clear()

    def read(answer: str) -> str:
        if "~" not in answer or answer in columns:
            return read_column(answer, columns)
        formula, new = derived_response(answer, columns)
        found = read_formula(formula, {**columns, **dict.fromkeys(new)})
        derive.update(new)
        return found

    said = _until("Column to explain (or a whole formula, such as  y ~ a + b  or  log(y) ~ a)", read)
    for name, expression in derive.items():
        say(f"  {name} is derived as {expression}")
    if "~" not in said or said in columns:
        if varies:
            said = _until("Column of the groups", lambda answer: formula_of_groups(said, read_column(answer, columns)))
        else:
            said = _until(
                "Columns that may explain it, with commas between them",
                lambda answer: read_formula(formula_of(said, read_columns(answer, columns)), columns),
            )
    used = [named_in(derive[name]) if name in derive else name for name in columns_of(said)]
    return said, list(dict.fromkeys(used))


def _declare(schema: dict[str, Any], model: dict[str, Any], used: list[str], derive: dict[str, str]) -> bool:
    """Ask for the bounds and levels of the columns ``used``, and again for those that do not suit the model; False if
    it is the formula that does not.
    """
    from tacit.mechanisms.registry import DEFAULT
    from tacit.plan import Plan

    for name in [name for name in schema if name not in used]:
        del schema[name]
    wanted = [name for name in used if name not in schema]
    while True:
        for name in wanted:
            schema[name] = _until(name, read_declaration, about=name, likely=_likely(name))
            say(f"  {_understood(schema[name])}")
        tables = _tables(model, schema, derive, 1.0, {"kind": DEFAULT})
        try:
            Plan.from_plain(tables)
        except InputError as error:
            print(spelled_out(_about_bounds(error, derive)), file=sys.stderr)
            if str(error).startswith("Expected formula"):
                return False
            wanted = [name for name in used if name in str(error)] or used
            continue
        return True


def _about_bounds(error: InputError, derive: dict[str, str]) -> str:
    for name, expression in derive.items():
        if str(error).startswith(f"Expected derive.{name}=") and "have bounds that follow" in str(error):
            above = "above 0" if expression.startswith("log") else "at least 0"
            return f"Expected the least value of {named_in(expression)} to be {above}, for {expression}."
    return str(error)


def _until(question: str, read: Callable[[str], Any], *, about: str | None = None, likely: str | None = None) -> Any:
    while True:
        answer = typer.prompt(question, default=likely).strip()
        try:
            return read(answer)
        except InputError as error:
            print(spelled_out(f"{about}: {error}" if about else str(error)), file=sys.stderr)


def _likely(name: str) -> str | None:
    words = name.lower().replace("_", " ")
    found = ((re.search(pattern, words), bounds) for pattern, bounds in _LIKELY.items())
    return next((match.expand(bounds) for match, bounds in found if match is not None), None)


def _understood(declared: Any) -> str:
    """What was understood of bounds or levels, so that a slip is seen at once."""
    if isinstance(declared, list) and all(isinstance(one, int | float) for one in declared):
        return f"numbers from {declared[0]:,.12g} to {declared[1]:,.12g}; what lies outside counts as the nearer end"
    levels = declared["levels"] if isinstance(declared, Mapping) else declared
    return f"levels {', '.join(map(repr, levels))}; the first is what others are compared with"
