"""The posterior of each number as a picture: its density, its prior's and, in simulations, what no noise would give.

Densities are normal-kernel estimates (Silverman's rule of thumb), mirrored at the smallest and the largest draw, so
that a density that ends there does not leak beyond. Whole numbers with few values are bars.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.pages.render import number
from tacit.pages.svg import Bar, Line, Mark, Plot
from tacit.posterior import Posterior

_POINTS = 121
_MOST_BARS = 60
_MOST_USED = 4000  # draws of one density: more would not be seen


@dataclass(frozen=True, eq=False)
class PosteriorNumber:
    """One number of the posterior: its draws, and what else is known of it (None where it is not).

    Of a ``ratio`` all are logarithms.
    """

    name: str
    variable: str
    draws: Any
    prior: Any = None
    exact: Any = None
    truth: float | None = None
    ratio: bool = False


def numbers(posterior: Posterior, simulation: Any = None) -> list[PosteriorNumber]:
    """Every number of the posterior in the order of its summary, with prior draws and the simulation's secrets."""
    import numpy as np

    model = posterior.plan.model
    before = posterior.prior_draws(_MOST_USED)
    exact = {} if simulation is None or not simulation.exact else simulation.non_private(draws=_MOST_USED)
    truths = {} if simulation is None else simulation.parameters
    names = iter(row.name for row in posterior.summary())
    found: list[PosteriorNumber] = []
    for variable in posterior.arrays():
        values = posterior.parameter(variable)
        columns = values.reshape(len(values), -1)
        sites = values.shape[1] if "site" in posterior.parts.dims.get(variable, ()) else 1
        width = columns.shape[1] // sites

        def column(arrays: Any, i: int, name: str = variable, width: int = width) -> Any:
            """Column i of the same parameter in other draws; every site has the same prior."""
            if name not in arrays:
                return None
            flat = np.asarray(arrays[name], np.float64).reshape(len(arrays[name]), -1)
            return flat[:, i % width] if flat.shape[1] == width else None

        whole = {variable: [truths[variable]]} if variable in truths else {}
        for i, draws in enumerate(columns.T):
            truth = column(whole, i)
            found.append(
                PosteriorNumber(
                    next(names),
                    variable,
                    np.asarray(draws, np.float64),
                    column(before, i) if variable in model.dims(posterior.plan.schema) else None,
                    column(exact, i),
                    None if truth is None else float(truth[0]),
                )
            )
    return found


def distinct(given: list[PosteriorNumber]) -> list[PosteriorNumber]:
    """Each number once: a covariance stands on both sides of the diagonal."""
    seen: dict[tuple[str, bytes], PosteriorNumber] = {}
    for one in given:
        seen.setdefault((one.variable, one.draws.tobytes()), one)
    return list(seen.values())


def density_plot(one: PosteriorNumber) -> Plot | None:
    """The picture of one number; None where its draws are all the same or not finite."""
    import numpy as np

    if not np.isfinite(one.draws).all() or np.ptp(one.draws) == 0 or not np.isfinite(np.ptp(one.draws)):
        return None

    def said(value: float) -> str:
        return number(math.exp(min(value, 700.0)) if one.ratio else value)

    low, high = _window(one)
    left, right = np.quantile(one.draws, [0.025, 0.975])
    mean = float(one.draws.mean())
    grid = np.linspace(low, high, _POINTS)
    marks = [Mark(mean)] if one.truth is None else [Mark(mean), Mark(one.truth, "truth")]
    lines: list[Line] = []
    for draws, style in ((one.prior, "prior"), (one.exact, "exact")):
        if draws is not None and np.isfinite(draws).all() and np.ptp(draws) > 0:
            lines.append(Line(grid.tolist(), density(draws, grid).tolist(), style))
    values = np.unique(one.draws)
    bars: list[Bar] = []
    bands: list[Line] = []
    if len(values) <= _MOST_BARS and np.array_equal(values, np.round(values)):
        shares = [float(np.mean(one.draws == v)) for v in values]
        inside = [left <= v <= right for v in values]
        half = max(0.45, 0.012 * (high - low))  # a value among few far apart would be too thin to see
        bars = [
            Bar(float(v) - half, float(v) + half, share, "in" if held else "")
            for v, share, held in zip(values, shares, inside, strict=True)
        ]
        top = max(shares)
    else:
        heights = density(one.draws, grid)
        middle = np.linspace(left, right, _POINTS)
        bands = [Line(middle.tolist(), density(one.draws, middle).tolist())]
        lines.append(Line(grid.tolist(), heights.tolist()))
        top = float(heights.max())
    exact_top = max((max(line.y) for line in lines if line.style == "exact"), default=0.0)
    ordered = np.sort(one.draws)
    below = np.searchsorted(ordered, grid, side="right") / len(ordered)
    return Plot(
        name=one.name,
        label=f"Posterior of {one.name}: mean {said(mean)}, 95% interval {said(left)} to {said(right)}",
        low=low,
        high=high,
        top=1.05 * min(max(top, exact_top), 4 * top),
        lines=lines,
        bands=bands,
        bars=bars,
        marks=marks,
        texts=[f"Below {said(float(x))}: {share:.1%} of the posterior" for x, share in zip(grid, below, strict=True)],
        ratio=one.ratio,
    )


def density(draws: Any, grid: Any) -> Any:
    """The kernel estimate on ``grid``: sum over draws of a normal density, with each draw's mirror images.

    The width is 0.9 min(sd, IQR / 1.34) m^-1/5 for m draws.
    """
    import numpy as np

    used = draws if len(draws) <= _MOST_USED else draws[:: -(-len(draws) // _MOST_USED)]
    quarter, three = np.quantile(used, [0.25, 0.75])
    spread = min(float(used.std()), (three - quarter) / 1.34) or float(used.std())
    width = 0.9 * spread * len(used) ** -0.2
    first, last = float(used.min()), float(used.max())
    total = np.zeros(len(grid))
    for images in (used, 2 * first - used, 2 * last - used):
        near = images[(images > grid[0] - 6 * width) & (images < grid[-1] + 6 * width)]
        total += np.exp(-0.5 * ((grid[:, None] - near[None, :]) / width) ** 2).sum(axis=1)
    total[(grid < first) | (grid > last)] = 0
    return total / (len(used) * width * np.sqrt(2 * np.pi))


def _window(one: PosteriorNumber) -> tuple[float, float]:
    """All but the last thousandth of the draws, and the truth if it is known and not far."""
    import numpy as np

    low, high = (float(v) for v in np.quantile(one.draws, [0.0005, 0.9995]))
    width = (high - low) or float(np.ptp(one.draws))
    if np.array_equal(one.draws, np.round(one.draws)):
        room = max(0.6, 0.02 * width)
        low, high = low - room, high + room
    if one.truth is not None and low - width < one.truth < high + width:
        low, high = min(low, one.truth - 0.02 * width), max(high, one.truth + 0.02 * width)
    return low, high if high > low else low + width
