"""The command that suggests bounds, for a price."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared import Json, Overwrite, print_json, progress, say, tell
from tacit.errors import InputError, RefusedError, TacitError


def bounds(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The rows: a CSV, Parquet or Arrow file.")],
    column: Annotated[str, typer.Option("--column", help="The column of numbers that needs bounds.")],
    within: Annotated[
        tuple[float, float],
        typer.Option("--within", metavar="LOW HIGH", help="A very wide range, which is right whatever the data are."),
    ],
    epsilon: Annotated[float, typer.Option("--epsilon", help="What the suggestion may cost: a pure epsilon.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the result goes, a JSON file.", show_default=False)
    ] = None,
    spacing: Annotated[
        str, typer.Option("--spacing", help="linear, or log where the order of magnitude is unknown.")
    ] = "linear",
    points: Annotated[int, typer.Option("--points", help="Steps of a linear grid.")] = 1000,
    share: Annotated[
        float, typer.Option("--share", help="The share of the rows to leave outside at each end.")
    ] = 0.005,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The ledger that pays; with --dataset.", show_default=False)
    ] = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without a ledger; the result says so.")] = False,
    dataset: Annotated[str | None, typer.Option("--dataset", help="The name of the rows.", show_default=False)] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Spend privacy on a suggestion for a column's bounds. For when nobody can say them from knowledge."""
    import tacit
    from tacit._support.files import check_apart, check_writable
    from tacit.cli.template import toml_key, toml_value

    if (ledger is None) != no_ledger or (ledger is not None and dataset is None):
        raise InputError("Expected either --ledger FILE with --dataset NAME, or --no-ledger.")
    if output is not None:
        check_apart(output, "output", data=data, ledger=ledger)
        check_writable(output, name="output", overwrite=overwrite)
    with progress("Reading rows", "rows") as advance:
        found = tacit.bounds(
            data,
            column,
            within=within,
            epsilon=epsilon,
            ledger=ledger,
            dataset=dataset,
            spacing=spacing,
            points=points,
            share=share,
            progress=advance,
        )
    if output is not None:
        try:
            found.save(output, overwrite=overwrite)
        except TacitError as error:
            print_json(found.to_plain())
            raise RefusedError(
                f"The bounds are paid for but could not be saved, so they are printed instead. {error}"
            ) from None
    if as_json:
        print_json(found.to_plain())
        return
    paid = f"epsilon = {found.epsilon:g}, paid by {ledger}" if ledger is not None else f"epsilon = {found.epsilon:g}"
    assumed = "".join(f" Assumes: {assumption}." for assumption in found.assumes)
    if not found.reliable:
        tell(
            f"Nothing was learnt about {column}: {found.n:,} rows are too few, as noise of this price makes each bound "
            f"leave {found.outside:,} rows outside. Spent: {paid}.{assumed}"
        )
        return
    declared = tacit.Schema({column: (found.low, found.high)}).to_plain()
    say(f"{toml_key(column)} = {toml_value(declared[column])}")
    tell(
        f"Each end is meant to leave at most {found.outside:,} of {found.n:,} rows outside, which are then clamped; "
        "noise may make that more."
    )
    tell(f"Spent: {paid}. The bounds are public now: put the line into [schema].{assumed}")
    if output is not None:
        say(f"Saved: {output}")
