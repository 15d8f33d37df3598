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


def effects(
    posterior: Annotated[Path, typer.Argument(metavar="POSTERIOR", help="The posterior, a netCDF file.")],
    contrast: Annotated[
        list[str] | None,
        typer.Option(
            "--contrast",
            metavar="SUM",
            help="A sum of coefficients or of groups' numbers, such as 'smoker[yes] - smoker[no]'; repeatable.",
            show_default=False,
        ),
    ] = None,
    marginal: Annotated[
        list[str] | None,
        typer.Option(
            "--marginal",
            metavar="NAME",
            help="How the expected response changes with a column, or with a level; repeatable.",
            show_default=False,
        ),
    ] = None,
    ratios: Annotated[bool, typer.Option("--ratios", help="Odds ratios or rate ratios, for one more.")] = False,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="FORMULA",
            help="A formula with fewer terms: how much the release speaks for the terms left out; repeatable.",
            show_default=False,
        ),
    ] = None,
    ranking: Annotated[
        str | None,
        typer.Option("--ranking", metavar="NAME", help="Groups by a number of theirs, with ranks.", show_default=False),
    ] = None,
    probability: Annotated[float, typer.Option("--probability", help="Of the intervals.")] = 0.95,
    as_json: Json = False,
    as_tsv: Tsv = False,
) -> None:
    """Ask a posterior for effects, contrasts, ratios, comparisons. In the units of the data, and free of any cost."""
    import tacit

    check_form(as_json, as_tsv)
    loaded = tacit.Posterior.load(posterior)
    asked = bool(contrast or marginal or ratios or compare or ranking)
    ranks = loaded.ranking(ranking, probability) if ranking else ()
    tables = {
        "contrasts": [loaded.contrast(text, probability) for text in contrast or ()],
        "marginal_effects": [loaded.marginal_effect(name, probability=probability) for name in marginal or ()],
        "ratios": list(loaded.ratios(probability)) if ratios else [],
    }
    comparisons = [loaded.compare(formula) for formula in compare or ()]
    sentences = [] if asked else list(loaded.effects(probability))
    warnings = loaded.grave_warnings()
    if as_json:
        found: dict[str, Any] = {name: plain_rows(rows) for name, rows in tables.items() if rows}
        if comparisons:
            found["comparisons"] = [vars(one) for one in comparisons]
        if ranks:
            found["ranking"] = [vars(one) for one in ranks]
        if sentences:
            found["effects"] = [vars(one) for one in sentences]
        print_json({"warnings": list(warnings), **found})
        return
    if as_tsv:
        rows = [{"asked": name, **vars(row)} for name, rows in tables.items() for row in rows]
        print_tsv(rows or [vars(one) for one in comparisons or ranks or sentences])
        return
    for warning in warnings:
        say(f"Do not rely on this yet: {warning}")
    for one in sentences:
        tell(one.sentence)
    titles = {
        "contrasts": "Sums of coefficients or groups:",
        "marginal_effects": "Change of the expected response for one more, on average over the declared bounds:",
        "ratios": "Times the odds or the rate, for one more:",
    }
    for name, rows in tables.items():
        if rows:
            say(titles[name])
            print_rows(rows, probability)
    if ranks:
        cells = [[r.name, f"{r.value:.4g}", f"{r.rank:.1f}", f"{r.low}", f"{r.high}", f"{r.best:.2f}"] for r in ranks]
        ends = (f"{100 * probability:.4g}% from", "to")
        print_table(("group", "mean", "rank", *ends, "largest with probability"), cells)
    for one in comparisons:
        tell(one.sentence)
