"""What `tacit init` asks on a terminal, in words: from a question about a table to a whole plan.

Suggestions come from the names of columns, and never from a value. A wrong answer is asked for again, with the column
that it was about.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from tacit._support.printable import spelled_out
from tacit.cli.shared import say
from tacit.errors import InputError, did_you_mean

_LIKELY = {
    r"\b(\d+) ?[-–] ?(\d+)\)?$": r"\1 \2",  # a name such as "satisfaction 1-5" says its scale
    r"\bage\b": "0 110",
    r"percent|\bpct\b|%": "0 100",
    r"\bbmi\b": "10 60",
    r"\bmonth\b": "1 12",
    r"\bhour\b": "0 24",
}
"""Bounds that a name suggests: what the thing itself can be, whoever is in the table. `_` reads as a space."""

_NUMBER = r"[-+]?[\d_]*\.?\d+(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}) *(?:-|–|\.\.+|to) *({_NUMBER})")


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
    family = _until("Family, its number or its name", lambda answer: _family(answer, names))
    model: dict[str, Any] = {"family": family}
    fields = families[family].__dataclass_fields__
    if "formula" in fields:
        model["formula"], used = _asked_formula(columns, varies=getattr(families[family], "varies", False))
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
    schema: dict[str, Any] = {}
    while not _declare(schema, model, used):
        model["formula"], used = _asked_formula(columns, varies=getattr(families[family], "varies", False))
    person = _until(
        "Can one person have several rows? Say no, or the column that tells people apart",
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


def _asked_formula(columns: Mapping[str, str | None], *, varies: bool) -> tuple[str, list[str]]:
    """A formula, of columns or as it was written, and the columns that it names."""
    said = _until(
        "Column to explain (or a whole formula, such as  y ~ a + b)",
        lambda answer: _formula(answer, columns) if "~" in answer else _column(answer, columns),
    )
    if "~" not in said or said in columns:
        if varies:
            said = _until("Column of the groups", lambda answer: _grouped(said, _column(answer, columns)))
        else:
            said = _until(
                "Columns that may explain it, with commas between them",
                lambda answer: _formula(_joined(said, _columns(answer, columns)), columns),
            )
    return said, _named(said)


def _declare(schema: dict[str, Any], model: dict[str, Any], used: list[str]) -> bool:
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
            schema[name] = _until(name, _declared, about=name, likely=_likely(name))
            say(f"  {_understood(schema[name])}")
        tables = {"model": model, "schema": schema, "budget": {"epsilon": 1.0}, "mechanism": {"kind": DEFAULT}}
        try:
            Plan.from_plain(tables)
        except InputError as error:
            print(spelled_out(str(error)), file=sys.stderr)
            if str(error).startswith("Expected formula"):
                return False
            wanted = [name for name in used if name in str(error)] or used
            continue
        return True


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
        return f"numbers from {declared[0]:g} to {declared[1]:g}; what lies outside counts as the nearer end"
    levels = declared["levels"] if isinstance(declared, Mapping) else declared
    return f"levels {', '.join(map(repr, levels))}; the first is what others are compared with"


def _family(answer: str, names: list[str]) -> str:
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return names[int(answer) - 1]
    if answer not in names:
        hint = did_you_mean(answer, names)
        raise InputError(f"Expected a number from 1 to {len(names)}, or one of the names{hint}.")
    return answer


def _found(answer: str, columns: Mapping[str, str | None]) -> str | None:
    """The column that is meant, by its name, in quotes or not, in another case, or by its number."""
    name = _unquoted(answer.strip())
    if name in columns:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(columns):
        return list(columns)[int(name) - 1]
    same = [one for one in columns if one.casefold() == name.casefold()]
    return same[0] if len(same) == 1 else None


def _column(answer: str, columns: Mapping[str, str | None]) -> str:
    found = _found(answer, columns)
    if found is None:
        several = " One plan is about one column: make another plan for each." if "," in answer else ""
        hint = did_you_mean(answer, columns)
        raise InputError(f"Expected one of the columns {', '.join(columns)}, not {answer!r}{hint}.{several}")
    return found


def _columns(answer: str, columns: Mapping[str, str | None]) -> list[str]:
    """Several columns. A name may hold commas itself, so the longest name that fits is taken first."""
    if re.fullmatch(r"\d+( +\d+)+", answer):  # numbers alone need no commas
        answer = ",".join(answer.split())
    parts, found = re.split(r"([,+])", answer), list[str]()
    while parts:
        for size in range(len(parts), 0, -2):
            if (one := _found("".join(parts[:size]), columns)) is not None:
                found.append(one)
                parts = parts[size + 1 :]
                break
        else:
            raise InputError(
                f"Expected some of the columns {', '.join(columns)}, or their numbers, with commas between them, not "
                f"{parts[0].strip()!r}{did_you_mean(parts[0].strip(), columns)}."
            )
    return found


def _joined(response: str, columns: list[str]) -> str:
    """A formula of these columns; a name with spaces or signs stands between backticks."""
    from tacit.models.formula_terms import quoted

    names = [quoted(one) for one in (response, *columns)]
    return f"{names[0]} ~ {' + '.join(names[1:])}"


def _grouped(response: str, groups: str) -> str:
    """A formula of a mean that varies between groups."""
    from tacit.models.formula_terms import quoted

    return f"{quoted(response)} ~ (1 | {quoted(groups)})"


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
    ends = _RANGE.fullmatch(parts[0]) if len(parts) == 1 else None
    if len(parts) == 1 and (pair := _floats(ends.groups() if ends else parts[0].split())) and len(pair) == 2:
        return _checked(pair, column_from_plain)
    if len(parts) == 1:
        raise InputError(f"Expected two numbers such as 1 5, or at least two levels such as no, yes; not {answer!r}.")
    numbers = _floats(parts)
    value: Any = parts if numbers is None else numbers if len(numbers) == 2 else {"levels": numbers}
    return _checked(value, column_from_plain)


def _checked(value: Any, read: Any) -> Any:
    return read("answer", value).to_plain()


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`" else text


def _floats(parts: Sequence[str]) -> list[float] | None:
    try:
        return [float(part.replace("_", "")) for part in parts]
    except ValueError:
        return None


def _person(answer: str, columns: Mapping[str, str | None], used: list[str]) -> str | None:
    if answer.lower() in ("no", "n", "none", "never"):
        return None
    found = _found(answer, columns)
    if found is None or found in used:
        rest = ", ".join(name for name in columns if name not in used)
        raise InputError(
            f"Expected no, or the column that tells people apart, one of {rest or 'no column'}, not {answer!r}."
        )
    return found


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
