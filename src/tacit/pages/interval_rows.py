"""Rows on a shared scale: intervals, dots and stacked shares beside text, as table cells that stretch with the page.

A strip is an SVG of 1000 by 24 that is stretched to its cell; only lines and rectangles are in it, so nothing is
distorted. The scale below is text, placed by percentages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.pages.escape import escape
from tacit.pages.svg import tick_text, ticks

_WIDTH, _HEIGHT = 1000, 24


@dataclass(frozen=True)
class Scale:
    """The numbers from ``low`` to ``high``, left to right."""

    low: float
    high: float

    @classmethod
    def around(cls, numbers: list[float]) -> Scale:
        """A scale that holds all the numbers, with a little room."""
        low, high = min(numbers), max(numbers)
        room = 0.04 * (high - low) or abs(high) or 1.0
        return cls(low - room, high + room)

    def place(self, value: float) -> float:
        """Where ``value`` stands, from 0 to 1000; beyond an end it stands at that end."""
        return _WIDTH * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def ticks(self, most: int = 5) -> str:
        """The scale itself, to stand in the last row."""
        return self.labelled([(tick, tick_text(tick)) for tick in ticks(self.low, self.high, most)])

    def labelled(self, places: Sequence[tuple[float, str]]) -> str:
        """The same with texts of one's own, each at its number."""
        spans: list[str] = []
        for tick, text in places:
            place = self.place(tick) / _WIDTH
            edge = 0.01 + 0.008 * len(text)  # nearer to an end the text would stick out
            shift = 0 if place < edge else -100 if place > 1 - edge else -50
            spans.append(f'<span style="left:{place:.1%};transform:translateX({shift}%)">{escape(text)}</span>')
        return f'<div class="ticks" aria-hidden="true">{"".join(spans)}</div>'


def interval(
    scale: Scale,
    parts: list[tuple[float, float, str]],
    dot: float,
    *,
    label: str,
    flagged: bool = False,
    behind: tuple[float, float] | None = None,
    truth: float | None = None,
) -> str:
    """Intervals, each with its class (``wide``, ``inner``, ...), and a dot; ``label`` is said to those who cannot see.

    Intervals stand beneath one another, but ``inner`` lies on the one before it. A ``flagged`` dot has another colour.
    A faint line ``behind`` them is the prior; an upright one is the ``truth``.
    """
    marks: list[str] = []
    if behind is not None:
        low, high = map(scale.place, behind)
        marks.append(f'<line class="before" x1="{low:.1f}" x2="{high:.1f}" y1="21" y2="21"/>')
    if truth is not None:
        marks.append(_upright(scale.place(truth), "truth", 0, _HEIGHT))
    if scale.low < 0 < scale.high:
        marks.append(_upright(scale.place(0), "zero", 0, _HEIGHT))
    step = _HEIGHT / (len({style for _, _, style in parts if style != "inner"}) + 1)
    level = 0.0
    for low, high, style in parts:
        level = level if style == "inner" else level + step
        marks.append(
            f'<line class="{escape(style)}" x1="{scale.place(low):.1f}" x2="{scale.place(high):.1f}" '
            f'y1="{level:.1f}" y2="{level:.1f}"/>'
        )
    marks.append(_upright(scale.place(dot), "dot outside" if flagged else "dot", 4, _HEIGHT - 4))
    return _strip(marks, label)


def shares(parts: list[tuple[float, str]], *, label: str) -> str:
    """Parts of a whole side by side, each a share from 0 to 1 with its class."""
    marks: list[str] = []
    start = 0.0
    for share, style in parts:
        marks.append(
            f'<rect class="{escape(style)}" x="{_WIDTH * start:.1f}" y="4" width="{_WIDTH * share:.1f}" height="16"/>'
        )
        start += share
    return _strip(marks, label)


def _upright(x: float, style: str, top: float, bottom: float) -> str:
    return f'<line class="{escape(style)}" x1="{x:.1f}" x2="{x:.1f}" y1="{top:g}" y2="{bottom:g}"/>'


def _strip(marks: list[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f"{''.join(marks)}</svg>"
    )
