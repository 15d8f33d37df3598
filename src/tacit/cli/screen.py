"""The command that counts cells which are not what a plan declares, for a price."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared import (
    EngineName,
    Json,
    Overwrite,
    PlanFile,
    Tsv,
    check_form,
    print_json,
    print_table,
    print_tsv,
    progress,
    save_or_print,
    say,
    tell,
)
from tacit.errors import InputError
from tacit.mechanisms.person import PERSON


def screen(
    plan: PlanFile,
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA", help="The rows: CSV, Parquet or Arrow files, a folder or a DuckDB table."),
    ],
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="What the counts may cost: a pure epsilon.", show_default=False)
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option("--rho", help="Instead: a rho of zero-concentrated differential privacy.", show_default=False),
    ] = None,
    mu: Annotated[
        float | None, typer.Option("--mu", help="Instead: a mu of Gaussian differential privacy.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the screen goes, a JSON file.", show_default=False)
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The ledger that pays; with --dataset.", show_default=False)
    ] = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without a ledger; the screen says so.")] = False,
    dataset: Annotated[str | None, typer.Option("--dataset", help="The name of the rows.", show_default=False)] = None,
    engine: EngineName = "local",
    overwrite: Overwrite = False,
    as_json: Json = False,
    as_tsv: Tsv = False,
) -> None:
    """Find out, for a little privacy, whether a plan fits rows. Counts the cells that are not as declared."""
    import tacit
    from tacit._support.files import check_apart, check_writable
    from tacit.engines.open import opened_engine

    check_form(as_json, as_tsv)
    if (ledger is None) != no_ledger or (ledger is not None and dataset is None):
        raise InputError("Expected either --ledger FILE with --dataset NAME, or --no-ledger.")
    if output is not None:
        for path in data:
            check_apart(output, "output", plan=plan, data=path, ledger=ledger)
        check_writable(output, name="output", overwrite=overwrite)
    rows = data[0] if len(data) == 1 else data
    with opened_engine(engine) as chosen, progress("Reading rows", "rows") as advance:
        found = tacit.screen(
            rows,
            plan,
            epsilon=epsilon,
            rho=rho,
            mu=mu,
            ledger=ledger,
            dataset=dataset,
            engine=chosen,
            progress=advance,
        )
    if output is not None:
        save_or_print(found, output, overwrite=overwrite, what="screen")
    if as_json:
        print_json({**found.to_plain(), "warnings": list(found.warnings())})
        return
    counts = found.summary()
    if as_tsv:
        print_tsv([vars(one) for one in counts])
        return
    cells = [[one.column, one.cells, *(f"{v:,.0f}" for v in (one.count, one.low, one.high))] for one in counts]
    print_table(("column", "cells", "about", "95% from", "to"), cells)
    for warning in found.warnings():
        tell(f"Note: {warning}")
    if not found.warnings():
        tell("No class of cells is clearly above 1% of its column.")
    unit = found.plan.mechanism.person
    people = unit is not None and unit.weight == PERSON
    if people:
        tell("Everyone counts once, with the mean of their rows.")
    elif unit is not None and unit.filled:
        tell(f"Rows that a person has fewer than {unit.max_rows} of count as missing.")
    paid = f", paid by {ledger}" if ledger is not None else ""
    tell(
        f"Of {found.n:,} {'people' if people else 'rows'}; "
        f"the noise has a standard deviation of {found.sd:,.3g} cells. Spent: "
        f"{found.plan.budget.symbols}{paid}. The counts are public now, and declarations may be mended by them."
    )
    for assumption in found.guarantee.assumes:
        tell(f"Assumes: {assumption}.")
    if output is not None:
        say(f"Saved: {output}; give it to `tacit infer --screen`.")
