"""The command that says what a budget would buy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.shared import (
    Json,
    Overwrite,
    PlanFile,
    Seed,
    Tsv,
    asked_progress,
    check_form,
    print_json,
    print_table,
    print_tsv,
    say,
    tell,
)
from tacit.errors import expected
from tacit.runtime.progress import percent


def design(
    plan: PlanFile,
    n: Annotated[str, typer.Option("--n", metavar="N,...", help="Numbers of rows, with commas between them.")],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="E,...", help="Budgets to try in place of the plan's epsilon.")
    ] = None,
    rho: Annotated[
        str | None, typer.Option("--rho", metavar="R,...", help="The same for a plan whose budget is rho.")
    ] = None,
    mu: Annotated[
        str | None, typer.Option("--mu", metavar="M,...", help="The same for a plan whose budget is mu.")
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="COLUMN=VALUES",
            help="Where a regression's column is likely to lie: age=40+-10, smoker=no:0.7,yes:0.3; age:bmi=0.2 "
            "is a correlation; repeatable.",
        ),
    ] = None,
    effect: Annotated[
        list[str] | None,
        typer.Option(
            "--effect", metavar="NAME=NUMBER", help="A plausible coefficient in the units of the data; repeatable."
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Infer the last cell in full, and show its widths beside the approximate ones."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Where a plot goes, an SVG or PNG file.", show_default=False)
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: Json = False,
    as_tsv: Tsv = False,
) -> None:
    """Say what budgets would buy, before any is spent. Without data: widths of intervals, signs, clamping."""
    import tacit
    from tacit._support.files import check_apart
    from tacit.calibration.expected_columns import read_effect, read_expect
    from tacit.design.figure import check_plot
    from tacit.plan import as_plan

    check_form(as_json, as_tsv)
    if plot is not None:
        check_apart(plot, "plot", plan=plan)
        check_plot(plot, overwrite=overwrite)
    sizes = [int(value) for value in _list("n", n, whole=True)]
    budgets = {
        name: _list(name, text) for name, text in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if text is not None
    }
    whole = as_plan(plan)
    said = {"expect": read_expect(expect or [], whole), "effect": read_effect(effect or [])}
    if check and whole.mechanism.kind == "newton":
        raise expected("check", True, "to be left out: for scores in rounds the widths are those of inference in full")
    settings: dict[str, Any] = {**said, **budgets}
    found = tacit.design(whole, n=sizes, seed=seed, progress=asked_progress(), **settings)
    if plot is not None:
        found.save_figure(plot, overwrite=overwrite)
    compared = None
    if check:
        from dataclasses import replace

        from tacit.design.check import compare

        cell = found.cells[-1]
        with percent(asked_progress(), "Inferring"):
            compared = compare(replace(found.plan, budget=cell.budget), n=cell.n, seed=seed).table()
    if as_json:
        print_json(found.to_plain() if compared is None else {**found.to_plain(), "check": compared})
        return
    if as_tsv:
        print_tsv(found.table())
        return
    _show(found, compared)
    if plot is not None:
        say(f"Saved: {plot}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def _list(name: str, text: str, *, whole: bool = False) -> list[float]:
    kind = "whole numbers" if whole else "numbers"
    try:
        found = [float(part.strip().replace("_", "")) for part in text.split(",")]
    except ValueError:
        raise expected(name, text, f"to be {kind} with commas between them") from None
    if whole and not all(value.is_integer() for value in found):
        raise expected(name, text, f"to be {kind} with commas between them")
    return found


def _guess(found: Any) -> str:
    """Which columns were guessed, and how to say more of one."""
    from tacit.schema import Category

    name = found.guessed[0]
    column = found.plan.schema[name]
    form = f"{name}={column.levels[0]}:SHARE" if isinstance(column, Category) else f"{name}=MEAN+-SD"
    names = ", ".join(found.guessed)
    return f"Guessed: where the values of {names} lie within what is declared; --expect '{form}' says it."


def _show(found: Any, compared: list[dict[str, Any]] | None) -> None:
    from tacit.design.figure import varying

    varied = varying(found)
    rows: list[list[str]] = []
    for cell in found.cells:
        for i, number in enumerate(cell.numbers):
            rows.append(
                [
                    f"{cell.n:,}" if i == 0 else "",
                    f"{getattr(cell.budget, varied):g}" if i == 0 else "",
                    number.name,
                    _short(number.width),
                    f"{_short(number.low)} to {_short(number.high)}",
                    f"{100 * number.to_prior:.0f}%",
                    f"{number.to_exact:.2f}x" if number.to_exact < 10 else f"{number.to_exact:.0f}x",
                    "–" if number.sign is None else f"{100 * number.sign:.0f}%",
                    f"{100 * number.privacy:.0f}%",
                    *([] if number.to_known_n is None else [f"{number.to_known_n:.2f}x"]),
                ]
            )
    headings = ("n", varied, "number", "95% width", "8 in 10", "of prior", "no privacy", "sign right", "due to noise")
    if found.cells[0].numbers[0].to_known_n is not None:
        headings = (*headings, "n known")
    print_table(headings, rows, left=3)
    for name, share in found.clamped.items():
        if share >= 0.001:
            say(f"Clamped: {100 * share:.1f}% of {name} is expected outside its bounds.")
    if found.guessed:
        tell(_guess(found))
    if compared is not None:
        cell = found.cells[-1]
        say(f"Check: inference in full at n = {cell.n:,}, {cell.budget.symbols}:")
        print_table(
            ("number", "width here", "inferred", "ratio"),
            [[r["name"], _short(r["approximate"]), _short(r["inferred"]), f"{r['ratio']:.2f}"] for r in compared],
        )
    tell(found.advice())
    if compared is None and found.plan.mechanism.kind != "newton" and sys.stdout.isatty():
        say("These widths are approximate; --check infers one cell in full.")
