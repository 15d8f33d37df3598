"""Points that are spread evenly over the unit cube, the same on every machine: an additive recurrence.

Point k has the coordinates 1/2 + k g^-j modulo 1, j = 1, ..., d, where g is the root above 1 of g^(d + 1) = g + 1: the
golden ratio for d = 1 (Roberts 2018).
"""

from __future__ import annotations

from typing import Any


def even_points(dimensions: int, count: int) -> Any:
    """``count`` points (count, dimensions) strictly between 0 and 1."""
    import numpy as np

    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    return (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0
