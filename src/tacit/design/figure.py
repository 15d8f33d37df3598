"""Width against budget, one line for each n: what a study looks like."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._support.files import check_writable, write_atomically
from tacit._support.printable import spelled_out
from tacit.errors import expected
from tacit.pages.escape import escape
from tacit.pages.matplotlib_folder import give_matplotlib_a_folder

if TYPE_CHECKING:
    from tacit.design.study import Design

# Dark to light along n, told apart in grey and by the common kinds of colour blindness; markers tell them apart, too.
_COLOURS = ("#123a5a", "#2f6690", "#3e92b5", "#5fb0a5", "#8fbf6a", "#c9a227", "#d9743a", "#b23a48")
_MARKERS = "osD^vPX*"
_MOST_PANELS = 12


def varying(design: Design) -> str:
    """The name of the budget's number that the study varies."""
    return next(name for name in ("epsilon", "rho", "mu") if name in design.plan.budget.parameters())


def figure(design: Design) -> Any:
    """A matplotlib figure: one panel for each number (at most twelve), the width over that of the prior's interval."""
    give_matplotlib_a_folder()
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator

    name = varying(design)
    sizes = sorted({cell.n for cell in design.cells})
    budgets = sorted({getattr(cell.budget, name) for cell in design.cells})
    numbers = [number.name for number in design.cells[0].numbers][:_MOST_PANELS]
    columns = min(3, len(numbers))
    lines = -(-len(numbers) // columns)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.family": "sans-serif"}):
        drawn = Figure(figsize=(max(4.2, 3.1 * columns), 2.5 * lines + 0.9), layout="constrained")
        axes = drawn.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for place, number in enumerate(numbers):
            panel = axes[place // columns][place % columns]
            for i, n in enumerate(sizes):
                found = [
                    (getattr(cell.budget, name), one.to_prior, one.to_prior / one.to_exact)
                    for cell in design.cells
                    if cell.n == n
                    for one in cell.numbers
                    if one.name == number
                ]
                xs, widths, exact = zip(*found, strict=True)
                colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
                panel.plot(xs, widths, color=colour, marker=marker, markersize=4, linewidth=1.6, label=f"n = {n:,}")
                panel.plot(xs, exact, color=colour, linewidth=1, linestyle=(0, (2, 2)))
            panel.axhline(1, color="#777777", linewidth=0.8)
            panel.set_title(spelled_out(number), fontsize=10, parse_math=False)
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_xticks(budgets)
            panel.xaxis.set_minor_locator(NullLocator())
            panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
            panel.yaxis.set_minor_formatter(FuncFormatter(_few))
            panel.tick_params(labelsize=8, which="both")
            panel.grid(visible=True, which="major", color="#e3e6ea", linewidth=0.6)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
        for place in range(len(numbers), lines * columns):
            axes[place // columns][place % columns].set_visible(False)
        for column in range(columns):  # the lowest panel of each column says what runs along it
            last = max(place for place in range(len(numbers)) if place % columns == column)
            panel = axes[last // columns][column]
            panel.set_xlabel(name, fontsize=9)
            panel.tick_params(labelbottom=True)
        drawn.supylabel("95% interval, prior = 1", fontsize=9)
        handles, labels = axes[0][0].get_legend_handles_labels()
        drawn.legend(
            handles,
            labels,
            loc="outside upper center",
            ncols=min(4, len(labels)),
            fontsize=8,
            frameon=False,
            title="dotted: without privacy",
            title_fontsize=8,
        )
    return drawn


def _few(value: float, _position: int) -> str:
    """Labels between powers of ten at 2 and 5 alone."""
    text = f"{value:g}"
    return text if text.strip("0.")[:1] in ("2", "5") and len(text.strip("0.")) == 1 else ""


def check_plot(path: str | Path, *, overwrite: bool) -> str:
    """Refuse now a file that could not be written later; say what kind it is."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise expected("plot", str(path), "to end in .svg or .png")
    check_writable(path, name="plot", overwrite=overwrite)
    return kind


def save_figure(design: Design, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the figure, whole or not at all; the suffix says as what."""
    kind = check_plot(path, overwrite=overwrite)
    return write_atomically(path, _drawn(design, kind), name="plot", overwrite=overwrite)


def as_html(design: Design) -> str:
    """The advice, the figure and the table, for a notebook."""
    rows = design.table()
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(v))}</td>' for v in row.values())}</tr>" for row in rows)
    picture = _drawn(design, "svg").decode()
    return (
        f"<p>{escape(design.advice())}</p>{picture[picture.index('<svg') :]}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _drawn(design: Design, kind: str) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # in SVG the text stays text: the reader has the fonts
        metadata = {"Date": None} if kind == "svg" else None
        figure(design).savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
