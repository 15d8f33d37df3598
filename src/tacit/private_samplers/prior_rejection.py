"""Exact draws from a posterior whose loss is bounded, by rejection from the prior: any model, if rows say little.

The density is proportional to prior(theta) exp(-w sum_i l_i(theta)), w the weight of a row, and every l_i lies between
two numbers, ``least`` and ``most``, whatever the row and theta are (`LossRange.ends`).

Proof: of exactness. theta from the prior is accepted with probability exp(-w sum_i (l_i(theta) - least)), which is at
most 1; so what is accepted has the density, and tries are independent. Of what it costs: the probability is at least
e^-R, R = w n (most - least), so that at most e^R tries are expected, for every table. Both follow from public numbers
before a row is read. Tries are made until one is accepted, so there is no failure; how many there were must not be
shown. []

Floats. A loss is kept between its two ends where rounding takes it past one, and is the upper one where overflow leaves
no number. So no row has more of a say than it is charged for, whatever theta is: a row for which a theta gave no number
would rule it out, and one such theta tells everything. Room for the smallest probability is left by exponential numbers
of 64 random bits: e^-R is 1e-11 or more, and right to a part in 10^8.

That is as good as a uniform minorisation gets. By the same bound an independence chain that proposes from the prior has
at every step a probability of e^-R to forget where it was; it is within (1 - e^-R)^t of the density after t steps, that
is t = e^R ln(1/gamma), which is more than rejection needs for gamma = 0. Coupling from the past looks back for the last
step at which it forgot, e^R steps on average, and regenerative splitting has tours as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.private_samplers.entropy_arrays import exponentials
from tacit.runtime.backend import float64

MOST_WORK = 1e11  # expected tries times rows, a draw: an hour or two on one core, if rows are as bad as can be
_BLOCK, _MOST_AT_ONCE = 4096, 2**22  # tries; tries times rows
_ROUNDING = 1e-9  # of the loss's ends: more than the rounding of a mean over rows


def log_tries(ends: tuple[float, float], weight: float, rows: int) -> float:
    """R: the logarithm of the most tries that a draw may be expected to take."""
    return weight * rows * (ends[1] - ends[0])


def draw_from_prior(
    loss: Any,
    numbers: Mapping[str, float],
    x: Any,
    y: Any,
    *,
    ends: tuple[float, float],
    prior: Any,
    draws: int,
    source: Any,
) -> Any:
    """``draws`` independent draws (draws, size). ``loss`` must be a value, for which the program is compiled once;
    ``prior`` (count, source) makes theta; the loss of every row lies between the ``ends``.
    """
    bound = ends[0] - _ROUNDING * abs(ends[0])
    block = max(16, min(_BLOCK, _MOST_AT_ONCE // max(1, len(y))))
    points: list[Any] = []
    with float64(), np.errstate(all="ignore"):
        given = {name: jnp.asarray(value, jnp.float64) for name, value in numbers.items()}
        data = jnp.asarray(ends, jnp.float64), jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64)
        while len(points) < draws:
            thetas, room = prior(block, source), exponentials((block,), source)
            excess = np.asarray(_program(loss)(given, *data, jnp.asarray(thetas))) - len(y) * bound
            points.extend(thetas[room > float(numbers["weight"]) * excess])
    return np.array(points[:draws])


@lru_cache(maxsize=32)
def _program(loss: Any) -> Any:
    """The sum of the rows' losses at each theta; one that is no number, or beyond an end, counts as the end."""

    def sums(given: Any, ends: Any, x: Any, y: Any, thetas: Any) -> Any:
        def one(theta: Any) -> Any:
            losses = loss.record_losses(theta, x, y, given)
            return jnp.sum(jnp.clip(jnp.where(jnp.isnan(losses), ends[1], losses), ends[0], ends[1]))

        return jax.lax.map(one, thetas, batch_size=256)

    return jax.jit(sums)


def most_rows(ends: tuple[float, float], weight: float) -> int:
    """The most rows with which no table makes a draw take more than `MOST_WORK`."""
    low, high = 0, int(MOST_WORK)
    while high - low > 1:
        middle = (low + high) // 2
        fits = log_tries(ends, weight, middle) + math.log(middle) <= math.log(MOST_WORK)
        low, high = (middle, high) if fits else (low, middle)
    return low
