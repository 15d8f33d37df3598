"""The command that checks whether a posterior is calibrated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.shared import (
    Json,
    Overwrite,
    PlanFile,
    PriorOption,
    Seed,
    asked_progress,
    print_json,
    prior_changes,
    say,
)
from tacit.errors import InputError, expected


def calibrate(
    plan: PlanFile,
    n: Annotated[
        int | None,
        typer.Option("--n", help="How many made-up rows each release is about.", show_default=False),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help="Release a public table again and again instead. Never a private one: the output shows its rows.",
            show_default=False,
        ),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Everybody may see the rows of the table.")] = False,
    trials: Annotated[
        int | None, typer.Option("--trials", help="How many releases: 500, or 100 with --table.", show_default=False)
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="Another sampler of the family.", show_default=False)
    ] = None,
    prior: PriorOption = None,
    robust: Annotated[bool, typer.Option("--robust", help="Repeat it with rows outside the model.")] = False,
    level: Annotated[
        float | None,
        typer.Option(
            "--level",
            help="The probability of a false alarm, at most: 0.001, or 0.01 with --table.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where the page goes, an HTML file; or .json.", show_default=False),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", help="A folder for the pictures, SVG and PNG.", show_default=False)
    ] = None,
    processes: Annotated[int, typer.Option("--processes", help="Processes that share the trials.")] = 1,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Check that intervals hold the truth as often as they say. The exit code is 1 if they do not.

    Releases are simulated, and no row is read. With --table they are those of one table that is public, and what its
    rows say is the truth. Never use that on private rows: nothing is charged, and the output shows what they say.
    """
    from tacit._support.files import check_apart, check_writable
    from tacit.calibration.plots import check_plots, write_plots
    from tacit.calibration.study import LEVEL, study

    _check_apart(n=n, table=table, public=public, robust=robust, plots=plots, processes=processes, output=output)
    if output is not None:
        check_apart(output, "output", plan=plan)
        check_writable(output, name="output", overwrite=overwrite)
    if table is not None:
        settings = {"releases": trials, "level": level}
        given = {name: value for name, value in settings.items() if value is not None}
        _calibrate_table(
            plan,
            table,
            output,
            method=method,
            prior=prior,
            seed=seed,
            overwrite=overwrite,
            as_json=as_json,
            given=given,
        )
        return
    assert n is not None
    if plots is not None:
        check_plots(plots, overwrite=overwrite)
    changes = prior_changes(prior or [])
    found = study(
        plan,
        n=n,
        trials=500 if trials is None else trials,
        seed=seed,
        method=method,
        prior=changes,
        level=LEVEL if level is None else level,
        robust=robust,
        processes=processes,
        progress=asked_progress(),
    )
    if output is not None:
        found.save(output, overwrite=overwrite)
    written: list[Path] = []
    if plots is not None:
        written = write_plots(found, plots, overwrite=overwrite)
    if as_json:
        print_json(found.to_plain())
    else:
        say(f"Verdict: {found.verdict}.")
        say(found.sentence())
        _print_rows(found.rows(found.found))
        if found.mmd is not None:
            say(f"Squared maximum mean discrepancy to the non-private posterior: {found.mmd:.3g}")
        for line in found.robustness() if robust else []:
            word = "calibrated" if line["calibrated"] else "NOT calibrated"
            low, high = 100 * line["least_95"], 100 * line["most_95"]
            say(f"  {line['departure']:14s} {word:14s} 95% intervals hold {low:.1f} to {high:.1f} times in 100")
        for reason, names in found.refusals().items():
            say(f"  Not tried: {', '.join(names)}. {reason}")
        for path in (*([output] if output is not None else []), *written):
            say(f"Wrote {path}")
    if not found.calibrated:
        raise typer.Exit(1)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    say(f"  {'number':20s} {'p':>8s} {'50%':>7s} {'80%':>7s} {'95%':>7s} {'learnt':>7s} {'width':>7s}")
    for row in rows:
        covers = "".join(f" {100 * row[name]:6.1f}%" for name in ("covers_50", "covers_80", "covers_95"))
        width = "–" if row["width"] is None else f"{row['width']:.2f}"
        say(f"  {row['number']:20s} {row['p']:8.2g}{covers} {row['contraction']:7.2f} {width:>7s}")


def _check_apart(
    *, n: int | None, table: str | None, public: bool, robust: bool, plots: Path | None, processes: int, output: Any
) -> None:
    """Refuse options that do not go together, before anything is opened."""
    if table is None:
        if public:
            raise InputError("Expected --public to come with --table: it is about the rows of a table.")
        if n is None:
            raise InputError("Expected --n to say how many rows are made up, or --table to name a public table.")
        return
    if not public:
        raise InputError(
            "Expected --public beside --table: calibration shows what the rows say, so it is for tables that everybody "
            "may see, and never for private rows."
        )
    for name, given in (
        ("--n", n is not None),
        ("--robust", robust),
        ("--plots", plots is not None),
        ("--processes", processes != 1),
    ):
        if given:
            raise InputError(f"Expected {name} to be left out with --table.")
    if output is not None and output.suffix != ".json":
        raise expected("output", output.name, "to end in .json with --table")


def _calibrate_table(
    plan: Path,
    table: str,
    output: Path | None,
    *,
    method: str | None,
    prior: list[str] | None,
    seed: int,
    overwrite: bool,
    as_json: bool,
    given: dict[str, Any],
) -> None:
    """The study of a public table, and what it says."""
    from tacit.calibration.table import calibrate_table

    changes = prior_changes(prior or [])
    found = calibrate_table(
        plan, table, public=True, method=method, prior=changes, seed=seed, progress=asked_progress(), **given
    )
    if output is not None:
        found.save(output, overwrite=overwrite)
    if as_json:
        print_json(found.to_plain())
    else:
        say(f"Verdict: {found.verdict}.")
        say(found.sentence())
        say(f"  {'number':24s} {'rows say':>20s} {'held':>7s} {'p':>8s} {'spread':>7s} {'sd ratio':>9s} {'error':>7s}")
        for row in found.rows():
            own = f"{row['own_mean']:.4g} +- {row['own_sd']:.2g}"
            figures = f"{row['p']:8.2g} {row['spread']:7.2f} {row['ratio']:9.2f} {row['error']:7.2f}"
            say(f"  {row['number']:24s} {own:>20s} {100 * row['held']:6.1f}% {figures}")
        if found.diverging > 0.001:
            say(f"{100 * found.diverging:.1f}% of the draws diverged: the sampler may have missed something.")
        if output is not None:
            say(f"Wrote {output}")
    if not found.holds:
        raise typer.Exit(1)
