"""A curve as inline SVG: axes with round ticks, bands, lines, a read-out. Colours are classes of ``style.css``.

Inline SVG in CSS variables follows light and dark, prints, scales, and needs no script to be seen. The read-out is data
for ``plots.js``: one line of text for each of evenly spaced places along the x axis.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.pages.escape import escape, shown_as_itself

WIDTH, HEIGHT = 320, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 12, 308, 26, 176


@dataclass(frozen=True)
class Line:
    """Points joined by a line; ``style`` is a class beside ``curve``."""

    x: Sequence[float]
    y: Sequence[float]
    style: str = ""


@dataclass(frozen=True)
class Ribbon:
    """The area between two lines over the same places."""

    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True)
class Mark:
    """A vertical line at ``x``."""

    x: float
    style: str = "middle"


@dataclass(frozen=True)
class Bar:
    """A bar from ``low`` to ``high``."""

    low: float
    high: float
    height: float
    style: str = ""


@dataclass(frozen=True)
class Plot:
    """A picture with one x axis from ``low`` to ``high`` and heights from ``bottom`` to ``top``.

    ``bands`` are lines with the area beneath them filled, ``ribbons`` areas between two lines. ``label`` says in words
    what is to be seen, for those who cannot see it. ``texts`` are the read-outs at evenly spaced places from ``low`` to
    ``high``. ``across`` and ``up`` name the axes; with ``up`` the heights get ticks as well. Where places are
    logarithms of ratios (``ratio``) the ticks say the ratios.
    """

    name: str
    label: str
    low: float
    high: float
    top: float
    lines: Sequence[Line] = ()
    bands: Sequence[Line] = ()
    ribbons: Sequence[Ribbon] = ()
    bars: Sequence[Bar] = ()
    marks: Sequence[Mark] = ()
    texts: Sequence[str] = field(default=())
    across: str = ""
    up: str = ""
    bottom: float = 0.0
    ratio: bool = False

    def svg(self) -> str:
        """The markup; every text in it is escaped."""
        parts = [*self._frame()]
        parts += [f'<polygon class="band" points="{self._points(band, closed=True)}"/>' for band in self.bands]
        for one in self.ribbons:
            edge = Line([*one.x, *reversed(one.x)], [*one.high, *reversed(one.low)])
            parts.append(f'<polygon class="band" points="{self._points(edge)}"/>')
        parts += [self._bar(bar) for bar in self.bars]
        parts += [
            f'<polyline class="curve {escape(line.style)}" points="{self._points(line)}"/>' for line in self.lines
        ]
        parts += [_vertical(self._x(mark.x), mark.style) for mark in self.marks if self.low <= mark.x <= self.high]
        read = ""
        if self.texts:
            data = {
                "left": self._left,
                "right": _RIGHT,
                "low": self.low,
                "high": self.high,
                "texts": [*map(shown_as_itself, self.texts)],
            }
            read = f' tabindex="0" data-read="{escape(json.dumps(data, ensure_ascii=False))}"'
            parts.append(_vertical(self._left, "cursor"))
        height = HEIGHT if self.across else HEIGHT - 12
        label = escape(self.label)
        return (
            f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}"{read}>'
            f"{''.join(parts)}</svg>"
        )

    @property
    def _left(self) -> int:
        return 44 if self.up else _LEFT

    def _frame(self) -> list[str]:
        found = [
            f'<text class="name" x="{WIDTH // 2}" y="16" text-anchor="middle">{escape(_cut(self.name, 40))}</text>',
            f'<path class="axis" d="M{self._left} {_BOTTOM}H{_RIGHT}"/>',
        ]
        if self.ratio:
            places = [(math.log(tick), tick_text(tick)) for tick in ratio_ticks(self.low, self.high)]
        else:
            places = [(tick, tick_text(tick)) for tick in ticks(self.low, self.high, 5)]
            if sum(len(text) for _, text in places) > _MOST_TICK_TEXT:
                places = [(tick, tick_text(tick)) for tick in ticks(self.low, self.high, 3)]
        for tick, text in places:
            x = self._x(tick)
            anchor = "start" if x < self._left + 14 else "end" if x > _RIGHT - 14 else "middle"
            found.append(f'<path class="axis" d="M{x:.1f} {_BOTTOM}v4"/>')
            found.append(f'<text x="{x:.1f}" y="{_BOTTOM + 17}" text-anchor="{anchor}">{text}</text>')
        if self.across:
            middle = (self._left + _RIGHT) // 2
            found.append(f'<text x="{middle}" y="{HEIGHT - 3}" text-anchor="middle">{escape(self.across)}</text>')
        if self.up:
            for tick in ticks(self.bottom, self.top, 4):
                y = self._y(tick)
                found.append(f'<path class="grid" d="M{self._left} {y:.1f}H{_RIGHT}"/>')
                found.append(f'<text x="{self._left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick_text(tick)}</text>')
            middle = (_TOP + _BOTTOM) // 2
            found.append(
                f'<text x="10" y="{middle}" text-anchor="middle" transform="rotate(-90 10 {middle})">'
                f"{escape(self.up)}</text>"
            )
        return found

    def _bar(self, bar: Bar) -> str:
        left, right, top = self._x(bar.low), self._x(bar.high), self._y(bar.height)
        return (
            f'<rect class="bar {escape(bar.style)}" x="{left:.1f}" y="{top:.1f}" width="{max(0.5, right - left):.1f}" '
            f'height="{_BOTTOM - top:.1f}"/>'
        )

    def _points(self, line: Line, *, closed: bool = False) -> str:
        inside = [(self._x(x), self._y(y)) for x, y in zip(line.x, line.y, strict=True) if self.low <= x <= self.high]
        if closed and inside:
            inside = [(inside[0][0], _BOTTOM), *inside, (inside[-1][0], _BOTTOM)]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in inside)

    def _x(self, x: float) -> float:
        return self._left + (_RIGHT - self._left) * (x - self.low) / (self.high - self.low)

    def _y(self, y: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * min(max((y - self.bottom) / (self.top - self.bottom), 0.0), 1.0)


_MOST_TICK_TEXT = 28  # characters that stand beneath an axis side by side


def _vertical(x: float, style: str) -> str:
    return f'<line class="{escape(style)}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>'


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most ``most`` round numbers from ``low`` to ``high``: multiples of 1, 2 or 5 times a power of ten."""
    width = high - low
    if not (math.isfinite(width) and width > 0):
        return []
    power = 10.0 ** math.floor(math.log10(width / most))
    step = next(power * m for m in (1, 2, 5, 10, 20) if width / (power * m) < most)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def ratio_ticks(low: float, high: float) -> list[float]:
    """Round ratios on a logarithmic axis that is from ``low`` to ``high`` in logarithms.

    Evenly spaced ones where it is short, else 1, 2, 5 or powers of ten.
    """
    low, high = math.exp(max(low, -300.0)), math.exp(min(high, 300.0))
    if high / low < 4:
        return [tick for tick in ticks(low, high, 5) if tick > 0]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [m * 10.0**k for k in powers for m in steps if low <= m * 10.0**k <= high]
        if len(found) <= 6:
            return found
    apart = -(-len(powers) // 5)
    return [10.0**k for k in powers if k % apart == 0 and low <= 10.0**k <= high]


def tick_text(value: float) -> str:
    """A tick's number, short."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 and value == round(value) else f"{value:.4g}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
