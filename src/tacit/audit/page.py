"""An audit as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tacit.pages.render import number, render
from tacit.pages.svg import Line, Plot

if TYPE_CHECKING:
    from tacit.audit.audit import Audit


def audit_page(audit: Audit) -> str:
    """The page as text."""
    return render(
        files("tacit.audit").joinpath("page.html.j2").read_text("utf-8"),
        title=f"Audit: {audit.verdict}",
        audit=audit,
        figure=_figure(audit),
        pair=_pair(audit.witness),
    )


def _figure(audit: Audit) -> str:
    """The curve of the worst pair beside the stated one, where it was computed."""
    drawn = next((check.figures["curve"] for check in audit.checks if "curve" in check.figures), None)
    if drawn is None:
        return ""
    epsilons, needed, stated = drawn["epsilon"], drawn["needed"], drawn["stated"]
    top = max(*needed, *stated) or 1.0
    worst = max(epsilons, key=lambda e: needed[epsilons.index(e)] - stated[epsilons.index(e)])
    return Plot(
        name="privacy curve",
        label=f"What the worst pair needs and what is stated; closest, or furthest over, at epsilon {worst:.3g}",
        low=0.0,
        high=epsilons[-1],
        top=1.05 * top,
        lines=[Line(epsilons, stated, "prior"), Line(epsilons, needed)],
        texts=[
            f"epsilon {e:.3g}: needs delta {a:.3g}, stated {b:.3g}"
            for e, a, b in zip(epsilons, needed, stated, strict=True)
        ],
        across="epsilon",
        up="delta",
    ).svg()


def _pair(witness: Any) -> list[tuple[str, str, str]]:
    if witness is None or not all(isinstance(one, Mapping) for one in witness):
        return []
    first, second = witness
    return [(str(name), _cell(first[name]), _cell(second.get(name))) for name in first]


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
