"""Text in a page: what a stranger's file names is neither markup nor a character that is not shown as itself."""

from __future__ import annotations

import html
from typing import Any

from tacit._support.printable import spelled_out


def escape(text: str) -> str:
    """The text for HTML and SVG."""
    return html.escape(shown_as_itself(text))


def shown_as_itself(value: Any) -> Any:
    """The text with unprintable characters spelled out but for ends of lines, which a page takes for a space.

    Markup, and whatever is no text, stays as it is.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(map(spelled_out, value.split("\n")))
