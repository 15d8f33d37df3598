"""What all commands share: the spelling of common options, how results are printed, how progress is shown."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan, a TOML file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it is there.")]
Seed = Annotated[int, typer.Option("--seed", help="Makes the result repeatable.")]


# What a plan or a release names may come from somebody else: it must not steer the terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def say(line: str) -> None:
    """Print one line of a result, or several."""
    print(harmless(line), flush=True)


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(value, indent=2, ensure_ascii=True), flush=True)


def harmless(text: str) -> str:
    """The text with its control characters spelled out."""
    return text.translate(_CONTROLS)


@contextmanager
def progress(what: str, unit: str | None) -> Generator[Any]:
    """A bar or spinner on standard error, on a terminal only; yields a function to call with what was done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _done: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if unit is not None:
        columns.insert(2, TextColumn(f"{{task.completed:,.0f}} {unit}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done: bar.advance(task, done)
