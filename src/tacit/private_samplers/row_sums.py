"""Exact sums of bounded whole vectors, one for each row, over the rows that were taken: what noisy steps add noise to.

A row's vector v(state, row) is computed in floating point, clipped to the length ``bound``, multiplied by
radius / bound, rounded TOWARDS ZERO to whole numbers, and then checked in whole numbers: if its squares add up to more
than radius^2, or if anything about it is not finite, it counts as 0. So its norm is at most ``radius`` whatever
floating point did. Sums of whole numbers are exact in any order.

Lanes. Row i is always computed in lane i mod ``LANES`` of a program of fixed shape, whichever rows are taken with it;
lanes without a row hold row 0, and what comes out of them is thrown away. No operation of the program mixes lanes
before the whole numbers are added. So the whole vector of row i is a function of i, its own cells, the state and the
bound: it does not depend on which other rows are taken, how many there are, or what they hold. The price needs that: if
leaving a row out could move another row's rounding, the sum would move by more than one vector.

Proof: of the sensitivity. Given the coins and the past, replacing row i changes one whole vector of the sum, of norm at
most ``radius`` before and after, and no other: the two sums differ as `SubsampledGaussian` says. []
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import expected
from tacit.noise.noisy_steps import RADIUS
from tacit.runtime.backend import float64

LANES = 64
_SHRINK = 1 - 2.0**-40  # so that rounding errors of the length do not fail the check


class RowSums:
    """Sums over rows of ``vector(state, x, y) -> (size,)``, a pure JAX function of one row (x (columns,), y a number).

    ``vector`` must be a value (a frozen dataclass with ``__call__``, say): programs are compiled once for each. ``x``
    and ``y`` are arguments of the program and never a part of it. ``state`` is any tree of numbers and arrays, of
    one shape.
    """

    def __init__(self, vector: Any, x: Any, y: Any, size: int, radius: int = RADIUS) -> None:
        if size * radius**2 >= 2**62:
            raise expected("size", size, "to be smaller: squares of whole vectors must fit 64 bits")
        self._size, self._radius, self._program = size, radius, _program(vector)
        with float64():
            self._x, self._y = jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64)

    def add(self, state: Any, bound: float, taken: Any) -> Any:
        """The sum of the rows numbered ``taken``, int64 (size,); a 1 in it is bound / radius."""
        total = np.zeros(self._size, np.int64)
        plan = in_lanes(taken)
        with float64():
            for first in range(0, len(plan), _BLOCKS):
                part = plan[first : first + _BLOCKS]
                rows = np.full((_BLOCKS, LANES), -1, np.int64)
                rows[: len(part)] = part
                total += np.asarray(
                    self._program(state, self._x, self._y, rows, len(part), float(bound), float(self._radius))
                )
        return total


_BLOCKS = 64  # of LANES rows, at most, in one call; only those that hold rows are computed


def in_lanes(taken: Any) -> Any:
    """Row numbers in their lanes: (blocks, LANES), -1 where a lane is empty."""
    taken = np.asarray(taken, np.int64)
    lane = taken % LANES
    order = np.argsort(lane, kind="stable")
    counts = np.bincount(lane, minlength=LANES)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    sorted_lane = lane[order]
    place = np.arange(len(taken)) - starts[sorted_lane]
    rows = np.full((int(counts.max(initial=0)), LANES), -1, np.int64)
    rows[place, sorted_lane] = taken[order]
    return rows


def whole_vectors(vectors: Any, bound: Any, radius: Any) -> Any:
    """Floats (lanes, size) as int64, every row of norm at most ``radius``: clip, round towards 0, check."""
    peak = jnp.max(jnp.abs(vectors), axis=1, keepdims=True)
    safe = jnp.where(peak > 0, peak, 1.0)
    direction = vectors / safe  # its largest entry is 1, so that no square overflows
    length = jnp.sqrt(jnp.sum(jnp.square(direction), axis=1, keepdims=True))
    factor = radius * _SHRINK * jnp.minimum(safe / bound, 1 / jnp.maximum(length, 1.0))
    scaled = jnp.trunc(direction * factor)
    fits = jnp.all(jnp.isfinite(scaled) & (jnp.abs(scaled) <= radius), axis=1, keepdims=True)
    whole = jnp.where(fits, scaled, 0.0).astype(jnp.int64)
    short = jnp.sum(whole * whole, axis=1, keepdims=True) <= jnp.asarray(radius, jnp.int64) ** 2
    return jnp.where(short, whole, 0)


@lru_cache(maxsize=32)
def _program(vector: Any) -> Any:
    over_rows = jax.vmap(vector, in_axes=(None, 0, 0))

    def add(state: Any, x: Any, y: Any, rows: Any, blocks: Any, bound: Any, radius: Any) -> Any:
        def block(k: Any, total: Any) -> Any:
            lanes = rows[k]
            held = jnp.maximum(lanes, 0)
            whole = whole_vectors(over_rows(state, x[held], y[held]), bound, radius)
            return total + jnp.sum(jnp.where((lanes >= 0)[:, None], whole, 0), axis=0)

        size = jax.eval_shape(vector, state, x[0], y[0]).shape[0]
        return jax.lax.fori_loop(0, blocks, block, jnp.zeros(size, jnp.int64))

    return jax.jit(add)
