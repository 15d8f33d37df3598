"""`tacit predict`: what a regression's posterior expects at public points."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit._support.printable import in_prose
from tacit.cli.shared import Json, Seed, Tsv, check_form, print_json, print_table, print_tsv, say
from tacit.errors import expected
from tacit.schema import Category, Schema


def predict(
    posterior: Annotated[Path, typer.Argument(metavar="POSTERIOR", help="The posterior, a netCDF file.")],
    at: Annotated[
        list[str],
        typer.Option(
            "--at",
            metavar="COLUMN=VALUE,...",
            help="Values of a column, with commas between them; repeatable, all combinations are made.",
        ),
    ],
    probability: Annotated[float, typer.Option("--probability", help="The probability of the intervals.")] = 0.95,
    seed: Seed = 0,
    as_json: Json = False,
    as_tsv: Tsv = False,
) -> None:
    """Predict the response at points that you choose. Other columns are at mid-bounds, or at their first level."""
    import tacit
    from tacit.models.effects import response_words
    from tacit.models.regression import Regression

    check_form(as_json, as_tsv)
    loaded = tacit.Posterior.load(posterior)
    points = loaded.grid(_columns(at, loaded.plan.schema))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prediction = loaded.predict(points, seed=seed)
    mean = prediction.mean
    if mean.ndim != 1:
        raise expected("family", loaded.plan.model.family, "to have one number as its response; in Python use predict")
    low, high = prediction.interval(probability)
    said = [f"{one.message}" for one in caught]
    rows = [
        {**{name: values[i] for name, values in points.items()}, "mean": float(mean[i]), "low": float(low[i])}
        | {"high": float(high[i])}
        for i in range(len(mean))
    ]
    if as_json:
        print_json({"warnings": [*loaded.grave_warnings(), *said], "predictions": rows})
        return
    if as_tsv:
        print_tsv(rows)
        return
    for warning in loaded.grave_warnings():
        say(f"Do not rely on this yet: {warning}")
    for warning in said:
        say(f"Note: {warning}")
    model, schema = loaded.plan.model, loaded.plan.schema
    if isinstance(model, Regression):
        response = model.design(schema).formula.response
        said_of = f"The probability of {response_words(response, schema)}"
        number = not isinstance(schema.declared(response), Category)
        say(f"{in_prose(response)} of one more row, its own scatter included:" if number else f"{said_of}:")
    ends = (f"{100 * probability:.4g}% from", "to")
    cells = [[_shown(value) for value in row.values()] for row in rows]
    print_table((*points, "mean", *ends), cells, left=0)


def _columns(texts: list[str], schema: Schema) -> dict[str, list[Any]]:
    """``--at COLUMN=VALUE,...`` options as values of each column."""
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        if not sign or not name or not values:
            raise expected("at", text, "to have the form COLUMN=VALUE,VALUE,...")
        if name in found:
            raise expected("at", text, f"to be the only one of {name!r}")
        column = schema.get(name)
        if isinstance(column, Category):
            known = {str(level): level for level in column.levels}
            found[name] = [known.get(part, part) for part in values.split(",")]
            continue
        try:
            found[name] = [float(part) for part in values.split(",")]
        except ValueError:
            raise expected("at", text, "to have numbers behind the sign =") from None
    return found


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
