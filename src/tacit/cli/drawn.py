"""The command that reads posterior draws as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.shared import Json, Tsv, check_form, print_json, print_table, print_tsv, say, tell

_FEW = 6  # draws that the table shows


def drawn(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="A release of posterior draws, a JSON file.", show_default=False)
    ],
    as_json: Json = False,
    as_tsv: Tsv = False,
) -> None:
    """Print the draws of a release of posterior draws. A regression's coefficients are in the units of the data."""
    from tacit.models.regression import Regression
    from tacit.released_draws import drawn as read

    check_form(as_json, as_tsv)
    found = read(release)
    model, asked = found.release.plan.model, found.release.plan.mechanism.draws  # type: ignore[attr-defined]
    natural = isinstance(model, Regression) and model.in_data_units
    arrays = found.coefficients() if natural else {name: found.values[:, i] for i, name in enumerate(found.names)}
    draws: dict[str, list[float]] = {name: [float(value) for value in array] for name, array in arrays.items()}
    k = len(found.values)
    if as_json:
        print_json({"units": "data" if natural else "mapped", "draws": k, "failed": asked - k, "values": draws})
        return
    if as_tsv:
        print_tsv([_row(name, values) for name, values in draws.items()])
        return
    say("In the units of the data:" if natural else "In mapped units:")
    shown = min(k, _FEW)
    headings = ("number", *(f"draw {i + 1}" for i in range(shown)))
    print_table(headings, [[name, *(f"{v:.4g}" for v in values[:shown])] for name, values in draws.items()])
    if shown < k:
        say(f"... and {k - shown} more draws; --tsv prints all.")
    if k < asked:
        say(f"Note: {asked - k} of {asked} draws failed and are left out.")
    tell("Each draw is one random point, as good as the budget allowed. It is not the middle of an interval.")
    if model.draw_methods:
        say(f"For intervals: tacit infer {release} -o POSTERIOR")


def _row(name: str, values: list[float]) -> dict[str, Any]:
    return {"number": name, **{f"draw {i + 1}": value for i, value in enumerate(values)}}
