"""`tacit report` and `tacit cite`: a page for people, and what to cite in a paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.shared import Json, Overwrite, asked_progress, check_suffix, print_json, say, say_lines
from tacit.errors import expected
from tacit.runtime.progress import percent

if TYPE_CHECKING:
    from tacit.calibration.simulate import Simulation
    from tacit.posterior import Posterior


def report(
    posterior: Annotated[Path, typer.Argument(metavar="POSTERIOR", help="The posterior, a netCDF file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the page goes, an HTML file.")],
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", help="A ledger: the page says how it stands and whether it paid.", show_default=False),
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option("--key", help="A public key, a .pub file, to check signatures; repeatable.", show_default=False),
    ] = None,
    truth: Annotated[
        bool,
        typer.Option("--truth", help="Simulated releases only: show the truth, and what would be known without noise."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the split of the uncertainty, which takes another inference.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page about a posterior."""
    import tacit
    from tacit._support.files import check_apart, check_writable
    from tacit.signing.keys import PublicKey

    check_apart(output, "output", posterior=posterior, ledger=ledger)
    for path in key or []:
        check_apart(output, "output", key=path)
    check_writable(output, name="output", overwrite=overwrite)
    check_suffix(output, ".html", "the page is HTML, which a browser shows, and prints as PDF")
    loaded = tacit.Posterior.load(posterior)
    keys = [PublicKey.load(path) for path in key or []]
    simulation = _simulation(loaded) if truth else None
    with percent(asked_progress(), "Writing the page"):
        tacit.write_report(
            loaded, output, overwrite=overwrite, ledger=ledger, simulation=simulation, quick=quick, keys=keys
        )
    found = {one.id: one.check_signature(keys) for one in loaded.releases if not one.simulated}
    if as_json:
        print_json({"report": str(output), "signatures": {one: checked.status for one, checked in found.items()}})
        return
    for one, checked in found.items():
        if checked.status != "unsigned" or keys:
            say(f"Release {one}: {checked.words}.")
    say(f"Wrote {output}")


def _simulation(posterior: Posterior) -> Simulation:
    """The simulation whose release was inferred, made again from the seed in its name."""
    import tacit

    one = posterior.evidence[0]
    named = re.fullmatch(r"simulated-(\d{1,18})", one.id)
    if len(posterior.evidence) > 1 or not isinstance(one, tacit.Release) or not one.simulated or named is None:
        raise expected("truth", one.id, "to be asked of one release that `tacit simulate` made")
    if one.n is None:
        raise expected("truth", one.id, "to be asked of a release that says its number of rows")
    simulation = tacit.simulate(one.plan, n=one.n, seed=int(named[1]))
    if simulation.release != one:
        raise expected("truth", one.id, "to be a release that `tacit simulate` makes again; it had another prior")
    return simulation


def cite(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A plan, release, reports or posterior; left out: tacit itself.",
            show_default=False,
        ),
    ] = None,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print BibTeX entries.")] = False,
    as_json: Json = False,
) -> None:
    """Print what to cite: tacit, and the papers behind a file. That is a plan, a release, reports or a posterior."""
    import tacit
    from tacit.cite import references

    what = None
    if file is not None:
        readers = {".toml": tacit.Plan, ".json": tacit.Release, ".parquet": tacit.Reports, ".nc": tacit.Posterior}
        if file.suffix.lower() not in readers:
            raise expected("file", str(file), f"to end in one of {', '.join(readers)}")
        what = readers[file.suffix.lower()].load(file)
    if as_json:
        print_json([{"key": paper.key, "text": paper.text(), "bibtex": paper.bibtex()} for paper in references(what)])
        return
    say_lines(tacit.cite(what, format="bibtex" if bibtex else "text").rstrip("\n"))
