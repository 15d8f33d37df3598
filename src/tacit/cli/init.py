"""The command that starts a plan: from names and types alone, and by asking where there is somebody to ask."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared import Json, print_json, say


def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The rows, of which only the names are read.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the plan goes, a TOML file.")] = Path(
        "plan.toml"
    ),
    ask: Annotated[
        bool | None,
        typer.Option("--ask/--no-ask", help="Ask questions instead of leaving blanks; the default on a terminal."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Start a plan file from the names of the columns. Values, ranges and levels are never read."""
    from tacit._support.files import check_apart, check_writable, write_atomically
    from tacit.cli.questions import asked
    from tacit.cli.template import filled, template
    from tacit.sources.open import header_of

    check_apart(output, "output", data=data)
    check_writable(output, name="output", overwrite=False)
    columns = header_of(data)
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not as_json if ask is None else ask
    text = filled(asked(columns)) if asking else template(columns)
    write_atomically(output, text.encode(), name="output", overwrite=False)
    if as_json:
        print_json({"plan": str(output), "columns": columns})
        return
    if asking:
        say(f"Wrote {output}, a text file: change it where an answer was wrong.")
        say(f"Next: tacit check {shlex.quote(str(output))}")
        return
    say(f"Wrote {output} with {len(columns)} column{'s' if len(columns) > 1 else ''}. Fill in the blanks, then:")
    say(f"  tacit check {output}")
