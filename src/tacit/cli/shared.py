"""What all commands share: the spelling of common options, how results are printed, how progress is shown."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tacit._support.printable import spelled_out
from tacit.errors import InputError, RefusedError, TacitError, expected
from tacit.runtime.progress import Progress, shown

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan, a TOML file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Tsv = Annotated[bool, typer.Option("--tsv", help="Print the table with tabs between its cells, for scripts.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more, and log what is done to standard error.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it is there.")]
EngineName = Annotated[
    str, typer.Option("--engine", help="What reads the rows: local, dask, tcp://HOST:PORT (a Dask scheduler) or spark.")
]
PriorOption = Annotated[
    list[str] | None,
    typer.Option("--prior", metavar="NAME=VALUE", help="Change a number of the prior; repeatable."),
]
Seed = Annotated[int, typer.Option("--seed", help="Makes the result repeatable.")]


def say(line: str) -> None:
    """Print one line of a result. What it names may come from a stranger: nothing in it can begin another line."""
    if not quiet():
        print(spelled_out(line), flush=True)


def alarm(line: str) -> None:
    """Print a line that nobody may miss: a result like any other, and on standard error where results are not asked."""
    print(spelled_out(line), file=sys.stderr if quiet() else sys.stdout, flush=True)


def quiet() -> bool:
    """Whether this command was called with --quiet."""
    return _quiet.get()


@contextmanager
def hushed(asked: bool) -> Generator[None]:
    """Nothing is said in here, if that was asked for."""
    token = _quiet.set(asked)
    try:
        yield
    finally:
        _quiet.reset(token)


def asked_progress() -> bool | None:
    """A bar where somebody sits before it, and none with --quiet."""
    return False if quiet() else None


def progress(what: str, unit: str) -> AbstractContextManager[Progress | None]:
    """A bar for whatever counts rows itself."""
    return shown(asked_progress(), what, unit)


def talk() -> None:
    """Send the log of `tacit` to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("tacit")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)


class _OneLine(logging.Formatter):
    """A message on one line, whatever a name in it holds."""

    def format(self, record: logging.LogRecord) -> str:
        return spelled_out(super().format(record))


def say_lines(text: str) -> None:
    """Print a text of several lines that tacit itself has put together."""
    for line in text.split("\n"):
        say(line)


def save_or_print(result: Any, output: Path, *, overwrite: bool, what: str) -> None:
    """Save what was paid for; where that fails, print it whole, so that nothing is lost."""
    try:
        result.save(output, overwrite=overwrite)
    except TacitError as error:
        say_lines(result.to_json())
        raise RefusedError(
            f"The {what} is paid for but could not be saved, so it is printed instead. {error}"
        ) from None


def tell(sentence: str) -> None:
    """Print prose: on a terminal broken between words, the further lines set in; elsewhere one line, as it is."""
    if not sys.stdout.isatty():
        say(sentence)
        return
    width = max(40, min(shutil.get_terminal_size().columns, 100))
    for line in textwrap.wrap(
        spelled_out(sentence), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ):
        say(line)


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(value, indent=2, ensure_ascii=True), flush=True)


def check_suffix(output: Path, suffix: str, why: str) -> None:
    """Refuse a name under which no other command, and no browser, would know the file again."""
    if output.suffix.lower() != suffix:
        raise expected("output", str(output), f"to end in {suffix}: {why}")


def check_form(as_json: bool, as_tsv: bool) -> None:
    """Refuse two forms of output at once."""
    if as_json and as_tsv:
        raise InputError("Expected either --json or --tsv, not both.")


def prior_changes(texts: Sequence[str]) -> dict[str, Any] | None:
    """``--prior NAME=VALUE`` options as changes to the default prior; None where there are none."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        try:
            numbers = [float(part) for part in value.split(",")]
        except ValueError:
            sign, numbers = "", []
        if not sign or not name:
            raise expected("prior", text, "to have the form NAME=NUMBER or NAME=NUMBER,NUMBER,...")
        if name in found:
            raise expected("prior", text, f"to be the only change of {name!r}")
        found[name] = numbers[0] if len(numbers) == 1 else tuple(numbers)
    return found or None


def print_tsv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table with a header line; numbers with all their digits, nothing where there is no value."""

    def cell(value: Any) -> str:
        return "" if value is None else spelled_out(str(value))

    for line in (list(rows[0]), *(row.values() for row in rows)) if rows else ():
        print("\t".join(map(cell, line)))
    sys.stdout.flush()


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table for people, the first ``left`` columns flush left: as wide as the terminal, or else 120 columns."""
    if quiet():
        return
    from rich.table import Table

    table = Table(box=None, header_style="" if os.environ.get("NO_COLOR") else "bold", pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i < left else "right", no_wrap=i < left)
    for row in rows:
        table.add_row(*map(spelled_out, row))
    Console(width=None if sys.stdout.isatty() else 120, markup=False, emoji=False).print(table)


def plain_rows(rows: Any) -> list[dict[str, Any]]:
    """Rows of a summary for JSON, which has no infinite numbers."""
    return [{k: None if v in (math.inf, -math.inf) or v != v else v for k, v in vars(row).items()} for row in rows]


def print_rows(rows: Any, probability: float = 0.95) -> None:
    """Print rows of a summary as a table for people; ``probability`` is that of their intervals."""

    def cells(row: Any) -> list[str]:
        ess = "–" if row.ess_bulk != row.ess_bulk else f"{min(row.ess_bulk, row.ess_tail):.0f}"
        r_hat = "–" if row.r_hat != row.r_hat else f"{row.r_hat:.3f}"
        return [row.name, *(f"{v:.4g}" for v in (row.mean, row.sd, row.low, row.high)), ess, r_hat]

    print_table(
        ("number", "mean", "sd", f"{100 * probability:.4g}% from", "to", "ESS", "R-hat"), [cells(row) for row in rows]
    )
