"""The pictures of a study as inline SVG: ranks counted, and the difference of distribution functions in its band.

They are drawn in the classes of the pages' style, so that they follow light and dark and can be printed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.calibration.bands import Difference, RankHistogram
from tacit.pages.escape import escape
from tacit.pages.svg import tick_text, ticks

_WIDTH, _HEIGHT = 320, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 308, 26, 156


def histogram_svg(name: str, found: RankHistogram) -> str:
    """Bars of ranks from 0 to 1, on the band where one bar lies 95 times in 100."""
    counts = [int(count) for count in found.counts]
    top = 1.15 * max(found.high, *counts)
    width = (_RIGHT - _LEFT) / len(counts)
    parts = [_area([(0.0, found.high), (1.0, found.high)], [(0.0, found.low), (1.0, found.low)], 0.0, top)]
    for i, count in enumerate(counts):
        y = _y(count, 0.0, top)
        parts.append(
            f'<rect style="fill:var(--blue)" x="{_LEFT + (i + 0.1) * width:.1f}" y="{y:.1f}" width="{0.8 * width:.1f}" '
            f'height="{_BOTTOM - y:.1f}" fill-opacity="0.8"/>'
        )
    outside = sum(not found.low <= count <= found.high for count in counts)
    label = f"Ranks of {name}: {outside} of {len(counts)} bars outside the band"
    return _svg(name, label, parts, 0.0, top, "rank of the truth", "trials")


def difference_svg(name: str, found: Difference) -> str:
    """The difference to the uniform distribution, in the band that holds all of it 95 times in 100."""
    reach = 1.15 * max(abs(float(v)) for values in (found.low, found.high, found.values) for v in values)
    places = [float(p) for p in found.places]
    upper = [(p, float(v)) for p, v in zip(places, found.high, strict=True)]
    lower = [(p, float(v)) for p, v in zip(places, found.low, strict=True)]
    curve = [(p, float(v)) for p, v in zip(places, found.values, strict=True)]
    points = " ".join(f"{_x(x):.1f},{_y(y, -reach, reach):.1f}" for x, y in curve)
    parts = [_area(upper, lower, -reach, reach), f'<polyline class="curve" points="{points}"/>']
    where = "stays in" if found.inside else "leaves"
    label = f"Ranks of {name}: the difference to the uniform distribution {where} its band"
    return _svg(name, label, parts, -reach, reach, "rank of the truth", "difference")


def _svg(name: str, label: str, parts: Sequence[str], low: float, high: float, across: str, up: str) -> str:
    frame = [f'<text class="name" x="{_WIDTH // 2}" y="16" text-anchor="middle">{escape(name[:40])}</text>']
    for tick in ticks(low, high, 4):
        y = _y(tick, low, high)
        frame.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>')
        frame.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick_text(tick)}</text>')
    frame.append(f'<path class="axis" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>')
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        frame.append(f'<text x="{_x(tick):.1f}" y="{_BOTTOM + 15}" text-anchor="middle">{tick_text(tick)}</text>')
    middle, centre = (_LEFT + _RIGHT) // 2, (_TOP + _BOTTOM) // 2
    frame.append(f'<text x="{middle}" y="{_HEIGHT - 3}" text-anchor="middle">{escape(across)}</text>')
    frame.append(
        f'<text x="10" y="{centre}" text-anchor="middle" transform="rotate(-90 10 {centre})">{escape(up)}</text>'
    )
    return (
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{''.join(frame)}{''.join(parts)}</svg>"
    )


def _area(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], low: float, high: float) -> str:
    points = " ".join(f"{_x(x):.1f},{_y(y, low, high):.1f}" for x, y in (*upper, *reversed(lower)))
    return f'<polygon class="band" points="{points}"/>'


def _x(x: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * x


def _y(y: float, low: float, high: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (y - low) / (high - low)
