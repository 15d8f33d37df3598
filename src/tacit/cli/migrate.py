"""`tacit migrate`: files of older formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared import Json, Overwrite, print_json, say


def migrate(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A plan, release, reports, posterior or partial of an older format.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the new file goes, with the same suffix.")],
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Rewrite a file of an older format in the present one. The old file stays as it is."""
    import tacit

    tacit.migrate(file, output, overwrite=overwrite)
    if as_json:
        print_json({"file": str(output)})
        return
    say(f"Wrote {output}")
