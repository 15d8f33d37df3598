"""Bounds of a column by noisy ranks: which points of a public grid leave about so many rows outside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.entropy import Entropy
from tacit.privacy.events import PureEvent
from tacit.schema import Number

_UNIT = 2**16  # the whole number that stands for one row, so that scales can be whole and hardly larger than needed
_MOST_POINTS = 100_000
_MANTISSAS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_SMALLEST = 1e-9  # of the range: between this and minus this a logarithmic grid has only 0
_MISSED = 0.05  # the probability, at most, that an end lies where there are no rows at all


@dataclass(frozen=True)
class NoisyRanks:
    """Choose a lower and an upper bound among the points g_0 < g_1 < ... of a public ``grid``.

    Let below(g) be the number of rows with a value less than g, above(g) that of rows with a greater one (a missing
    value is neither), and t a public target. The right lower bound is the last point with at most t rows below it, so
    that below(g_i) <= t <= below(g_{i+1}); behind the last point n takes the place of a count. The lower bound is the
    point with the largest noisy score, of several the first,

        -d_i + Z_i,    d_i = max(below(g_i) - t, t - below(g_{i+1}), 0),    Z_i discrete Laplace noise of scale s,

    s = ``scale`` / 2^16, the Z_i independent. The upper bound likewise, with above(g_i), above(g_{i-1}) and noise of
    its own. Only the two points leave. A point beyond which there is no row, but the first such, has d_i = t.

    Proof: of the price, for replace-one neighbours. A row adds 0 or 1 to below(g), so replacing it moves below(g) by at
    most 1 for every g, and n and t not at all. d_i is a maximum of such counts and constants, up to signs, so each
    score moves by at most 1 as well. Fix a point i and the noise of all others. On one data set i is chosen if and only
    if Z_i >= m, for some m that follows from the scores and the other noise. On the neighbouring one the score of i is
    lower by at most 1 and that of every other higher by at most 1, so i is certainly chosen if Z_i >= m + 2. The
    discrete Laplace distribution has P(Z >= m + 2) >= e^(-2/s) P(Z >= m) for every m: P(Z = k + 2) >= e^(-2/s) P(Z =
    k) holds for every k, and is added up over k >= m. Averaging over the other noise, the probability of i falls by a
    factor of e^(2/s) at most. So the choice of one end is (2/s)-DP, and both together are (4/s)-DP, as their noise is
    independent. (All of this in steps of 2^-16, in which ranks and noise are whole numbers.) []
    """

    grid: tuple[float, ...]
    scale: int

    @classmethod
    def calibrate(cls, grid: tuple[float, ...], epsilon: float) -> NoisyRanks:
        """With the least noise for pure ``epsilon``: scale = ceil(4 * 2^16 / epsilon)."""
        scale = math.ceil(4 * _UNIT / Fraction(epsilon))
        return cls(grid, scale)

    def event(self) -> PureEvent:
        """What the two points cost together: 4 / s, exactly.

        Proof: that of the class. []
        """
        return PureEvent(Fraction(4 * _UNIT, self.scale))

    @property
    def least_target(self) -> int:
        """The least t with which an end that no row lies beyond, whose score is -t, wins with 5% probability at most.

        Against the right point, whose score is 0, such an end needs Z_i - Z_j >= t, which has probability
        exp(-t/s) (1 + t / (2 s)) / 2 in the continuous limit; all points together at most as many times that.
        """
        s = self.scale / _UNIT
        ratio = 1.0
        while len(self.grid) * math.exp(-ratio) * (1 + ratio / 2) / 2 > _MISSED:
            ratio += 0.01
        return math.ceil(ratio * s)

    def counts(self, values: Any, missing: float) -> Any:
        """For one batch, (2, points): how many values lie below and above each point."""
        import numpy as np

        grid = np.array(self.grid)
        present = np.asarray(values)[np.asarray(values) != missing]
        # A value is below every point from the first that exceeds it on, and above every point less than it.
        first = np.bincount(np.searchsorted(grid, present, side="right"), minlength=len(grid) + 1)
        last = np.bincount(np.searchsorted(grid, present, side="left"), minlength=len(grid) + 1)
        below = np.cumsum(first)[: len(grid)]
        above = np.cumsum(last[::-1])[::-1][1:]
        return np.stack([below, above])

    def choose(self, counts: Any, n: int, target: int, entropy: Entropy) -> tuple[float, float]:
        """The two bounds, from the counts of all n rows; noise is drawn for every point, so the time tells nothing."""
        noise = DiscreteLaplace((self.scale,) * len(self.grid)).sample(2, entropy)
        chosen: list[float] = []
        for own, drawn, end in zip(counts, noise, (1, -1), strict=True):
            here = [int(count) for count in own]
            inwards = [*here[1:], n] if end == 1 else [n, *here[:-1]]
            chosen.append(self.grid[noisy_choice(here, inwards, target, [int(z) for z in drawn], _UNIT)])
        return chosen[0], chosen[1]


def noisy_choice(here: list[int], inwards: list[int], target: int, noise: list[int], unit: int) -> int:
    """The position of the largest score -d_i + Z_i, in steps of 1 / ``unit`` row: of several the first."""
    losses = (max(a - target, target - b, 0) for a, b in zip(here, inwards, strict=True))
    scores = [z - unit * loss for loss, z in zip(losses, noise, strict=True)]
    return scores.index(max(scores))


def public_grid(within: Number, spacing: str, points: int) -> tuple[float, ...]:
    """The grid over a public range: equal steps, or round numbers that grow by a factor (``log``)."""
    if spacing not in ("linear", "log"):
        raise expected("spacing", spacing, "to be linear or log")
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= _MOST_POINTS:
        raise expected("points", points, f"to be a whole number from 2 to {_MOST_POINTS}")
    low, high = within.low, within.high
    if spacing == "linear":
        step = (high - low) / points
        return tuple(dict.fromkeys([low, *(low + step * i for i in range(1, points)), high]))
    largest = max(abs(low), abs(high))
    least = min((abs(v) for v in (low, high)), default=0.0) if low * high > 0 else _SMALLEST * largest
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(largest)) + 1)
    sizes = [float(f"{mantissa}e{power}") for power in powers for mantissa in _MANTISSAS]
    found = {low, high, *(0.0,), *sizes, *(-size for size in sizes)}
    return tuple(sorted(value for value in found if low <= value <= high))
