"""Draw docs/figures/calibration.svg: ranks of the truth under the default and the naive method, and the coverage.

Run from anywhere: `python docs/figures/calibration.py`. Seeded: the same figure comes out every time. It takes about
half a minute and prints the numbers that docs/how-it-works.md quotes.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import tacit

N, EPSILON, TRIALS, SEED, BINS = 100, 0.1, 2000, 2026, 20
INK, SOFT, BAND = "#1d2733", "#5b6673", "#d7dde3"
COLOURS = {"exact": "#2f6690", "naive": "#c0562f"}
TITLES = {"exact": "Default: the noise is part of the model", "naive": "Naive: the noise is ignored"}
PROBABILITIES = np.arange(0.1, 0.91, 0.1)  # with 99 draws these intervals hold a whole number of ranks


def main() -> None:
    """Calibrate both methods and write the figure beside this file."""
    plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=EPSILON))
    results = {
        method: tacit.calibrate(plan, n=N, trials=TRIALS, seed=SEED, method=method) for method in ("exact", "naive")
    }
    for method, result in results.items():
        print(f"{method}: coverage of the 90% interval {result.coverage(0.9)['theta']:.3f}")
    style = {"svg.fonttype": "path", "svg.hashsalt": "tacit", "font.family": "DejaVu Sans", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(10.2, 3.5), layout="constrained", facecolor="white")
        grid = figure.add_gridspec(1, 3, width_ratios=(1, 1, 0.92), wspace=0.08)
        tallest = max(_histogram(result).max() for result in results.values())
        for place, (method, result) in enumerate(results.items()):
            _draw_ranks(figure.add_subplot(grid[place]), method, result, tallest)
        _draw_coverage(figure.add_subplot(grid[2]), results)
        figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


def _histogram(result: tacit.Calibration) -> np.ndarray:
    counts, _ = np.histogram(result.ranks["theta"], bins=BINS, range=(0, result.draws + 1))
    return counts


def _draw_ranks(axes: Axes, method: str, result: tacit.Calibration, tallest: int) -> None:
    """Histogram of ranks, with the band that holds each bar 95 times in 100 if the ranks are uniform."""
    from scipy.stats import binom

    low, high = binom.ppf([0.025, 0.975], TRIALS, 1 / BINS)
    axes.axhspan(low, high, color=BAND, linewidth=0, zorder=0)
    axes.axhline(TRIALS / BINS, color=SOFT, linewidth=0.8, zorder=1)
    width = (result.draws + 1) / BINS
    places = (np.arange(BINS) + 0.5) * width
    axes.bar(places, _histogram(result), width=0.86 * width, color=COLOURS[method], zorder=2)
    axes.set(xlim=(0, result.draws + 1), ylim=(0, 1.06 * tallest), xlabel="rank of the true share among 99 draws")
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_title(TITLES[method], fontsize=10, color=INK, loc="left")
    if method == "exact":
        axes.set_ylabel(f"trials out of {TRIALS:,}")
        axes.annotate(
            "grey: where bars fall\nif the ranks are uniform",
            (50, high),
            (50, 0.42 * tallest),
            ha="center",
            color=SOFT,
            fontsize=8,
            arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.7},
        )
    _tidy(axes)


def _draw_coverage(axes: Axes, results: dict[str, tacit.Calibration]) -> None:
    """How often intervals held the truth, against how often they claim to."""
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8, zorder=1)
    for method, result in results.items():
        held = [result.coverage(float(p))["theta"] for p in PROBABILITIES]
        axes.plot(PROBABILITIES, held, "o-", color=COLOURS[method], markersize=4, linewidth=1.4, label=method, zorder=2)
        name = "default" if method == "exact" else "naive"
        axes.annotate(
            name,
            (PROBABILITIES[-2], held[-2]),
            (-6, 10) if method == "exact" else (6, -14),
            textcoords="offset points",
            ha="right" if method == "exact" else "left",
            color=COLOURS[method],
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="what the interval claims", ylabel="how often it held the truth")
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_xticks(ticks, [f"{100 * t:.0f}%" for t in ticks])
    axes.set_yticks(ticks, [f"{100 * t:.0f}%" for t in ticks])
    axes.set_title("Coverage", fontsize=10, color=INK, loc="left")
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelsize=8)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


if __name__ == "__main__":
    main()
