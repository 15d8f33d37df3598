"""Declared edges of bins: public numbers, never read from rows."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from tacit.errors import expected
from tacit.schema import Schema
from tacit.statistics.cell_table import Bins

MOST_BINS = 1024
ASKED = {"asks": "numbers inside the bounds, with commas between them", "list": True}
"""What `tacit init` asks."""


def checked_edges(edges: Any) -> tuple[float, ...]:
    """Edges as a model keeps them: numbers that rise."""
    if not isinstance(edges, list | tuple) or not 1 <= len(edges) <= MOST_BINS + 1:
        raise expected("edges", edges, f"to be a list of 1 to {MOST_BINS + 1} numbers")
    if not all(isinstance(e, int | float) and not isinstance(e, bool) and math.isfinite(e) for e in edges):
        raise expected("edges", edges, "to be finite numbers")
    found = tuple(float(e) for e in edges)
    if any(a >= b for a, b in pairwise(found)):
        raise expected("edges", edges, "to rise from each to the next")
    return found


def bins_of(column: str, edges: tuple[float, ...], schema: Schema, *, ends: bool = False) -> Bins:
    """The bins between the bounds of the column; the bounds are edges whether they were said or not."""
    bounds = schema.number(column)
    if edges[0] < bounds.low or edges[-1] > bounds.high:
        raise expected("edges", list(edges), f"to lie in the bounds of column {column!r}, {(bounds.low, bounds.high)}")
    inner = tuple(e for e in edges if bounds.low < e < bounds.high)
    if not inner:
        raise expected("edges", list(edges), f"to have at least one inside the bounds of column {column!r}")
    return Bins(column, (bounds.low, *inner, bounds.high), ends)


def plain_edges(edges: tuple[float, ...]) -> list[float]:
    """As they stand in a plan file: whole ones without a point."""
    return [int(e) if e.is_integer() and abs(e) < 2**53 else e for e in edges]
