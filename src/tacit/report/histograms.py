"""Histograms with intervals, in the units of the data: a picture for every group of a `Histogram`."""

from __future__ import annotations

from typing import Any

from tacit.models.histogram import Histogram
from tacit.pages.render import number
from tacit.pages.svg import Bar, Line, Plot
from tacit.posterior import Posterior

_MOST = 12  # groups that are drawn


def histogram_plots(posterior: Posterior) -> list[Plot]:
    """For each group the share of each bin over its width, with its 95% interval; none for other families."""
    model, schema = posterior.plan.model, posterior.plan.schema
    if not isinstance(model, Histogram):
        return []
    shares = posterior.parameter("share")
    shares = shares if model.by is not None else shares[:, None]
    groups = model.coords(schema).get("group", [""])
    edges = [float(edge) for edge in model.bin_edges(schema)]
    drawn = zip(groups[:_MOST], range(_MOST), strict=False)
    return [_plot(model.column, group, edges, shares[:, place]) for group, place in drawn]


def _plot(column: str, group: str, edges: list[float], shares: Any) -> Plot:
    import numpy as np

    widths = np.diff(edges)
    means = shares.mean(axis=0)
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    middles = (np.array(edges[1:]) + np.array(edges[:-1])) / 2
    bars = [
        Bar(a, b, float(mean / width), "in")
        for a, b, mean, width in zip(edges[:-1], edges[1:], means, widths, strict=True)
    ]
    lines = [
        Line([float(x), float(x)], [float(a / w), float(b / w)])
        for x, a, b, w in zip(middles, low, high, widths, strict=True)
    ]
    places = np.linspace(edges[0], edges[-1], 121)
    bins = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(widths) - 1)
    texts = [
        f"From {number(edges[k])} to {number(edges[k + 1])}: {means[k]:.1%} ({low[k]:.1%} to {high[k]:.1%})"
        for k in bins.tolist()
    ]
    name = f"{column}, {group}" if group else column
    return Plot(
        name=name,
        label=f"Histogram of {name} with 95% intervals, in {len(widths)} bins",
        low=edges[0],
        high=edges[-1],
        top=1.05 * float(np.max(high / widths)),
        bars=bars,
        lines=lines,
        texts=texts,
        across=column,
    )
