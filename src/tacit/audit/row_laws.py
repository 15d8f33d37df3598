"""The exact law of a draw from a density with one term a row, on a grid of its few parameters.

Two data sets that differ in one record have densities whose ratio is exp(weight * (l(theta, b) - l(theta, a))) times a
constant. On an even grid that is fine against both densities the normalised weights are the two laws, up to an error
that falls faster than any power of the spacing for smooth densities.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.audit.cells import Cells, Floats, finite_cells
from tacit.mechanisms.posterior_sample.row_loss import RowLoss

_POINTS = {1: 4001, 2: 401, 3: 101}
MOST_PARAMETERS = max(_POINTS)
_BLOCK, _ROWS = 2**13, 16  # points and rows at a time
_RISE = 32.0  # of the prior's potential: beyond, its density is below e^-32 of its peak


def grid(loss: RowLoss, numbers: dict[str, float]) -> Floats | None:
    """An even grid (points, parameters) as wide as the prior: on each axis to where V has risen by 32.

    For a normal prior that is 8 standard deviations. None where there are too many parameters, or where V is
    not finite at 0. Points outside the prior's support are left out.
    """
    size = len(loss.parameters)
    ends = [reach(loss, numbers, i) for i in range(size)] if size <= MOST_PARAMETERS else [None]
    if any(one is None for one in ends):
        return None
    axes = [np.linspace(*one, _POINTS[size]) for one in ends if one is not None]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)
    return points[np.isfinite(prior_terms(loss, numbers, points))]


def reach(loss: RowLoss, numbers: dict[str, float], axis: int) -> tuple[float, float] | None:
    """Where V along one axis, from 0, has risen by 32 above its least value, on either side."""
    steps = np.concatenate([-np.geomspace(1e3, 1e-2, 120), [0.0], np.geomspace(1e-2, 1e3, 120)])
    thetas = np.zeros((len(steps), len(loss.parameters)))
    thetas[:, axis] = steps
    values = prior_terms(loss, numbers, thetas)
    values = np.where(np.isfinite(values), values, np.inf)  # beyond a bound there is no prior
    if not np.isfinite(values[len(steps) // 2]):
        return None
    inside = np.flatnonzero(values - values.min() < _RISE)
    low, high = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, len(steps) - 1)
    return float(steps[low]), float(steps[high])


def record_terms(loss: RowLoss, numbers: dict[str, float], rows: Any, thetas: Floats) -> Floats:
    """weight * l(theta, row) for all thetas (points,) and rows: an array (rows, points)."""
    x, y = rows
    spare = -len(y) % _ROWS
    x, y = np.concatenate([x, np.repeat(x[:1], spare, axis=0)]), np.concatenate([y, np.repeat(y[:1], spare)])
    found = _in_blocks(_compiled(loss, tuple(sorted(numbers.items())))[0], thetas, (x, y))
    return numbers["weight"] * found[:, : len(y) - spare].T


def potentials(loss: RowLoss, numbers: dict[str, float], rows: Any, thetas: Floats) -> Floats:
    """U(theta) of the rows x, y at every point; infinite where it is not a number."""
    x, y = rows
    different, counts = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
    spare = -len(different) % _ROWS
    different = np.concatenate([different, np.repeat(different[:1], spare, axis=0)])
    times = np.concatenate([counts, np.zeros(spare)]) * numbers["weight"]
    every = _compiled(loss, tuple(sorted(numbers.items())))[2]
    found = _in_blocks(every, thetas, (different[:, :-1], different[:, -1], times))
    return np.where(np.isnan(found), np.inf, found)


def prior_terms(loss: RowLoss, numbers: dict[str, float], thetas: Floats) -> Floats:
    """V(theta) at every point."""
    return _in_blocks(_compiled(loss, tuple(sorted(numbers.items())))[1], thetas, ())


@lru_cache(maxsize=32)
def _compiled(loss: RowLoss, numbers: tuple[tuple[str, float], ...]) -> tuple[Any, Any, Any]:
    """The losses of rows, V and U at many points; compiled once for a loss, as blocks have one size."""
    import jax

    given = dict(numbers)
    terms = jax.jit(lambda thetas, x, y: jax.vmap(lambda theta: loss.record_losses(theta, x, y, given))(thetas))
    prior = jax.jit(jax.vmap(lambda theta: loss.prior_potential(theta, given)))
    return terms, prior, jax.jit(lambda thetas, x, y, times: terms(thetas, x, y) @ times + prior(thetas))


def _in_blocks(every: Any, thetas: Floats, rows: Any) -> Floats:
    import jax

    spare = -len(thetas) % _BLOCK
    padded = np.concatenate([thetas, np.repeat(thetas[:1], spare, axis=0)])
    with jax.enable_x64(True), np.errstate(all="ignore"):
        found = [np.asarray(every(padded[i : i + _BLOCK], *rows)) for i in range(0, len(padded), _BLOCK)]
    return np.concatenate(found)[: len(thetas)]


def row_cells(first: Floats, second: Floats) -> Cells:
    """The two laws side by side, from the potentials U(theta) at all points of the grid."""
    return finite_cells(_normalised(-first), _normalised(-second))


def _normalised(log_weights: Floats) -> Floats:
    peak = float(log_weights.max())
    return log_weights - peak - math.log(float(np.exp(log_weights - peak).sum()))
