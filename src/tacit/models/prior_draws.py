"""Draws from a prior: what was believed before the release, for comparison with what is believed after it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tacit.models.model import Model, Prior
from tacit.models.regression import Regression
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.design import Scaled


@lru_cache(maxsize=8)  # a report asks for the same ones several times
def prior_draws(model: Model, schema: Schema, prior: Prior, *, draws: int, seed: int) -> Arrays:
    """Independent draws of every parameter, each an array with a leading axis over draws."""
    import numpy as np

    rng = np.random.default_rng(seed)
    found = [model.draw_parameters(prior, schema, rng) for _ in range(draws)]
    return {name: np.array([one[name] for one in found]) for name in found[0]}


BALL = "the covariates"


def clamped_share(model: Model, schema: Schema, draws: Arrays, *, rows: int, seed: int) -> dict[str, float]:
    """For each number that the model describes, the share of rows outside its bounds that these draws imply.

    ``draws`` have a leading axis. Where covariates are moved into a ball, `BALL` has the share of rows outside it.
    Empty where a method gives too few parameters to make rows of.
    """
    import numpy as np

    from tacit.schema import Number

    rng = np.random.default_rng(seed)
    count = len(next(iter(draws.values())))
    outside: dict[str, list[float]] = {}
    for i in range(count):
        try:
            cells = model.draw_rows({name: values[i] for name, values in draws.items()}, schema, rows, rng)
        except KeyError:  # a parameter that this method integrates out
            return {}
        for name, values in cells.items():
            column: Any = schema.declared(name)
            if isinstance(column, Number):
                outside.setdefault(name, []).append(float(np.mean((values < column.low) | (values > column.high))))
        if isinstance(model, Regression) and model.radius is not None:
            outside.setdefault(BALL, []).append(_outside_ball(model, schema, cells, model.radius))
    return {name: float(np.mean(shares)) for name, shares in outside.items()}


SDS_INSIDE = 3.5
"""So many standard deviations on either side of its mean lie within the bounds; 1 in 2,000 rows is outside."""


def fits_bounds(means: Any, variances: Any) -> Any:
    """Whether normal numbers with these moments, in mapped units, lie in [-1, 1] practically always; the last axis is
    over numbers.
    """
    import numpy as np

    return np.all(np.abs(means) + SDS_INSIDE * np.sqrt(variances) <= 1, axis=-1)


def extent(rows: Arrays, schema: Schema) -> float:
    """Of all columns of numbers the largest distance from the middle of the bounds at which a normal row hardly ever
    lies, over half their length; ``rows`` are raw cells.
    """
    import numpy as np

    from tacit.schema import Number

    found = [0.0]
    for name, values in rows.items():
        column = schema.declared(name)
        if isinstance(column, Number):
            half = (column.high - column.low) / 2
            reached = abs(float(np.mean(values)) - column.low - half) + SDS_INSIDE * float(np.std(values))
            found.append(reached / half)
    return max(found)


def largest_share_outside(rows: Arrays, schema: Schema) -> float:
    """Of all columns of numbers the largest share of values outside their bounds; ``rows`` are raw cells."""
    import numpy as np

    from tacit.schema import Number

    columns = [(values, column) for name, values in rows.items() if isinstance(column := schema.declared(name), Number)]
    return max((float(np.mean((v < column.low) | (v > column.high))) for v, column in columns), default=0.0)


def _outside_ball(model: Regression, schema: Schema, cells: Arrays, radius: float) -> float:
    import numpy as np

    numbers = dict.fromkeys(column.number for column in model.design(schema).columns if isinstance(column, Scaled))
    raw = {x: np.prod([np.clip(cells[name], *_bounds(schema, name)) for name in x.numbers], axis=0) for x in numbers}
    squares = sum(((values - x.offset) / x.scale) ** 2 for x, values in raw.items())
    return float(np.mean(squares > radius**2))


def _bounds(schema: Schema, name: str) -> tuple[float, float]:
    column = schema.number(name)
    return column.low, column.high
