"""A regression's answers in the units of the data: coefficients by term, ratios, marginal effects and grids of points.

All of it is arithmetic on the draws, so it costs no privacy. What a method works with (``theta``, in mapped units)
stays under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from tacit.errors import did_you_mean, expected
from tacit.models.regression import Regression
from tacit.schema import Category, Schema
from tacit.statistics.design import Indicator

if TYPE_CHECKING:
    from tacit.posterior.posterior import Posterior

_POINTS, _SEED = 256, 20_240_607  # made-up points of a marginal effect: the same for everybody
_STEP = 1e-4  # of the width of the bounds: a difference that stands for a derivative
_MOST_POINTS = 100_000


def coefficient_draws(posterior: Posterior) -> dict[str, Any]:
    """Draws (chains, draws) of each coefficient in the units of the data; none where a family has none such."""
    model = posterior.plan.model
    if not isinstance(model, Regression) or not model.in_data_units:
        return {}
    found = model.coefficients(posterior.arrays(), posterior.plan.schema)
    return {name: values for name, values in found.items() if values.ndim == 2}


def reference_levels(posterior: Posterior) -> list[str]:
    """The levels that a formula leaves out, as the coefficients of the others are named: theirs is 0."""
    model, schema = posterior.plan.model, posterior.plan.schema
    if not isinstance(model, Regression) or not model.in_data_units:
        return []
    design = model.design(schema)
    named = {one.levels[0] for one in design.columns if isinstance(one, Indicator) and len(one.levels) == 1}
    return [
        f"{column}[{level}]"
        for column in dict.fromkeys(column for column, _ in named)
        for code, level in enumerate(schema.category(column).levels)
        if (column, code) not in named
    ]


def ratios_of(posterior: Posterior) -> dict[str, Any]:
    """Draws of how many times the odds or the rate one more of each column goes with."""
    import numpy as np

    model = posterior.plan.model
    if not isinstance(model, Regression) or not model.has_ratios:
        raise expected(
            "family",
            model.family,
            'to be a regression of odds, of rates or of times (a Poisson regression with link = "log"): only their '
            "effects are ratios",
        )
    names = set(model.design(posterior.plan.schema).names) - {"Intercept"}
    with np.errstate(over="ignore"):
        return {name: np.exp(one) for name, one in coefficient_draws(posterior).items() if name in names}


def points_grid(posterior: Posterior, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """All combinations of the values of ``columns``; other numbers at the middle of their bounds, other levels the
    first.
    """
    model, schema = posterior.plan.model, posterior.plan.schema
    if not isinstance(model, Regression):
        raise expected("family", model.family, "to be a regression: only those have a grid of points")
    used = model.design(schema).cells
    for name in columns:
        if name not in used:
            raise expected(
                "grid", name, f"to be a column of the formula: {', '.join(used)}{did_you_mean(str(name), used)}"
            )
    axes: list[list[Any]] = []
    for name in used:
        if name in columns:
            given = columns[name]
            values = [given] if isinstance(given, str | int | float | bool) else list(given)
            if not values:
                raise expected("grid", name, "to have at least one value")
            axes.append(values)
        else:
            column = schema.declared(name)
            axes.append([column.levels[0] if isinstance(column, Category) else (column.low + column.high) / 2])
    size = 1
    for axis in axes:
        size *= len(axis)
    if size > _MOST_POINTS:
        raise expected("grid", size, f"to have at most {_MOST_POINTS:,} points")
    rows = list(product(*axes))
    return {name: [row[i] for row in rows] for i, name in enumerate(used)}


def marginal_draws(posterior: Posterior, name: str, at: Any) -> Any:
    """Draws (chains * draws,) of what one more of ``name`` goes with, on average over points, in the response's units.

    Of a number it is the mean derivative of the expected response, by central differences of 1/10,000 of the width of
    its bounds. Of a level, ``smoker[yes]``, it is the mean difference to the first level. ``at`` are public points;
    left out, 256 that are spread evenly over the declared bounds and levels.
    """
    import numpy as np

    model, schema = posterior.plan.model, posterior.plan.schema
    if not isinstance(model, Regression) or not model.in_data_units:
        raise expected("family", model.family, "to be a regression with coefficients in the units of the data")
    design = model.design(schema)
    column, level = _column_and_level(name, design.cells, schema)
    if at is None:
        points, _ = model.uniform_covariates(schema, _POINTS, np.random.default_rng(_SEED))
    else:
        design.parse(at)  # checked
        points = {one: list(at[one]) for one in design.cells}
    draws = posterior.joined()
    size = len(next(iter(points.values())))

    def mean(values: Any) -> Any:
        return model.mean_response(draws, schema, {**points, column: values}).mean(axis=1)

    declared = schema.declared(column)
    if isinstance(declared, Category):
        return mean([level] * size) - mean([declared.levels[0]] * size)
    step = _STEP * (declared.high - declared.low)
    centre = np.clip(np.asarray(points[column], float), declared.low + step, declared.high - step)
    return (mean(centre + step) - mean(centre - step)) / (2 * step)


def _column_and_level(name: str, cells: list[str], schema: Schema) -> tuple[str, Any]:
    """The column of a marginal effect, and the level that is compared with the first where it has levels."""
    levelled: dict[str, tuple[str, Any]] = {}
    for column in cells:
        declared = schema.declared(column)
        if isinstance(declared, Category):
            others = declared.levels[1:]
            levelled |= {f"{column}[{level}]": (column, level) for level in others}
            levelled |= {column: (column, others[0])} if len(others) == 1 else {}
        else:
            levelled[column] = (column, None)
    if name not in levelled:
        known = list(levelled)
        raise expected("marginal_effect", name, f"to be one of {', '.join(known[:12])}{did_you_mean(str(name), known)}")
    return levelled[name]


def in_file(draws: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Terms and their draws by names that netCDF can have: without /, each once."""
    found: dict[str, tuple[str, Any]] = {}
    for name, values in draws.items():
        plain = name.replace("/", "_").strip() or "_"
        while plain in found or plain in ("chain", "draw"):
            plain += "_"
        found[plain] = name, values
    return found
