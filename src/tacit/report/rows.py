"""The rows of the page's tables that hold a picture: forest, split of uncertainty, predictive check."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.models.model import Model
from tacit.pages.interval_rows import Scale, interval, shares
from tacit.pages.render import number
from tacit.report.answer import in_words
from tacit.report.densities import PosteriorNumber
from tacit.report.replicas import ReplicaCheck
from tacit.report.uncertainty import Split

MOST = 40  # rows with a picture; the tables hold the rest


@dataclass(frozen=True)
class Pictured:
    """A name, the texts of some cells, and a strip of SVG."""

    name: str
    cells: tuple[str, ...]
    strip: str


@dataclass(frozen=True)
class Chart:
    """Rows on one scale; ``ticks`` is the scale itself; ``left_out`` rows were too many."""

    title: str
    rows: tuple[Pictured, ...]
    ticks: str
    left_out: int = 0


def forest(numbers: Sequence[PosteriorNumber]) -> list[Chart]:
    """For each parameter its numbers on one scale: 95% thin, 50% thick, the mean upright."""
    import numpy as np

    charts: list[Chart] = []
    for variable in dict.fromkeys(one.variable for one in numbers):
        members = [one for one in numbers if one.variable == variable and np.isfinite(one.draws).all()]
        kept = members[:MOST]
        ends = [[float(v) for v in np.quantile(one.draws, [0.025, 0.25, 0.75, 0.975])] for one in kept]
        exact = [
            None if one.exact is None else [float(v) for v in np.quantile(one.exact, [0.025, 0.975])] for one in kept
        ]
        everything = [v for end in ends for v in end] + [v for pair in exact if pair for v in pair]
        if not kept or max(everything) <= min(everything):
            continue
        scale = Scale.around(everything)
        rows: list[Pictured] = []
        for one, (low, inner_low, inner_high, high), pair in zip(kept, ends, exact, strict=True):
            mean = float(one.draws.mean())
            words = f"{number(mean)} ({number(low)} to {number(high)})"
            parts = [(low, high, "wide"), (inner_low, inner_high, "inner")]
            parts += [(pair[0], pair[1], "wide exact")] if pair else []
            rows.append(Pictured(one.name, (words,), interval(scale, parts, mean, label=f"{one.name}: {words}")))
        charts.append(Chart(variable, tuple(rows), scale.ticks(), len(members) - len(kept)))
    return charts


def split_rows(splits: Sequence[Split], outlook: Mapping[str, Sequence[float]], model: Model) -> Chart:
    """Shares of the variance, sampling first, and the widths of ``outlook`` (by name) that more would give."""
    rows: list[Pictured] = []
    for one in splits[:MOST]:
        privacy = one.privacy_share
        percent = f"{privacy:.0%}"
        wider = "–" if one.widening == float("inf") else f"{one.widening:.{1 if one.widening > 2 else 2}f}×"
        strip = shares(
            [(1 - privacy, "share-sampling"), (privacy, "share-privacy")],
            label=f"{one.name}: {percent} of the variance is due to privacy",
        )
        more = tuple(f"{width:.2f}×" for width in outlook.get(one.name, ()))
        rows.append(Pictured(in_words(model, one.name), (percent, wider, *more), strip))
    return Chart("", tuple(rows), Scale(0, 100).ticks(), max(0, len(splits) - MOST))


def widening_sentence(splits: Sequence[Split]) -> str:
    """How much of the intervals' widths there is because of privacy, in one sentence; empty where that is not known."""
    factors = sorted(one.widening for one in splits if math.isfinite(one.widening))
    if not factors:
        return ""
    low, high = (f"{one:.0f}" if one >= 10 else f"{one:.1f}" for one in (factors[0], factors[-1]))
    if high == "1.0":
        return "Privacy makes these intervals hardly wider."
    times = high if low == high else f"{low} to {high}"
    return f"Privacy makes these intervals {times} times as wide as they would be without its noise."


def check_rows(checks: Sequence[ReplicaCheck]) -> Chart:
    """Each released number in standard deviations of what the posterior expects in its place."""
    shown = sorted(checks, key=lambda check: -abs(check.distance))[:MOST] if len(checks) > MOST else list(checks)
    reach = max(3.0, *(abs(check.distance) * 1.05 for check in shown))
    scale = Scale(-reach, reach)
    rows: list[Pictured] = []
    for one in shown:
        outside = abs(one.distance) > 1.96
        strip = interval(
            scale,
            [(-1.96, 1.96, "wide")],
            one.distance,
            label=f"{one.name}: released {number(one.value)}, {one.distance:.1f} sd from what is expected",
            flagged=outside,
        )
        expected_words = f"{number(one.low)} to {number(one.high)}"
        rows.append(Pictured(one.name, (number(one.value), expected_words, _signed(one.distance)), strip))
    return Chart("", tuple(rows), scale.ticks(), len(checks) - len(shown))


def _signed(distance: float) -> str:
    """With its sign, but for what rounds to nothing."""
    return f"{distance:+.1f}" if round(abs(distance), 1) else "0.0"
