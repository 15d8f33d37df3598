"""Draws from a prior: what was believed before the release, for comparison with what is believed after it."""

from __future__ import annotations

from typing import Any

from tacit.models.model import Model, Prior
from tacit.samplers.chain import Arrays
from tacit.schema import Schema


def prior_draws(model: Model, schema: Schema, prior: Prior, *, draws: int, seed: int) -> Arrays:
    """Independent draws of every parameter, each an array with a leading axis over draws."""
    import numpy as np

    rng = np.random.default_rng(seed)
    found = [model.draw_parameters(prior, schema, rng) for _ in range(draws)]
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def clamped_share(model: Model, schema: Schema, draws: Arrays, *, rows: int, seed: int) -> dict[str, float]:
    """For each number that the model describes, the share of rows outside its bounds that these draws imply.

    ``draws`` have a leading axis. Empty where a method gives too few parameters to make rows of.
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
    return {name: float(np.mean(shares)) for name, shares in outside.items()}
