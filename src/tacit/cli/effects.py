"""`tacit effects`: what a posterior answers, in the units of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.shared import (
    Json,
    Tsv,
    check_form,
    plain_rows,
    print_json,
    print_rows,
    print_table,
    print_tsv,
    say,
    tell,
)
from tacit.errors import expected


def _repeatable(option: str, metavar: str, about: str) -> Any:
    return typer.Option(option, metavar=metavar, help=f"{about}; repeatable.", show_default=False)


def effects(
    posterior: Annotated[Path, typer.Argument(metavar="POSTERIOR", help="The posterior, a netCDF file.")],
    contrast: Annotated[
        list[str] | None,
        _repeatable(
            "--contrast", "SUM", "A sum of coefficients or of groups' numbers, such as 'smoker[yes] - smoker[no]'"
        ),
    ] = None,
    marginal: Annotated[
        list[str] | None,
        _repeatable("--marginal", "NAME", "How the expected response changes with a column, or with a level"),
    ] = None,
    ratios: Annotated[
        bool, typer.Option("--ratios", help="Odds ratios or rate ratios, for one more of each column.")
    ] = False,
    compare: Annotated[
        list[str] | None,
        _repeatable(
            "--compare", "FORMULA", "A formula with fewer terms: how much the release speaks for the terms left out"
        ),
    ] = None,
    ranking: Annotated[
        str | None,
        typer.Option(
            "--ranking",
            metavar="NAME",
            help="Groups in the order of one of their numbers, with ranks.",
            show_default=False,
        ),
    ] = None,
    probability: Annotated[float, typer.Option("--probability", help="The probability of the intervals.")] = 0.95,
    as_json: Json = False,
    as_tsv: Tsv = False,
) -> None:
    """Ask a posterior for effects, contrasts, ratios, comparisons. In the units of the data, and free of any cost."""
    import tacit

    check_form(as_json, as_tsv)
    loaded = tacit.Posterior.load(posterior)
    ends = (f"{100 * probability:.4g}% from", "to")
    everything = {
        "contrasts": [loaded.contrast(text, probability) for text in contrast or ()],
        "marginal_effects": [loaded.marginal_effect(name, probability=probability) for name in marginal or ()],
        "ratios": list(loaded.ratios(probability)) if ratios else [],
        "comparisons": [loaded.compare(formula) for formula in compare or ()],
        "ranking": list(loaded.ranking(ranking, probability)) if ranking else [],
    }
    found: dict[str, list[Any]] = {name: rows for name, rows in everything.items() if rows}
    if not any((contrast, marginal, ratios, compare, ranking)):
        found = {"effects": list(loaded.effects(probability))}
    if as_tsv:
        alike = found.keys() <= _TITLES.keys()
        if len(found) > 1 and not alike:
            raise expected("--tsv", True, "to be asked for a ranking, or for comparisons, alone: their columns differ")
        print_tsv([{**({"asked": name} if alike else {}), **vars(row)} for name, rows in found.items() for row in rows])
        return
    warnings = loaded.grave_warnings()
    if as_json:
        print_json({"warnings": list(warnings), **{name: plain_rows(rows) for name, rows in found.items()}})
        return
    for warning in warnings:
        say(f"Do not rely on this yet: {warning}")
    for name, rows in found.items():
        if name in _TITLES:
            say(_TITLES[name])
            print_rows(rows, probability)
        elif name == "ranking":
            cells = [
                [r.name, f"{r.value:.4g}", f"{r.rank:.1f}", str(r.low), str(r.high), f"{r.best:.2f}"] for r in rows
            ]
            print_table(("group", "mean", "rank", *ends, "largest with probability"), cells)
        else:
            for one in rows:
                tell(one.sentence)


_TITLES = {
    "contrasts": "Sums of coefficients or groups:",
    "marginal_effects": "Change of the expected response for one more, on average over the declared bounds:",
    "ratios": "Times the odds or the rate, for one more:",
}
