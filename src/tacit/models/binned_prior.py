"""What is believed of a histogram beforehand: flat or peaked anywhere between the bounds, and mostly empty far from it.

Bounds are generous, so that many bins are empty. If all bins were alike a priori, the noise of a score of empty bins
would pass for some rows in each, and move the median towards them. So the shares have a Dirichlet distribution around
those of a beta distribution between the bounds, concentration A g_k with g_k its share of bin k, and which one is
learned: its mean, its sharpness (below 1 it has two peaks at the bounds) and how closely the shares follow it, A, are
as likely to be each of some values. A fiftieth of A is spread over all bins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_MEANS, _SHARPNESSES, _FOLLOWS = 12, 6, (1.5, 6.0)
_FEWER = 256  # cells, from which on half as many means and sharpnesses are tried
_EVERYWHERE = 0.02


@lru_cache(maxsize=32)
def binned_concentrations(places: tuple[float, ...], groups: int) -> Any:
    """The concentrations of all cells that are equally likely, one row each; every group has the same bins."""
    import numpy as np
    from scipy.stats import beta

    part = 2 if groups * (len(places) - 1) > _FEWER else 1
    ends = (np.array(places) - places[0]) / (places[-1] - places[0])
    bins = len(places) - 1
    rows: list[Any] = []
    for mean in 1 / (1 + np.exp(-np.linspace(-4.5, 4.5, _MEANS // part))):
        for sharpness in np.geomspace(0.6, 250.0, _SHARPNESSES // part):
            shares = np.diff(beta.cdf(ends, mean * sharpness, (1 - mean) * sharpness))
            shares = (1 - _EVERYWHERE) * shares / shares.sum() + _EVERYWHERE / bins
            rows += [np.tile(follows * shares / groups, groups) for follows in _FOLLOWS]
    return np.maximum(np.array(rows), 1e-6)
