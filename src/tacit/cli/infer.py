"""`tacit infer`: from a release to a posterior, printed and saved."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared import (
    Json,
    Overwrite,
    PriorOption,
    Seed,
    Tsv,
    Verbose,
    alarm,
    asked_progress,
    check_form,
    check_suffix,
    plain_rows,
    print_json,
    print_rows,
    print_tsv,
    prior_changes,
    say,
    tell,
)


def infer(
    release: Annotated[
        list[Path],
        typer.Argument(
            metavar="RELEASE", help="The release, a JSON file, or reports, a Parquet file; several are pooled."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the posterior goes, a netCDF file.")],
    same_rows: Annotated[
        bool, typer.Option("--same-rows", help="Releases with one dataset name are about the same rows.")
    ] = False,
    disjoint: Annotated[
        bool, typer.Option("--disjoint", help="Nobody is in two of the datasets that are pooled.")
    ] = False,
    screen: Annotated[
        list[Path] | None,
        typer.Option("--screen", help="What `tacit screen` has counted, a JSON file; one for each dataset."),
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="Another sampler of the family.", show_default=False)
    ] = None,
    prior: PriorOption = None,
    seed: Seed = 0,
    chains: Annotated[int, typer.Option("--chains", help="How many chains to run.")] = 4,
    draws: Annotated[int, typer.Option("--draws", help="Draws to keep of each chain.")] = 1000,
    warmup: Annotated[int, typer.Option("--warmup", help="Draws of each chain to throw away first.")] = 500,
    anyway: Annotated[bool, typer.Option("--anyway", help="Save a posterior even if its chains failed.")] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    as_tsv: Tsv = False,
    verbose: Verbose = False,
) -> None:
    """Infer a posterior whose intervals include the noise. From a release, from reports, or from several pooled."""
    import tacit
    from tacit._support.files import check_apart, check_writable
    from tacit.models.regression import Regression
    from tacit.posterior.cut_rows import cut_rows

    check_form(as_json, as_tsv)
    for path in release:
        check_apart(output, "output", release=path)
    for path in screen or ():
        check_apart(output, "output", screen=path)
    check_writable(output, name="output", overwrite=overwrite)
    check_suffix(output, ".nc", "a posterior is a netCDF file")
    changes = prior_changes(prior or [])
    posterior = tacit.infer(
        release,
        same_rows=same_rows,
        disjoint=disjoint,
        screen=screen or (),
        method=method,
        prior=changes,
        seed=seed,
        chains=chains,
        draws=draws,
        warmup=warmup,
        anyway=anyway,
        progress=asked_progress(),
    )
    posterior.save(output, overwrite=overwrite)
    rows = posterior.summary()
    natural = posterior.coefficients() if isinstance(posterior.plan.model, Regression) else ()
    if as_json:
        print_json(
            {
                "posterior": str(output),
                "warnings": list(posterior.warnings()),
                "assumes": list(posterior.assumes),
                "title": posterior.title,
                "effects": [vars(effect) for effect in posterior.effects()],
                "summary": plain_rows(rows),
                **({"coefficients": plain_rows(natural)} if natural else {}),
            }
        )
        return
    if as_tsv:
        print_tsv([vars(row) for row in rows])
        return
    grave = posterior.grave_warnings()
    for warning in grave:
        alarm(f"Do not rely on this yet: {warning}")
    say(posterior.title)
    for effect in posterior.effects():
        tell(f"  {effect.sentence}")
    for warning in posterior.warnings():
        if warning not in grave:
            say(f"Note: {warning}")
    if natural:
        say("In the units of the data, for one more of each column:")
        print_rows(natural)
    if verbose or not natural:
        if natural:
            say("Mapped, each column from its bounds to [-1, 1]:")
        print_rows(rows)
    else:
        sizes = (min(row.ess_bulk, row.ess_tail) for row in rows if row.ess_bulk == row.ess_bulk)
        least = min(sizes, default=math.nan)
        say(
            f"The method has {len(rows)} parameters, with at least {least:.0f} effective draws each; --verbose shows "
            "them all."
        )
    for one in posterior.releases:
        if (cut := cut_rows(one)) is not None:
            say(cut.sentence())
    for assumption in posterior.assumes:
        say(f"Assumes: {assumption}.")
    say(f"Saved: {output}. A page for people: tacit report {shlex.quote(str(output))} -o report.html")
