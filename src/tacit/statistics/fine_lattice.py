"""Numbers as whole numbers on a fine lattice, and exact sums of their products in 64-bit integers.

A mean of a million rows is known to 1e-7 of the bounds where the budget is large, so the lattice must be finer than
that. A cell becomes q with 0 <= q <= Q, Q about 2^24; products of two are at most 2^48, and 2^13 rows of them are added
in 64-bit integers without overflow. What such chunks give is added in Python's integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacit.schema import Number

FINEST = 2**24
CHUNK = 2**13  # rows: their products, of at most FINEST^2 = 2^48 each, add up to 2^61 at most
_WHOLE = 2**20  # a width up to which whole numbers are lattice points


def steps_of(low: float, high: float) -> int:
    """Q, even: a multiple of twice the width where bounds are whole numbers, so that whole cells are met exactly."""
    width = high - low
    if low.is_integer() and high.is_integer() and width <= _WHOLE:
        return FINEST - FINEST % (2 * int(width))
    return FINEST


def whole(values: Any, low: float, high: float, steps: int) -> Any:
    """Cells as 64-bit integers from 0 (``low``) to ``steps`` (``high``). Total: the last two operations round, clamp.

    Proof: that it is total. `Number` has a finite width of 2^-1000 or more and cells lie inside their bounds, so that
    the quotient is a number of about [0, 1]; what is no number, and never arrives, would be taken for ``low``. []
    """
    import numpy as np

    bounds = Number(low, high)
    cells = np.clip(np.nan_to_num(np.asarray(values, np.float64), nan=low), bounds.low, bounds.high)
    places = np.rint((cells - bounds.low) / (bounds.high - bounds.low) * steps)
    return np.clip(places, 0, steps).astype(np.int64)


def chunks(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The columns in pieces of at most `CHUNK` rows."""
    rows = len(next(iter(columns.values())))
    for start in range(0, rows, CHUNK):
        yield {name: values[start : start + CHUNK] for name, values in columns.items()}
