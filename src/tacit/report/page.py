"""A posterior as one HTML page that needs nothing but itself."""

from __future__ import annotations

import io
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit.files import write_atomically
from tacit.models.regression import Regression
from tacit.posterior import Posterior, PriorRow, Row

_BLUE, _GREY = "#2f6690", "#9aa5b1"


def report(posterior: Posterior | str | Path) -> str:
    """The page as text. `write_report` puts it into a file."""
    import jinja2

    from tacit.version import __version__

    if not isinstance(posterior, Posterior):
        posterior = Posterior.load(posterior)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(files("tacit.report").joinpath("page.html.j2").read_text("utf-8"))
    return template.render(
        releases=posterior.releases,
        surveys=posterior.surveys,
        datasets=list(dict.fromkeys(one.dataset for one in posterior.evidence)),
        posterior=posterior,
        rows=posterior.summary(),
        coefficients=_coefficients(posterior),
        warnings=posterior.warnings(),
        figure=_figure(posterior),
        version=__version__,
    )


def _coefficients(posterior: Posterior) -> list[tuple[Row, PriorRow]]:
    """A regression's coefficients in the units of the data, each with its prior; none for other families."""
    if not isinstance(posterior.plan.model, Regression):
        return []
    return list(zip(posterior.coefficients(), posterior.prior_coefficients(), strict=True))


def write_report(posterior: Posterior | str | Path, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the page to a file."""
    return write_atomically(path, report(posterior).encode(), name="report", overwrite=overwrite)


def _figure(posterior: Posterior) -> str:
    """One density a number, its 95% interval shaded, as inline SVG."""
    import matplotlib
    import numpy as np
    from matplotlib.figure import Figure

    numbers = [(name, values, edges) for name, values in _numbers(posterior) if (edges := _bins(values)) is not None]
    if not numbers:
        return ""
    columns = min(3, len(numbers))
    lines = -(-len(numbers) // columns)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.family": "sans-serif"}):
        figure = Figure(figsize=(3.2 * columns, 2.2 * lines), layout="constrained")
        for place, (name, values, edges) in enumerate(numbers):
            axes = figure.add_subplot(lines, columns, place + 1)
            heights, _ = np.histogram(values, bins=edges, density=True)
            left, right = np.quantile(values, [0.025, 0.975])
            middles = (edges[1:] + edges[:-1]) / 2
            inside = (middles >= left) & (middles <= right)
            axes.bar(middles, heights, width=np.diff(edges) * 1.01, color=np.where(inside, _BLUE, _GREY).tolist())
            axes.axvline(float(values.mean()), color="black", linewidth=1)
            axes.set_title(name, fontsize=10, parse_math=False)
            axes.set_yticks([])
            axes.tick_params(labelsize=8)
            for side in ("top", "left", "right"):
                axes.spines[side].set_visible(False)
        buffer = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # the text stays text: the browser has the fonts
            figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _bins(values: Any) -> Any:
    """The edges of about 40 bins, whole ones for whole numbers; None where the draws cannot be told apart or drawn."""
    import numpy as np

    if not np.isfinite(values).all():
        return None
    low, high = np.quantile(values, [0.001, 0.999])
    with np.errstate(over="ignore"):
        if whole := bool(np.all(values == np.round(values))):
            width = max(1.0, np.ceil((high - low) / 40))
        else:
            width = (high - low) / 40 or 1.0
        edges = low - width + width * np.arange(44) - (0.5 if whole else 0.0)
    edges = edges[: np.searchsorted(edges, high + 2 * width)]
    return edges if len(edges) > 1 and np.isfinite(edges).all() and (np.diff(edges) > 0).all() else None


def _numbers(posterior: Posterior) -> list[tuple[str, Any]]:
    """Every number of every parameter with its draws, in the order of the summary."""
    found: list[tuple[str, Any]] = []
    names = iter(row.name for row in posterior.summary())
    for variable in posterior.tree["posterior"].data_vars:
        values = posterior.draws(str(variable))
        for column in values.reshape(len(values), -1).T:
            found.append((next(names), column))
    return found[:30]
