"""What every page shares: one template to extend, one style, one script. A page is one file that fetches nothing.

A page of its own is a Jinja template that starts with ``{% extends "base.html.j2" %}`` and fills the block ``content``;
`render` puts in the style, the script and the version. Plots come from `tacit.pages.svg` (curves) and
`tacit.pages.interval_rows` (rows on a shared scale); both take plain numbers, so that any page can use them. The
classes of ``style.css`` are the vocabulary: ``box``, ``box warn``, ``box good``, ``soft``, ``scroll`` around a wide
table, ``words`` for a table of text, ``plots`` for a grid of figures.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from tacit.pages.escape import shown_as_itself
from tacit.version import __version__


def render(template: str, /, **context: Any) -> str:
    """The page that ``template``, the text of a Jinja template, makes of ``context``. Everything is escaped."""
    return (
        _environment()
        .from_string(template)
        .render(style=_text("style.css"), script=_text("plots.js"), version=__version__, **context)
    )


def number(value: float) -> str:
    """A number for people: four digits, or whole with separators from ten thousand on."""
    if value != value:
        return "–"
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def plain(value: Any) -> str:
    """A number, or a list of them, with as many digits as say it; anything else as text."""
    if isinstance(value, list):
        return f"[{', '.join(map(plain, value))}]"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


@lru_cache(maxsize=1)
def _environment() -> Any:
    import jinja2

    shared = jinja2.FunctionLoader(lambda name: _text(name) if name == "base.html.j2" else None)
    environment = jinja2.Environment(
        autoescape=True,
        finalize=shown_as_itself,
        undefined=jinja2.StrictUndefined,
        loader=shared,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "plain": plain}
    return environment


def _text(name: str) -> str:
    return files("tacit.pages").joinpath(name).read_text("utf-8")
