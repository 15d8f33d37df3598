"""The command that attacks a mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.shared import Json, Overwrite, PlanFile, Seed, asked_progress, print_json, say


def audit(
    plan: PlanFile,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where the page goes, an HTML file; or .json.", show_default=False),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="Runs of the mechanism on each of two data sets.")] = 2000,
    n: Annotated[int, typer.Option("--n", help="How many rows, or people, each made-up data set has.")] = 10,
    level: Annotated[float, typer.Option("--level", help="The probability of a false alarm, at most.")] = 1e-6,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Attack a plan's mechanism to see if it keeps its promise. With made-up records; exit code 1 if it does not."""
    import tacit
    from tacit._support.files import check_apart, check_writable

    if output is not None:
        check_apart(output, "output", plan=plan)
        check_writable(output, name="output", overwrite=overwrite)
    found = tacit.audit(plan, runs=runs, n=n, level=level, seed=seed, progress=asked_progress())
    if output is not None:
        found.save(output, overwrite=overwrite)
    if as_json:
        print_json(found.to_plain())
    else:
        say(f"Verdict: {found.verdict if found.violated else f'passed, {found.verdict}'}.")
        say(found.sentence())
        for check in found.checks:
            say(f"  {'VIOLATED' if check.violated else 'holds   '}  {check.name}: {check.words}")
        if found.witness is not None:
            say(f"The two records that come closest to breaking it: {_record(found.witness[0])}")
            say(f"                                             and: {_record(found.witness[1])}")
        if output is not None:
            say(f"Wrote {output}")
    if found.violated:
        raise typer.Exit(1)


def _record(record: Any) -> str:
    """A record in words: what is missing, and what lies beyond every bound."""
    if not isinstance(record, Mapping):
        return str(record)

    def cell(value: Any) -> str:
        if value is None:
            return "missing"
        infinite = isinstance(value, float) and math.isinf(value)
        return f"{'above' if value > 0 else 'below'} every bound" if infinite else repr(value)

    return ", ".join(f"{name} {'is' if value is None else '='} {cell(value)}" for name, value in record.items())
