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
from tacit.cli.shared import say
from tacit.errors import InputError, did_you_mean

_LIKELY = {
    r"(^|_)age($|_)": "0 110",
    r"percent|pct": "0 100",
    r"(^|_)bmi($|_)": "10 60",
    r"(^|_)month($|_)": "1 12",
    r"(^|_)hour($|_)": "0 24",
}
"""Bounds that a name suggests: what the thing itself can be, whoever is in the table."""


def asked(columns: Mapping[str, str | None]) -> Any:
    """A plan, by asking: the question, its columns, their bounds and levels, whose the rows are, epsilon, a title."""
    from tacit.mechanisms.registry import DEFAULT
    from tacit.models.model import required
    from tacit.models.registry import FAMILIES, SCORED
    from tacit.plan import Plan

    families = {**FAMILIES, **SCORED}
    names = list(families)
    say(f"Columns: {', '.join(columns)}")
    say("What do you want to know?")
    for place, name in enumerate(names, 1):
        say(f"  {place:>2}  {name:<19} {families[name].about}")
    family = _until("Family, its number or its name", lambda answer: _family(answer, names))
    model: dict[str, Any] = {"family": family}
    fields = families[family].__dataclass_fields__
    if "formula" in fields:
        say("A formula names the column to explain, ~, and those that may explain it with + between them.")
        model["formula"] = _until("Formula, such as  y ~ a + b", lambda answer: _formula(answer, columns))
        used = _named(model["formula"])
    else:
        model["column"] = _until("Column", lambda answer: _column(answer, columns))
        used = [model["column"]]
    missing = [name for name in required(families[family]) if name not in model]
    for name in missing:
        last = name == missing[-1]
        model[name] = _until(
            f"{name}, {fields[name].metadata.get('asks', 'which the family needs')}",
            lambda answer, name=name, last=last: _said(
                families[family],
                {**model, name: _column(answer, columns) if fields[name].metadata.get("column", False) else answer},
                name,
                whole=last,
            ),
        )
    used += [model[name] for name in missing if fields[name].metadata.get("column", False)]
    by = model.get("by", [])
    used += [by] if isinstance(by, str) else by
    say("Now what each column can hold, from what you know and never from these rows.")
    say("  a number: its least and largest value, such as  1 5     a category: its levels, such as  no, yes")
    schema = {name: _until(name, _declared, about=name, likely=_likely(name)) for name in used}
    person = _until(
        "Can one person have several rows? no, or the column that tells people apart",
        lambda answer: _person(answer, columns, used),
        likely="no",
    )
    unit: dict[str, Any] = {}
    if person is not None:
        rows = _until(f"How many rows of one {person} count at most? More need more noise", _whole)
        unit = {"unit": "person", "id": person, "max_rows": rows}
    epsilon = _until("epsilon (0.1 tells little about anyone, 1 is common, above 3 is weak)", _positive)
    tables = {"model": model, "schema": schema, "budget": {"epsilon": epsilon}, "mechanism": {"kind": DEFAULT, **unit}}
    plan = Plan.from_plain(tables)
    return _until(
        "A title for the report",
        lambda answer: Plan.from_plain({**tables, "title": answer}),
        likely=plan.model.question(plan.schema),
    )


def _until(question: str, read: Callable[[str], Any], *, about: str | None = None, likely: str | None = None) -> Any:
    while True:
        answer = typer.prompt(question, default=likely).strip()
        try:
            return read(answer)
        except InputError as error:
            print(spelled_out(f"{about}: {error}" if about else str(error)), file=sys.stderr)


def _likely(name: str) -> str | None:
    return next((bounds for pattern, bounds in _LIKELY.items() if re.search(pattern, name.lower())), None)


def _family(answer: str, names: list[str]) -> str:
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return names[int(answer) - 1]
    if answer not in names:
        hint = did_you_mean(answer, names)
        raise InputError(f"Expected a number from 1 to {len(names)}, or one of the names{hint}.")
    return answer


def _column(answer: str, columns: Mapping[str, str | None]) -> str:
    if answer not in columns:
        several = " One plan is about one column: make another plan for each." if "," in answer else ""
        hint = did_you_mean(answer, columns)
        raise InputError(f"Expected one of the columns {', '.join(columns)}, not {answer!r}{hint}.{several}")
    return answer


def _formula(answer: str, columns: Mapping[str, str | None]) -> str:
    from tacit.models.formula import parse_formula

    parsed = parse_formula(answer)
    for name in (parsed.response, *parsed.columns):
        if name not in columns:
            parsed.no(name, f"to name columns of the file, not {name!r}{did_you_mean(name, columns)}")
    return answer


def _named(formula: str) -> list[str]:
    """The columns of a formula, the response first."""
    from tacit.models.formula import parse_formula

    parsed = parse_formula(formula)
    return list(dict.fromkeys([parsed.response, *parsed.columns]))


def _said(family: Any, model: dict[str, Any], name: str, *, whole: bool) -> Any:
    """An answer about the model, a number where it is one; the last one makes the model whole, which checks it."""
    several = family.__dataclass_fields__[name].metadata.get("list", False)
    parts = [part.strip() for part in model[name].split(",")] if several else [model[name]]
    numbers = _floats(parts)
    value: Any = parts if numbers is None else numbers
    if not several or (numbers is None and len(parts) == 1):
        value = value[0]
    if whole:
        family.from_plain({**{k: v for k, v in model.items() if k != "family"}, name: value})
    return value


def _declared(answer: str) -> Any:
    """Bounds as ``1 5``, ``1,5`` or ``[1, 5]``; levels with commas between them, in quotes or not."""
    from tacit.schema import column_from_plain

    inner = answer[1:-1] if answer[:1] + answer[-1:] in ("[]", "()") else answer
    parts = [_unquoted(part.strip()) for part in inner.split(",")]
    if len(parts) == 1 and (pair := _floats(parts[0].split())) is not None and len(pair) == 2:
        return _checked(pair, column_from_plain)
    if len(parts) == 1:
        raise InputError(f"Expected two numbers such as 1 5, or at least two levels such as no, yes; not {answer!r}.")
    numbers = _floats(parts)
    value: Any = parts if numbers is None else numbers if len(numbers) == 2 else {"levels": numbers}
    return _checked(value, column_from_plain)


def _checked(value: Any, read: Any) -> Any:
    return read("answer", value).to_plain()


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _floats(parts: list[str]) -> list[float] | None:
    try:
        return [float(part.replace("_", "")) for part in parts]
    except ValueError:
        return None


def _person(answer: str, columns: Mapping[str, str | None], used: list[str]) -> str | None:
    if answer.lower() in ("no", "n"):
        return None
    if answer not in columns or answer in used:
        raise InputError(f"Expected no, or a column that the model does not use, not {answer!r}.")
    return answer


def _whole(answer: str) -> int:
    if not answer.isdecimal() or not 1 <= int(answer) <= 10**6:
        raise InputError(f"Expected a whole number of rows, at least 1, not {answer!r}.")
    return int(answer)


def _positive(answer: str) -> float:
    from tacit.privacy.guarantees import PureDP

    found = _floats([answer])
    if found is None:
        raise InputError(f"Expected epsilon to be a number such as 1, not {answer!r}.")
    return PureDP(found[0]).epsilon
