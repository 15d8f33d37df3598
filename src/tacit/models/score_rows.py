"""Made-up rows for scores in rounds: covariates of many shapes inside their bounds, and a response given theta.

Scores in rounds assume no distribution of the covariates, so none is privileged here: every number has a beta
distribution on its bounds whose shapes are drawn anew each time (flat, skewed, U-shaped or bell-shaped), every factor
has shares of its levels that are drawn anew. No cell lies outside its bounds, so nothing is clamped before the response
is drawn.
"""

from __future__ import annotations

from typing import Any

from tacit.models.moment_regression import MomentRegression
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Schema
from tacit.statistics.design import Scaled


def draw_score_rows(model: MomentRegression, schema: Schema, theta: Any, n: int, rng: Any) -> Arrays:
    """n rows as columns of raw cells."""
    import numpy as np

    design = model.design(schema)
    parsed: dict[str, Any] = {}
    for name in design.cells:
        column = schema.declared(name)
        if isinstance(column, Category):
            parsed[name] = rng.choice(len(column.levels), size=n, p=rng.dirichlet(np.ones(len(column.levels))))
        else:
            shapes = np.exp(0.7 * rng.standard_normal(2))
            parsed[name] = column.low + (column.high - column.low) * rng.beta(*shapes, size=n)
    if model.radius is not None:  # a row that is moved into the ball has its response from where it is moved to
        numbers = [column for column in design.columns if isinstance(column, Scaled)]
        mapped = np.stack([(parsed[c.numbers[0]] - c.offset) / c.scale for c in numbers], axis=1)
        size = np.sqrt((mapped**2).sum(axis=1, keepdims=True))
        mapped *= np.minimum(1.0, model.radius / np.maximum(size, 1e-300))
        for column, values in zip(numbers, mapped.T, strict=True):
            parsed[column.numbers[0]] = column.offset + column.scale * values
    predictor = np.broadcast_to(design.matrix(parsed) @ np.asarray(theta, float), n)
    rows: Arrays = {}
    for name, values in parsed.items():
        column = schema.declared(name)
        rows[name] = [column.levels[code] for code in values] if isinstance(column, Category) else values
    rows[design.formula.response] = model.draw_response(predictor, schema, rng)
    return rows
