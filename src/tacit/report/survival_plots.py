"""Survival curves with bands: of every group of a `SurvivalCurve`, and of rows in the middle for a regression."""

from __future__ import annotations

from typing import Any

from tacit.models.regression import DesignMatrix
from tacit.models.survival_curve import SurvivalCurve
from tacit.models.survival_regression import SurvivalRegression
from tacit.pages.render import number
from tacit.pages.svg import Line, Plot, Ribbon
from tacit.posterior import Posterior
from tacit.schema import Category

_MOST = 12  # curves that are drawn
_PLACES = 121


def survival_plots(posterior: Posterior) -> list[Plot]:
    """The share without the event over time, with its 95% band; none for other families."""
    import numpy as np

    model, schema = posterior.plan.model, posterior.plan.schema
    if isinstance(model, SurvivalCurve):
        draws = posterior.parameter("survival")
        draws = draws if model.by is not None else draws[:, None]
        edges = model.curve_edges(schema)
        groups = model.coords(schema).get("group", [""])
        ones = np.ones((len(draws), 1))
        return [
            _plot(model.column, group, edges, np.concatenate([ones, draws[:, place]], axis=1))
            for place, group in enumerate(groups[:_MOST])
        ]
    if not isinstance(model, SurvivalRegression):
        return []
    arrays = posterior.joined()
    new, labels = _in_the_middle(model.design(schema))
    response = model.response(schema)
    times = np.linspace(0, response.high, _PLACES)
    draws = model.survival(arrays, schema, new, times)
    return [_plot(response.name, label, times, draws[:, place]) for place, label in enumerate(labels)]


def _in_the_middle(design: DesignMatrix) -> tuple[dict[str, list[Any]], list[str]]:
    """A point for each level of the first column with levels; numbers in the middle of their bounds."""
    declared = {name: design.schema.declared(name) for name in design.cells}
    first = next((name for name, column in declared.items() if isinstance(column, Category)), None)
    levels: list[Any] = [""]
    if first is not None:
        levels = list(design.schema.category(first).levels[:_MOST])
    new: dict[str, list[Any]] = {}
    for name, column in declared.items():
        middle: Any = column.levels[0] if isinstance(column, Category) else (column.low + column.high) / 2
        new[name] = levels if name == first else [middle] * len(levels)
    return new, [f"{first} = {level}" if first else "" for level in levels]


def _plot(column: str, group: str, times: Any, draws: Any) -> Plot:
    import numpy as np

    x = [float(time) for time in times]
    mean = draws.mean(axis=0)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    places = np.linspace(x[0], x[-1], _PLACES)
    texts = [
        f"At {number(float(at))}: {a:.1%} ({b:.1%} to {c:.1%})"
        for at, a, b, c in zip(places, *(np.interp(places, x, line) for line in (mean, low, high)), strict=True)
    ]
    name = f"without the event, {group}" if group else "without the event"
    return Plot(
        name=name,
        label=f"Share {name} over {column}, with 95% band: {mean[-1]:.1%} at {number(x[-1])}",
        low=x[0],
        high=x[-1],
        top=1.0,
        ribbons=[Ribbon(x, low.tolist(), high.tolist())],
        lines=[Line(x, mean.tolist())],
        texts=texts,
        across=column,
        up="share",
    )
