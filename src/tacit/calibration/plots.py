"""The pictures of a study as files, for papers and slides."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit._support.files import check_writable, write_atomically
from tacit._support.printable import spelled_out
from tacit.calibration.bands import difference, histogram
from tacit.calibration.study import Study
from tacit.errors import expected
from tacit.pages.matplotlib_folder import give_matplotlib_a_folder

MOST = 30  # numbers that are drawn
_BLUE, _BAND, _SOFT = "#1f5f94", "#bcd5ea", "#55606d"


def check_plots(folder: str | Path, *, overwrite: bool) -> None:
    """Refuse now what would fail later: no folder and none that can be made, or pictures that are already there."""
    place = Path(folder)
    if place.is_dir():
        for name in _DRAWN:
            for kind in _KINDS:
                check_writable(place / f"{name}.{kind}", name="plot", overwrite=overwrite)
    nearest = next((path for path in (place, *place.absolute().parents) if os.path.lexists(path)), place)
    if not nearest.is_dir():
        raise expected("plot", str(folder), "to be a folder, or one that can be made")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise expected("plot", str(folder), "to be writable")


def write_plots(study: Study, folder: str | Path, *, overwrite: bool = False) -> list[Path]:
    """``ranks`` and ``differences``, each as SVG and PNG, in a folder that is made if it is not there."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, draw in _DRAWN.items():
        for kind in _KINDS:
            data = _picture(study, draw, kind)
            written.append(write_atomically(place / f"{name}.{kind}", data, name="plot", overwrite=overwrite))
    return written


def _picture(study: Study, draw: Callable[[Any, Any], None], kind: str) -> bytes:
    give_matplotlib_a_folder()
    import matplotlib
    from matplotlib.figure import Figure

    positions = dict(list(study.found.positions().items())[:MOST])
    columns = min(3, len(positions))
    lines = -(-len(positions) // columns)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.family": "sans-serif"}):
        figure = Figure(figsize=(3.2 * columns, 2.2 * lines), layout="constrained")
        for i, (name, place) in enumerate(positions.items()):
            axes = figure.add_subplot(lines, columns, i + 1)
            draw(axes, place)
            axes.set_title(spelled_out(name), fontsize=10, parse_math=False)
            axes.tick_params(labelsize=8, colors=_SOFT)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {})
    return buffer.getvalue()


def _draw_ranks(axes: Any, place: Any) -> None:
    found = histogram(place)
    width = 1 / len(found.counts)
    axes.axhspan(found.low, found.high, color=_BAND, linewidth=0)
    axes.bar([(i + 0.5) * width for i in range(len(found.counts))], found.counts, width=0.85 * width, color=_BLUE)
    axes.set_xlim(0, 1)


def _draw_difference(axes: Any, place: Any) -> None:
    found = difference(place)
    axes.fill_between(found.places, found.low, found.high, color=_BAND, linewidth=0)
    axes.plot(found.places, found.values, color=_BLUE, linewidth=1.2)
    axes.set_xlim(0, 1)


_KINDS = ("svg", "png")
_DRAWN = {"ranks": _draw_ranks, "differences": _draw_difference}
