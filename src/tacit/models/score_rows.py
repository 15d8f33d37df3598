"""Made-up rows for scores in rounds: covariates of many shapes inside their bounds, and a response given theta.

Scores in rounds assume no distribution of the covariates, so none is privileged here: every number has a beta
distribution on its bounds whose shapes are drawn anew each time (flat, skewed, U-shaped or bell-shaped), every factor
has shares of its levels that are drawn anew. No cell lies outside its bounds, so nothing is clamped before the response
is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tacit.models.moment_regression import MomentRegression
from tacit.models.regression import Regression
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Schema
from tacit.statistics.design import Scaled


def draw_covariates(model: Regression, schema: Schema, n: int, rng: Any) -> tuple[dict[str, Any], Arrays]:
    """The covariates of n rows, parsed and as raw cells."""
    parsed = draw_columns(model.design(schema).cells, schema, n, rng)
    return parsed, raw_cells(parsed, schema)


def draw_columns(names: Iterable[str], schema: Schema, n: int, rng: Any) -> dict[str, Any]:
    """n cells of each column, of a shape that is drawn for the column: numbers, and codes of levels."""
    import numpy as np

    parsed: dict[str, Any] = {}
    for name in names:
        column = schema.declared(name)
        if isinstance(column, Category):
            parsed[name] = rng.choice(len(column.levels), size=n, p=rng.dirichlet(np.ones(len(column.levels))))
        else:
            shapes = np.exp(0.7 * rng.standard_normal(2))
            parsed[name] = column.low + (column.high - column.low) * rng.beta(*shapes, size=n)
    return parsed


def raw_cells(parsed: Mapping[str, Any], schema: Schema) -> Arrays:
    """Codes of levels as levels, numbers as they are."""
    rows: Arrays = {}
    for name, values in parsed.items():
        column = schema.declared(name)
        rows[name] = [column.levels[code] for code in values] if isinstance(column, Category) else values
    return rows


def draw_score_rows(model: MomentRegression, schema: Schema, theta: Any, n: int, rng: Any) -> Arrays:
    """n rows as columns of raw cells."""
    import numpy as np

    design = model.design(schema)
    parsed, _ = draw_covariates(model, schema, n, rng)
    if model.radius is not None:  # a row that is moved into the ball has its response from where it is moved to
        numbers = [column for column in design.columns if isinstance(column, Scaled)]
        mapped = np.stack([(parsed[c.numbers[0]] - c.offset) / c.scale for c in numbers], axis=1)
        size = np.sqrt((mapped**2).sum(axis=1, keepdims=True))
        mapped *= np.minimum(1.0, model.radius / np.maximum(size, 1e-300))
        for column, values in zip(numbers, mapped.T, strict=True):
            parsed[column.numbers[0]] = column.offset + column.scale * values
    predictor = np.broadcast_to(design.matrix(parsed) @ np.asarray(theta, float), n)
    rows = raw_cells(parsed, schema)
    rows[design.formula.response] = model.draw_response(predictor, schema, rng)
    return rows
