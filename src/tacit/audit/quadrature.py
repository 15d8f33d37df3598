"""The exact distribution of a draw from a density with one term a row, by quadrature in up to three parameters.

Nodes on each axis are those of an even grid as wide as the prior, denser ones around places where a mode may be (fits
to the rows, the draws themselves), and, in three rounds, quantiles of the marginal that the last round found: so narrow
modes far apart get nodes of their own. Where nodes lie changes how well the sum is known and not what it tends to. How
well it is known is measured: the same with every second node left out must be nearly the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.cells import Floats
from tacit.audit.row_laws import MOST_PARAMETERS, potentials, reach
from tacit.mechanisms.posterior_sample.row_loss import RowLoss

_EVEN = {1: 1001, 2: 161, 3: 33}
_QUANTILES = {1: 2000, 2: 400, 3: 56}
_AROUND = {1: 60, 2: 24, 3: 4}  # on each side of a place
_MOST_PLACES = 6
_ROUNDS, _GRADING = 3, 60
_KEPT = 0.2  # of the nodes, spread as the first ones are
WORST = 0.02  # how far a cumulative probability may be from that with half the nodes; beyond, it is not used


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Nodes of each axis, and the log density at all their combinations, in the order of ``numpy.meshgrid``."""

    axes: tuple[Floats, ...]
    log_density: Floats

    @property
    def points(self) -> Floats:
        """All combinations (points, parameters)."""
        return np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, len(self.axes))

    @property
    def mass(self) -> Floats:
        """The probability of each point, on the grid's shape, by the trapezoidal rule."""
        found = np.exp(self.log_density - self.log_density.max())
        for j, axis in enumerate(self.axes):
            shape = [1] * len(self.axes)
            shape[j] = -1
            found = found * _widths(axis).reshape(shape)
        return found / found.sum()

    def marginal(self, j: int) -> tuple[Floats, Floats]:
        """Nodes of one axis and the cumulative probability at each."""
        axis = self.axes[j]
        others = tuple(i for i in range(len(self.axes)) if i != j)
        height = self.mass.sum(axis=others) / _widths(axis)
        steps = np.diff(axis) * (height[1:] + height[:-1]) / 2
        return axis, np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()

    def of(self, statistic: Floats) -> tuple[Floats, Floats]:
        """The values of a statistic, given at all points in order, and the cumulative probability at each."""
        order = np.argsort(statistic)
        mass = self.mass.ravel()[order]
        return statistic[order], np.cumsum(mass) - mass / 2

    @property
    def coarser(self) -> Quadrature:
        """Every second node."""
        keep = tuple(slice(None, None, 2) for _ in self.axes)
        return Quadrature(tuple(axis[::2] for axis in self.axes), self.log_density[keep])


def quadrature(loss: RowLoss, numbers: dict[str, float], rows: Any, places: Floats) -> Quadrature | None:
    """The density of the rows x, y; ``places`` (count, parameters) are where nodes are dense at first.

    None where there are too many parameters, or the prior is not one to go through.
    """
    size = len(loss.parameters)
    ends = [reach(loss, numbers, j) for j in range(size)] if size <= MOST_PARAMETERS else [None]
    widths = [one for one in ends if one is not None]
    if len(widths) < len(ends):
        return None
    start = [_first(size, places[:, j], *one) for j, one in enumerate(widths)]
    axes, found = start, None
    for _ in range(_ROUNDS):
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)
        potential = potentials(loss, numbers, rows, points)
        found = Quadrature(tuple(axes), -potential.reshape([len(axis) for axis in axes]))
        axes = [_next(size, found, j, first) for j, first in enumerate(start)]
    return found


def _first(size: int, places: Floats, low: float, high: float) -> Floats:
    """An even grid, and nodes that get denser towards each place."""
    nodes = [np.linspace(low, high, _EVEN[size])]
    around = np.geomspace(1e-7, 1.0, _AROUND[size]) * (high - low)
    for place in places[:_MOST_PLACES]:
        nodes += [place - around, [place], place + around]
    found = np.unique(np.concatenate(nodes))
    return found[(found >= low) & (found <= high)]


def _next(size: int, found: Quadrature, j: int, first: Floats) -> Floats:
    """Quantiles of a mixture of the marginal and of the first nodes, so that nothing is given up."""
    axis, cumulative = found.marginal(j)
    places = np.unique(np.concatenate([axis, first]))
    share = np.interp(places, first, np.linspace(0, 1, len(first)))
    mixed = (1 - _KEPT) * np.interp(places, axis, cumulative) + _KEPT * share
    return _graded(np.interp(np.linspace(0, 1, _QUANTILES[size]), mixed, places))


def _graded(nodes: Floats) -> Floats:
    """More nodes, until no gap is more than three times as wide as one beside it.

    The trapezoidal rule would put the height of a mode's edge over the whole of a wide gap beside it.
    """
    nodes = np.unique(nodes)
    for _ in range(_GRADING):
        gaps = np.diff(nodes)
        beside = np.minimum(np.append(gaps[1:], np.inf), np.insert(gaps[:-1], 0, np.inf))
        wide = gaps > 3 * np.maximum(beside, 1e-12 * (nodes[-1] - nodes[0]))
        if not wide.any():
            break
        nodes = np.unique(np.concatenate([nodes, (nodes[:-1] + gaps / 3)[wide], (nodes[1:] - gaps / 3)[wide]]))
    return nodes


def _widths(axis: Floats) -> Floats:
    """The weights of the trapezoidal rule."""
    gaps = np.diff(axis)
    return (np.concatenate([[0.0], gaps]) + np.concatenate([gaps, [0.0]])) / 2
