"""Sums of a smooth function over many points, as weighted sums over the few nodes of a Chebyshev grid.

On a box the tensor grid of m^d Chebyshev nodes has one polynomial, of degree m - 1 in each variable, through any
values. With l_a the one that is 1 at node a and 0 at the others, sum_i f(x_i) is about sum_a w_a f(node a) with
w_a = sum_i l_a(x_i), whatever f is: the weights are made once, and N points cost no more than m^d. Weights may be
negative. The error is N times that of interpolation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_AT_ONCE = 2**21  # numbers held at once


def axis_nodes(half_width: Any, count: int) -> Any:
    """The nodes (count,) on one axis of a box."""
    return half_width * np.cos(math.pi * (np.arange(count) + 0.5) / count)


def grid_nodes(half_widths: Any, count: int) -> Any:
    """The nodes (count^d, d) of the box with these ``half_widths`` around 0."""
    axes = np.meshgrid(*(axis_nodes(half, count) for half in half_widths), indexing="ij")
    return np.stack([axis.reshape(-1) for axis in axes], axis=1)


def grid_weights(points: Any, half_widths: Any, count: int) -> Any:
    """The weight (count^d,) of each of `grid_nodes` for ``points`` (N, d); points outside are moved to the edge."""
    d = len(half_widths)
    total = np.zeros(count**d)
    rows = max(1, _AT_ONCE // count**d)
    for start in range(0, len(points), rows):
        scaled = np.clip(np.asarray(points[start : start + rows], np.float64) / half_widths, -1.0, 1.0)
        found = np.ones((len(scaled), 1))
        for own in _cardinal(scaled, count).transpose(1, 0, 2):
            found = (found[:, :, None] * own[:, None, :]).reshape(len(scaled), -1)
        total += found.sum(axis=0)
    return total


def _cardinal(scaled: Any, count: int) -> Any:
    """l_a(x) = (1 + 2 sum_k T_k(node a) T_k(x)) / count for ``scaled`` (N, d) in [-1, 1]: an array (N, d, count)."""
    orders, angles = np.arange(count), math.pi * (np.arange(count) + 0.5) / count
    at_nodes = np.cos(orders[:, None] * angles) * np.where(orders, 2, 1)[:, None] / count
    return np.cos(orders * np.arccos(scaled)[..., None]) @ at_nodes
