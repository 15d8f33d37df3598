"""The command that checks whether a posterior is calibrated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.shared import Json, Overwrite, PlanFile, Prior, Seed, print_json, prior_changes, progress, say


def calibrate(
    plan: PlanFile,
    n: Annotated[int, typer.Option("--n", help="How many made-up rows each release is about.")],
    trials: Annotated[int, typer.Option("--trials", help="How many releases are simulated.")] = 500,
    method: Annotated[
        str | None, typer.Option("--method", help="Another sampler of the family.", show_default=False)
    ] = None,
    prior: Prior = None,
    robust: Annotated[bool, typer.Option("--robust", help="Repeat it with rows outside the model.")] = False,
    level: Annotated[float, typer.Option("--level", help="The most that a calibrated one is accused with.")] = 1e-3,
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
    """Check that intervals hold the truth as often as they say. Simulates releases; exit code 1 if they do not."""
    from tacit._support.files import check_apart, check_writable
    from tacit.calibration.plots import check_plots, write_plots
    from tacit.calibration.study import study

    if output is not None:
        check_apart(output, "output", plan=plan)
        check_writable(output, name="output", overwrite=overwrite)
    if plots is not None:
        check_plots(plots, overwrite=overwrite)
    changes = prior_changes(prior or [])
    with progress("Simulating and sampling", "releases") as advance:
        found = study(
            plan,
            n=n,
            trials=trials,
            seed=seed,
            method=method,
            prior=changes,
            level=level,
            robust=robust,
            processes=processes,
            progress=advance,
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
            say(f"  {', '.join(names)} does not apply: {reason}")
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
