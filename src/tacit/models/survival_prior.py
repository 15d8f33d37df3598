"""What is believed of a survival curve beforehand: hazards that change smoothly with time.

The shares of cells of `Exits` have a Dirichlet distribution around those of a smooth curve, concentration A g. Given
A the hazard of interval k is Beta(A g_k, A times what is left after it): it is pulled to a smooth one, the more the
larger A is (a Dirichlet process around a parametric curve, Susarla and Van Ryzin 1976, on intervals). The curve is a
Weibull distribution for the event and another for leaving without it, and which ones, and A, are learned: they are as
likely to be each of some values. A hundredth of A is spread over all cells.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

_MEDIANS = (0.03, 0.06, 0.1, 0.16, 0.24, 0.34, 0.48, 0.68, 1.0, 1.6, 3.2, 12.0)  # of the event, over the longest time
_SHAPES = (0.6, 0.9, 1.3, 2.0)
_LEFT, _LEFT_SHAPES = (0.3, 0.7, 1.5, 4.0, 30.0), (1.0, 2.2)
_FOLLOWS = (3.0, 12.0, 50.0)
_EVERYWHERE, _FINE = 0.01, 16


@lru_cache(maxsize=32)
def survival_concentrations(edges: tuple[float, ...], groups: int) -> Any:
    """The concentrations of all cells that are equally likely, one row each; every group has the same curve."""
    import numpy as np

    times = (np.array(edges) - edges[0]) / (edges[-1] - edges[0])
    fine = np.interp(np.arange((len(times) - 1) * _FINE + 1) / _FINE, np.arange(len(times)), times)
    cells = 2 * len(times) - 1
    rows: list[Any] = []
    for (median, shape), (late, kind) in product(product(_MEDIANS, _SHAPES), product(_LEFT, _LEFT_SHAPES)):
        event, left = np.log(2) * (fine / median) ** shape, np.log(2) * (fine / late) ** kind
        both = np.diff(event) + np.diff(left)
        gone = -np.diff(np.exp(-event - left))
        parts = [gone * np.diff(one) / np.maximum(both, 1e-300) for one in (event, left)]
        shares = [part.reshape(-1, _FINE).sum(axis=1) for part in parts]
        whole = np.concatenate([*shares, [np.exp(-event[-1] - left[-1])]])
        whole = (1 - _EVERYWHERE) * whole / whole.sum() + _EVERYWHERE / cells
        rows += [np.tile(follows * whole / groups, groups) for follows in _FOLLOWS]
    return np.array(rows)
