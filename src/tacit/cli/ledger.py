"""The commands about the ledger: open an account, show what is left, check that nothing was changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.commands import Commands
from tacit.cli.shared import Json, print_json, say
from tacit.privacy.neighbours import REPLACE_ONE

app = Commands(help="What has been spent on each dataset, and what is left.", no_args_is_help=True)

_File = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, an SQLite file.", show_default=False)]


def _number(flag: str, what: str) -> typer.models.OptionInfo:
    return typer.Option(flag, help=what, show_default=False)


@app.command()
def new(
    ledger: _File,
    dataset: Annotated[str, typer.Option("--dataset", help="The name of the rows.")],
    epsilon: Annotated[float | None, _number("--epsilon", "A total epsilon; pure unless --delta or --order.")] = None,
    delta: Annotated[float | None, _number("--delta", "With --epsilon: approximate differential privacy.")] = None,
    rho: Annotated[float | None, _number("--rho", "A total rho of zero-concentrated differential privacy.")] = None,
    mu: Annotated[float | None, _number("--mu", "A total mu of Gaussian differential privacy.")] = None,
    order: Annotated[float | None, _number("--order", "With --epsilon: Renyi, of this order.")] = None,
    person: Annotated[
        str | None, typer.Option("--person", metavar="ID", help="The total is for all rows of a person: the id column.")
    ] = None,
    neighbours: Annotated[
        str,
        typer.Option(
            "--neighbours", help="The relation of every release: replace-one, or add-remove where n is not public."
        ),
    ] = REPLACE_ONE,
    as_json: Json = False,
) -> None:
    """Open an account: the most ever to be spent on a dataset. Makes the ledger if it is not there."""
    from tacit._support.interrupts import uninterrupted
    from tacit._support.names import check_name
    from tacit.errors import InputError
    from tacit.ledger import Ledger
    from tacit.ledger.privacy_unit import unit_of, unit_words
    from tacit.privacy.guarantees import guarantee_from_plain

    said = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu, "order": order}
    given = {name: value for name, value in said.items() if value is not None}
    if not given:
        raise InputError("Expected a total, such as --epsilon 2: the most that may ever be spent on these rows.")
    total = guarantee_from_plain({**given, "neighbours": neighbours})
    check_name("dataset", dataset)  # before a ledger is made for nothing
    unit = unit_of(person)
    with uninterrupted():
        opened = Ledger.open_or_create(ledger)
        opened.new_dataset(dataset, total, person)
    if as_json:
        print_json(opened.to_plain())
        return
    say(f"{dataset!r} has a total of {total.symbols}, for {unit_words(unit, total.neighbours)}: {ledger}")


@app.command()
def show(
    ledger: _File,
    delta: Annotated[
        float | None,
        _number("--delta", "Also say epsilon at this delta; without it only totals with a delta have one."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say in plain words what has been spent and what is left."""
    from tacit.ledger import Ledger, words

    opened = Ledger(ledger)
    if as_json:
        print_json({**opened.to_plain(delta), "log": [entry.to_plain() for entry in opened.entries()]})
        return
    for line in words(opened, delta):
        say(line)


@app.command()
def head(ledger: _File, as_json: Json = False) -> None:
    """Print one line that says how far the ledger has come. Keep it elsewhere: `verify --head` checks it later."""
    from tacit.ledger import Ledger

    found = Ledger(ledger).receipt()
    if as_json:
        print_json(vars(found))
        return
    say(found.line)


@app.command()
def verify(
    ledger: _File,
    release: Annotated[
        list[Path] | None, typer.Option("--release", help="A release or a screen that must be as noted; repeatable.")
    ] = None,
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="LINE|FILE",
            help="What `tacit ledger head` printed before, or a file of it: it must still hold; repeatable.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that nothing in the ledger was changed. The file, its chain of hashes, the totals, published releases."""
    from tacit.cell_screen import Published, load_published
    from tacit.errors import InputError
    from tacit.ledger import Ledger
    from tacit.ledger.head import heads_of
    from tacit.ledger.privacy_unit import unit_words

    releases: dict[str, Published] = {}
    for path in release or []:
        releases[str(path)] = loaded = load_published(path)
        if loaded.ledger is None:
            raise InputError(f"Expected release={str(path)!r} to have been paid for by a ledger.")
    opened = Ledger(ledger)
    problems = opened.verify(releases=releases, head=[one for given in head or [] for one in heads_of(given)])
    units = {} if problems else opened.units()
    if as_json:
        last = None if problems else opened.head
        print_json({"ledger": str(ledger), "head": last, "units": units, "problems": problems})
    else:
        for problem in problems:
            say(f"Problem: {problem}.")
        for name, unit in units.items():
            say(f"{name}: the total and all that was spent are for {unit_words(unit)}.")
        if not problems:
            say(f"No problem found. The hash of the last entry is {opened.head}.")
    if problems:
        raise typer.Exit(1)
