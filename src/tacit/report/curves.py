"""Curves: what a model expects of its response over the bounds of a number, and how long a wait goes on.

A spline or a polynomial says nothing coefficient by coefficient, and nor does a number that others change the effect
of. Their picture is the expected response along the number, all other columns held.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from tacit._support.printable import in_prose
from tacit.models.effects import response_words
from tacit.models.exponential import Exponential
from tacit.models.formula_terms import Call, column_of
from tacit.models.linear import LinearRegression
from tacit.models.moment_regression import MomentRegression
from tacit.models.regression import Regression
from tacit.pages.render import number
from tacit.pages.svg import Line, Plot, Ribbon
from tacit.posterior import Posterior
from tacit.schema import Category, Number, Schema

_POINTS = 61
_MOST = 6  # plots
_DRAWS = 1000


def curve_plots(posterior: Posterior) -> tuple[list[Plot], str]:
    """The curves that answer the plan's question, and in one sentence what they show; none for most plans."""
    model, schema = posterior.plan.model, posterior.plan.schema
    if isinstance(model, Exponential):
        return [_survival(posterior, model)], "The share that waits longer than this, with a 95% interval."
    if not isinstance(model, LinearRegression | MomentRegression):
        return [], ""
    found: list[Plot] = []
    held: dict[str, str] = {}
    for name, groups in _bent(model, posterior).items():
        others = {one: _usual(schema.declared(one)) for one in model.design(schema).cells if one != name}
        held |= {one: str(value) for one, value in others.items() if one not in groups}
        levels = [schema.category(group).levels for group in groups]
        for chosen in product(*levels):
            found.append(
                _predicted(posterior, model, name, {**others, **dict(zip(groups, chosen, strict=True))}, groups)
            )
    if not found:
        return [], ""
    where = ", ".join(f"{in_prose(name)} = {in_prose(value)}" for name, value in held.items())
    said = "What the model expects, with a 95% interval"
    return found[:_MOST], f"{said}, where {where}." if where else f"{said}."


def _bent(model: Regression, posterior: Posterior) -> dict[str, list[str]]:
    """The numbers with functions of theirs in the formula, each with the columns of levels that change its curve."""
    schema, found = posterior.plan.schema, dict[str, list[str]]()
    terms = model.design(schema).formula.terms
    for name in dict.fromkeys(factor.column for term in terms for factor in term if isinstance(factor, Call)):
        if isinstance(schema.declared(name), Number):
            beside = [
                column_of(factor)
                for term in terms
                if name in map(column_of, term)
                for factor in term
                if isinstance(schema.declared(column_of(factor)), Category)
            ]
            found[name] = list(dict.fromkeys(beside))
    return found


def _usual(column: Number | Category) -> Any:
    """The middle of the bounds, or the first level."""
    return column.levels[0] if isinstance(column, Category) else (column.low + column.high) / 2


def _predicted(
    posterior: Posterior,
    model: LinearRegression | MomentRegression,
    name: str,
    held: Mapping[str, Any],
    groups: list[str],
) -> Plot:
    import numpy as np

    schema = posterior.plan.schema
    bounds, response = schema.number(name), model.design(schema).formula.response
    ratio = _by_ratios(model, schema, name)
    x = (np.geomspace if ratio else np.linspace)(bounds.low, bounds.high, _POINTS)
    cells = {name: x, **{one: [value] * _POINTS for one, value in held.items()}}
    draws = {key: posterior.parameter(key)[-_DRAWS:] for key in ("theta",)}
    if isinstance(model, LinearRegression):
        design = model.design(schema)
        mean = draws["theta"] @ design.matrix(design.parse(cells)).T
        values = design.number_response.offset + design.number_response.scale * mean
        what = in_prose(response)
    else:
        values = model.predict(draws, schema, cells, None)
        share = model.effect_scale == "odds"
        what = f"share of {response_words(response, schema)}" if share else f"mean of {in_prose(response)}"
    label = f"{name}, {', '.join(str(held[group]) for group in groups)}" if groups else name
    declared = schema.declared(response)
    ends = (declared.low, declared.high) if isinstance(declared, Number) else (0.0, 1.0)
    return _plot(label, what, name, x, values, ends, ratio=ratio)


def _by_ratios(model: Regression, schema: Schema, name: str) -> bool:
    """Whether the formula takes the number by its logarithm alone, and over a range where a logarithmic axis helps."""
    calls = [
        factor.function
        for term in model.design(schema).formula.terms
        for factor in term
        if isinstance(factor, Call) and factor.column == name
    ]
    bounds = schema.number(name)
    return set(calls) <= {"log", "log2", "log10"} and bounds.low > 0 and bounds.high >= 10 * bounds.low


def _survival(posterior: Posterior, model: Exponential) -> Plot:
    import numpy as np

    x = np.linspace(0.0, posterior.plan.schema.number(model.column).high, _POINTS)
    rate = posterior.parameter("rate")[-_DRAWS:]
    return _plot(model.column, "share that waits longer", model.column, x, np.exp(-rate[:, None] * x), (0.0, 1.0))


def _plot(
    name: str, what: str, across: str, x: Any, values: Any, ends: tuple[float, float], *, ratio: bool = False
) -> Plot:
    """The median and the central 95%, cut off where they leave what the response can be."""
    import numpy as np

    low, mean, high = np.quantile(values, [0.025, 0.5, 0.975], axis=0)
    bottom = max(min(0.0, float(low.min())), min(0.0, ends[0]))
    top = min(float(high.max()), ends[1])
    at = [
        f"{across} {number(a)}: {number(m)} ({number(lo)} to {number(hi)})"
        for a, m, lo, hi in zip(x, mean, low, high, strict=True)
    ]
    place = (np.log(x) if ratio else x).tolist()
    inside = np.flatnonzero((mean >= bottom) & (mean <= top))
    first, last = (max(0, inside[0] - 1), inside[-1] + 2) if len(inside) else (0, len(x))
    return Plot(
        name=name,
        label=f"{what} by {across}, from {number(float(x[0]))} to {number(float(x[-1]))}, with a 95% interval",
        low=place[0],
        high=place[-1],
        bottom=bottom,
        top=top + 0.05 * (top - bottom) or 1.0,
        ribbons=[Ribbon(place, low.tolist(), high.tolist())],
        lines=[Line(place[first:last], mean[first:last].tolist())],
        texts=at,
        across=across,
        up=what,
        ratio=ratio,
    )
