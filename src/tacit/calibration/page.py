"""A study of calibration as one HTML page that needs nothing but itself."""

from __future__ import annotations

from importlib.resources import files

from tacit.calibration.bands import difference, histogram
from tacit.calibration.figures import difference_svg, histogram_svg
from tacit.calibration.study import Study
from tacit.pages.render import render

_MOST = 30


def study_page(study: Study) -> str:
    """The page as text."""
    positions = study.found.positions()
    drawn = dict(list(positions.items())[:_MOST])
    rows = study.rows(study.found)
    return render(
        files("tacit.calibration").joinpath("page.html.j2").read_text("utf-8"),
        title=f"Calibration: {study.verdict}",
        study=study,
        rows=rows,
        widths=any(row["width"] is not None for row in rows),
        ranks=[histogram_svg(name, histogram(place)) for name, place in drawn.items()],
        differences=[difference_svg(name, difference(place)) for name, place in drawn.items()],
        left_out=len(positions) - len(drawn),
    )
