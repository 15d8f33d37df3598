"""The command that adds up one site's rows, to be pooled with those of other sites before the noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared import EngineName, Json, Overwrite, PlanFile, print_json, progress, say


def partial(
    plan: PlanFile,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="The rows: CSV, Parquet or Arrow files, a folder or a DuckDB table.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the sums go; the name ends in .partial.")],
    dataset: Annotated[str, typer.Option("--dataset", help="The name of this site's rows.")],
    engine: EngineName = "local",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Add up one site's rows for a trusted party that pools. SENSITIVE: no noise, no protection."""
    import tacit
    from tacit._support.files import check_apart, check_writable
    from tacit.engines.open import opened_engine
    from tacit.partials import check_suffix
    from tacit.privacy.assumptions import TYPED_ELSEWHERE

    check_suffix(output)
    for path in data:
        check_apart(output, "output", plan=plan, data=path)
    check_writable(output, name="output", overwrite=overwrite)
    rows = data[0] if len(data) == 1 else data
    with opened_engine(engine) as chosen, progress("Reading rows", "rows") as advance:
        found = tacit.partial(rows, plan, dataset=dataset, engine=chosen, progress=advance)
    found.save(output, overwrite=overwrite)
    if as_json:
        print_json({"partial": str(output), "dataset": found.dataset, "id": found.id, "sensitive": True})
        return
    say(f"Added up {found.dataset!r}: {output}")
    if found.typed_elsewhere:
        say(f"Assumes: {TYPED_ELSEWHERE}.")
    say("SENSITIVE: these are exact sums, as secret as the rows. Only `tacit privatize` makes a release of them.")
