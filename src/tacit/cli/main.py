"""The command line: the same verbs as the Python functions.

Exit codes: 0 done; 1 refused or failed; 2 the input is not what was expected; 130 stopped. Results go to standard
output, progress and errors to standard error.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tacit._support.printable import spelled_out
from tacit.cli import (
    audit,
    bounds,
    calibrate,
    collect,
    design,
    effects,
    infer,
    init,
    key,
    ledger,
    migrate,
    partial,
    predict,
    release,
    released_draws,
    report,
    screen,
)
from tacit.cli.commands import Commands
from tacit.cli.order import InOrder
from tacit.cli.shared import (
    EngineName,
    Json,
    Overwrite,
    PlanFile,
    Seed,
    Tsv,
    asked_progress,
    check_form,
    check_suffix,
    print_json,
    print_table,
    print_tsv,
    save_or_print,
    say,
    say_lines,
    tell,
)
from tacit.errors import InputError, RefusedError, TacitError, expected
from tacit.runtime.quiet import quiet_compiler
from tacit.version import __version__

_FEW = 12  # statistics that `check` shows
_NO_MEMORY = "Expected the machine to have enough memory for this."

app = Commands(
    name="tacit",
    cls=InOrder,
    help="Differentially private Bayesian inference: a small private release in, an honest posterior out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(init.init)
app.command()(bounds.bounds)
app.command()(screen.screen)
app.command()(design.design)
app.add_typer(ledger.app, name="ledger")
app.add_typer(key.app, name="key")
app.add_typer(release.app, name="release")
app.command()(infer.infer)
app.command("draws")(released_draws.released_draws)
app.command("drawn", hidden=True, deprecated=True)(released_draws.released_draws)
app.command()(effects.effects)
app.command()(predict.predict)
app.command()(report.report)
app.command()(report.cite)
app.command()(migrate.migrate)
app.command()(audit.audit)
app.command()(calibrate.calibrate)
app.command()(partial.partial)
app.command()(collect.survey)
app.command()(collect.collect)
app.command()(collect.reports)
app.command()(collect.cohort)


@app.callback(invoke_without_command=True)
def _main(  # pyright: ignore[reportUnusedFunction]
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        say(f"tacit {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say_lines(context.get_help())


@app.command()
def check(plan: PlanFile, as_json: Json = False, as_tsv: Tsv = False) -> None:
    """Explain in plain words what a plan releases and promises. Also: the noise, and what can be learnt."""
    from tacit.mechanisms.mechanism import Central
    from tacit.plan import Plan
    from tacit.privacy.neighbours import REPLACE_ONE
    from tacit.report.approval import approval_plain, learnable, noise_table, sensitivity_sentence, statement
    from tacit.report.plan_text import explain, explain_plain

    check_form(as_json, as_tsv)
    loaded = Plan.load(plan)
    noises = noise_table(loaded)
    if as_json:
        print_json({"basis": loaded.promise.basis.value, **explain_plain(loaded), **approval_plain(loaded)})
        return
    if as_tsv:
        print_tsv(noises)
        return
    for line in explain(loaded):
        tell(line)
    if sensitivity := sensitivity_sentence(loaded):
        tell(f"Sensitivity: {sensitivity}.")
    tell(f"For a data-protection officer: {statement(loaded)}")
    tell(f"An analyst can learn: {learnable(loaded)}")
    if noises:
        shown = noises[:_FEW] if len(noises) > _FEW + 1 else noises
        rows = [[row["statistic"], f"{row['sd']:.4g}"] for row in shown]
        print_table(("statistic", "sd of its noise, in rows"), rows)
        if len(shown) < len(noises):
            say(f"... and {len(noises) - len(shown)} more; --tsv prints all.")
    if isinstance(loaded.mechanism, Central) and loaded.budget.neighbours == REPLACE_ONE:  # a screen says n
        tell(
            f"Before you spend it: `tacit screen {shlex.quote(str(plan))} DATA --epsilon 0.05` counts, with noise, the "
            "cells that are missing, unreadable, out of bounds or no declared level: a misspelled one wastes a release."
        )
        person = loaded.mechanism.person
        whose = "" if person is None else f" --person {shlex.quote(person.id)}"
        total = " ".join(f"--{name} TOTAL" for name in loaded.budget.parameters())
        tell(
            f"Next: `tacit ledger new ledger.db --dataset NAME {total}{whose}`, once for these rows, and then `tacit "
            f"privatize {shlex.quote(str(plan))} DATA -o release.json --ledger ledger.db --dataset NAME`."
        )


@app.command()
def privatize(
    plan: PlanFile,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA", help="The rows: CSV, Parquet or Arrow files, a folder or a DuckDB table; or partials."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the release goes, a JSON file.")],
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The ledger that pays; with --dataset.", show_default=False)
    ] = None,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Release without a ledger; the release says so.")
    ] = False,
    dataset: Annotated[str | None, typer.Option("--dataset", help="The name of the rows.", show_default=False)] = None,
    engine: EngineName = "local",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Spend privacy on rows that you hold, and write the release."""
    import tacit
    from tacit._support.files import check_apart, check_writable
    from tacit.engines.open import opened_engine
    from tacit.report.plan_text import about_responses

    if (ledger is None) != no_ledger or (ledger is not None and dataset is None):
        raise InputError(
            "Expected either --ledger FILE with --dataset NAME, which `tacit ledger new FILE --dataset NAME --epsilon "
            "TOTAL` makes, or --no-ledger, which releases without keeping count."
        )
    for path in data:
        check_apart(output, "output", plan=plan, data=path, ledger=ledger)
    check_writable(output, name="output", overwrite=overwrite)
    check_suffix(output, ".json", "a release is a JSON file")
    rows = data[0] if len(data) == 1 else data
    with opened_engine(engine) as chosen:
        release = tacit.privatize(rows, plan, ledger=ledger, dataset=dataset, engine=chosen, progress=asked_progress())
    save_or_print(release, output, overwrite=overwrite, what="release")
    if as_json:
        print_json({**{k: v for k, v in release.to_plain().items() if k != "plan"}, "release": str(output)})
        return
    what = "noisy" if release.plan.mechanism.kind in ("noise", "newton") else "drawn"
    numbers = f"1 {what} number" if len(release.values) == 1 else f"{len(release.values)} {what} numbers"
    whom = f"about {release.size}" if release.n is not None else "about an unknown number of rows"
    say(f"Released {numbers} {whom} of {release.dataset!r}: {output}")
    say(f"Next, and free of any cost: tacit infer {shlex.quote(str(output))} -o posterior.nc")
    say(f"{release.guarantee.symbols}. {release.guarantee.sentence()}{about_responses(release.plan)}")
    for assumption in release.guarantee.assumes:
        say(f"Assumes: {assumption}.")
    if data[0].suffix == ".partial":
        say("Delete the partials: they are as secret as the rows.")


@app.command()
def randomize(
    plan: PlanFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The rows: CSV, TSV, Parquet, Arrow or Feather.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the reports go, a Parquet file.")],
    dataset: Annotated[str, typer.Option("--dataset", help="What the survey is called.")],
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Randomise a table as people's devices would, for trials. One report for each row, by a local plan."""
    import tacit
    from tacit._support.files import check_apart, check_writable

    check_apart(output, "output", plan=plan, data=data)
    check_writable(output, name="output", overwrite=overwrite)
    reports = tacit.randomize_rows(data, plan, dataset=dataset)
    reports.save(output, overwrite=overwrite)
    if as_json:
        print_json({**reports.header(), "reports": str(output)})
        return
    budget = reports.plan.budget
    say(f"Made {reports.n:,} reports for {reports.dataset!r}: {output}")
    say(f"{budget.symbols} for every person. {budget.sentence()}")
    for assumption in reports.assumes:
        say(f"Assumes: {assumption}.")
    for warning in reports.warnings():
        say(f"Note: {warning}")


@app.command()
def simulate(
    plan: PlanFile,
    n: Annotated[int, typer.Option("--n", help="How many made-up rows.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where the release goes, a JSON file; of a local plan, .parquet.")
    ],
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release made-up rows drawn from the model. The twin of privatize and randomize: seeded, without data."""
    import numpy as np

    import tacit
    from tacit._support.files import check_apart, check_writable
    from tacit.mechanisms.local import Local
    from tacit.reports import is_reports_file

    check_apart(output, "output", plan=plan)
    check_writable(output, name="output", overwrite=overwrite)
    loaded = tacit.Plan.load(plan)
    local = isinstance(loaded.mechanism, Local)
    if local and output.suffix.lower() != ".parquet":
        raise expected("output", str(output), "to end in .parquet: a local plan makes reports")
    if not local and is_reports_file(output):
        raise expected("output", str(output), "to be a JSON file: only a local plan makes reports")
    simulation = tacit.simulate(loaded, n=n, seed=seed)
    simulation.release.save(output, overwrite=overwrite)
    truth = {name: np.asarray(value).tolist() for name, value in simulation.parameters.items()}
    if as_json:
        print_json({"reports" if local else "release": str(output), "truth": truth})
        return
    what = "made a report of each" if local else "released them"
    say(f"Simulated {n:,} rows and {what}: {output}")
    for name, value in truth.items():
        say(f"True {name}: {value}")


@app.command()
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to fill.")] = Path("tacit-demo"),
) -> None:
    """Run the whole path on built-in, made-up survey answers."""
    from tacit.demo import run_demo

    run_demo(output, say, show=True)


def _check_standard_output() -> None:
    """Refuse at once, before anything is spent, where results could go nowhere."""
    try:
        os.write(sys.stdout.fileno(), b"")
    except io.UnsupportedOperation:  # a stream of a test or a notebook
        return
    except OSError as error:
        raise RefusedError(f"Expected standard output to be writable: {error.strerror}.") from None


def _drop_standard_output() -> None:
    """Let the interpreter's last flush succeed: what is still buffered could not be written."""
    with suppress(OSError):  # there may be no such stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command line; every expected failure is one sentence and an exit code."""
    warnings.showwarning = lambda message, *_rest, **_more: print(
        f"Warning: {spelled_out(str(message))}", file=sys.stderr
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error does; a name may hold any character
    quiet_compiler()
    try:
        _check_standard_output()
        app()
    except TacitError as error:
        _fail(spelled_out(str(error)), 2 if isinstance(error, InputError) else 1)
    except MemoryError:
        _fail(_NO_MEMORY)
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):  # what JAX says where Python has MemoryError
            raise
        _fail(_NO_MEMORY)
    except OSError as error:  # standard output among others: nothing of it is about a row
        _drop_standard_output()
        _fail(f"Expected the system to do as asked: {error.strerror or 'it did not'}.")
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(sentence: str, code: int = 1) -> NoReturn:
    with suppress(OSError):  # standard error may be full, too
        print(f"Error: {sentence}", file=sys.stderr, flush=True)
    sys.exit(code)
