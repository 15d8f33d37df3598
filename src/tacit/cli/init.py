"""The command that starts a plan: from names and types alone, and by asking where there is somebody to ask."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit._support.printable import spelled_out
from tacit.cli.shared import Json, print_json, say
from tacit.errors import InputError


def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The rows, of which only the names are read.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the plan goes, a TOML file.")] = Path(
        "plan.toml"
    ),
    ask: Annotated[
        bool | None, typer.Option("--ask/--no-ask", help="Ask for what is missing; on a terminal unless told.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Start a plan file from the names of the columns. Values, ranges and levels are never read."""
    from tacit._support.files import check_apart, check_writable, write_atomically
    from tacit.cli.template import filled, template
    from tacit.sources.open import header_of

    check_apart(output, "output", data=data)
    check_writable(output, name="output", overwrite=False)
    columns = header_of(data)
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not as_json if ask is None else ask
    text = filled(_asked(columns)) if asking else template(columns)
    write_atomically(output, text.encode(), name="output", overwrite=False)
    if as_json:
        print_json({"plan": str(output), "columns": columns})
        return
    if asking:
        say(f"Wrote {output}. Next: tacit check {output}")
        return
    say(f"Wrote {output} with {len(columns)} column{'s' if len(columns) > 1 else ''}. Fill in the blanks, then:")
    say(f"  tacit check {output}")


def _asked(columns: dict[str, str | None]) -> Any:
    """A plan, by asking: family, columns, bounds and levels, epsilon. A wrong answer is asked for again."""
    from tacit.mechanisms.registry import DEFAULT
    from tacit.models.formula import parse_formula
    from tacit.models.model import required
    from tacit.models.registry import FAMILIES, SCORED
    from tacit.plan import Plan

    families = {**FAMILIES, **SCORED}
    say(f"Columns: {', '.join(columns)}")
    say(f"Families: {', '.join(families)}")
    say("For a number start with mean, which assumes no shape; for its distribution histogram or quantiles; for levels")
    say("bernoulli or categorical.")
    family = _until("Family", lambda answer: answer if answer in families else _no("to be one of the families"))
    model: dict[str, Any] = {"family": family}
    if "formula" in families[family].__dataclass_fields__:
        model["formula"] = _until("Formula (response ~ one + another)", lambda answer: _formula(answer, columns))
        parsed = parse_formula(model["formula"])
        used = list(dict.fromkeys([parsed.response, *(name for term in parsed.terms for name in term)]))
    else:
        model["column"] = _until("Column", lambda answer: answer if answer in columns else _no("to be a column"))
        used = [model["column"]]
    missing = [name for name in required(families[family]) if name not in model]
    for name in missing:
        last = name == missing[-1]
        model[name] = _until(
            f"{name}, {families[family].__dataclass_fields__[name].metadata.get('asks', 'which the family needs')}",
            lambda answer, name=name, last=last: _said(families[family], {**model, name: answer}, name, whole=last),
        )
    by = model.get("by", [])
    used += [by] if isinstance(by, str) else by
    used += [model["event"]] if "event" in model else []
    say("Bounds and levels come from what you know, never from these rows.")
    schema = {
        name: _until(f"{name}: two numbers (bounds), or the levels, with commas between them", _declared)
        for name in used
    }
    epsilon = _until("epsilon (0.1 tells little about anyone, 1 is common, above 3 is weak)", _positive)
    tables = {"model": model, "schema": schema, "budget": {"epsilon": epsilon}, "mechanism": {"kind": DEFAULT}}
    return Plan.from_plain(tables)


def _until(question: str, read: Any) -> Any:
    while True:
        answer = typer.prompt(question).strip()
        try:
            return read(answer)
        except InputError as error:
            print(spelled_out(str(error)), file=sys.stderr)


def _no(condition: str) -> Any:
    raise InputError(f"Expected the answer {condition}.")


def _formula(answer: str, columns: dict[str, str | None]) -> str:
    from tacit.models.formula import parse_formula

    parsed = parse_formula(answer)
    for name in (parsed.response, *(name for term in parsed.terms for name in term)):
        if name not in columns:
            raise InputError(f"Expected {name!r} to be a column.")
    return answer


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
    from tacit.schema import column_from_plain

    parts = [part.strip() for part in answer.split(",")]
    numbers = _floats(parts)
    value: Any = parts if numbers is None else numbers if len(numbers) == 2 else {"levels": numbers}
    return column_from_plain("answer", value).to_plain()  # type: ignore[union-attr]


def _floats(parts: list[str]) -> list[float] | None:
    try:
        return [float(part.replace("_", "")) for part in parts]
    except ValueError:
        return None


def _positive(answer: str) -> float:
    from tacit.privacy.guarantees import PureDP

    found = _floats([answer])
    if found is None:
        raise InputError("Expected epsilon to be a number.")
    return PureDP(found[0]).epsilon
