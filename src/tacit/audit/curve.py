"""The privacy curve of one pair of data sets: all that an output with independent parts gives away.

With P and Q the distributions of the output on the two data sets and L = log P / Q under P,

    delta(epsilon) = E_P[max(0, 1 - e^(epsilon - L))]     the hockey-stick divergence
    D_a = log E_P[e^((a - 1) L)] / (a - 1)                the Renyi divergence of order a

L is the sum of the parts' own, so its distribution is the convolution of theirs. Both directions are looked at,
always: some mechanisms protect one data set from being taken for the other and not the reverse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.audit.cells import CellProbabilities, Floats
from tacit.errors import expected
from tacit.privacy import gaussian

_GRID = 2**18  # points of the convolution's grid
_POINTS = 20  # of the curve, for its mu
_NEGLIGIBLE = 1e-11  # a hockey stick below this is not told from 0: convolution by FFT is right to about 1e-15 a point


@dataclass(frozen=True, eq=False)
class Curve:
    """Lower bounds on the divergences of a pair, from its independent ``parts``; exact but for the width of cells.

    With one part nothing is rounded. With several, each part's loss is rounded down to a grid of 2^18 points before the
    convolution, which can only lower the result: by less than one part in 10,000 of the range of losses.
    """

    parts: tuple[CellProbabilities, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise expected("parts", 0, "to be one or more cells")

    @property
    def epsilon(self) -> float:
        """The pure epsilon of the pair: the largest log ratio, in either direction."""
        return max(sum(part.most for part in self.parts), -sum(part.least for part in self.parts))

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence at ``epsilon``, in the worse direction."""
        return max(_stick(losses, masses, certain, epsilon) for losses, masses, certain in self._distributions)

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon whose hockey stick is at most ``delta``: what an (epsilon, delta) claim must state."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e6:
                return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low

    def renyi(self, order: float) -> float:
        """The Renyi divergence of this order, in the worse direction; a sum over parts."""
        forward = sum(_renyi(part.log_p, part.log_q, order) for part in self.parts)
        return max(forward, sum(_renyi(part.log_q, part.log_p, order) for part in self.parts))

    def mu(self) -> float:
        """The least mu of Gaussian differential privacy that the curve does not refute, from points along it."""
        found = 0.0
        for epsilon in np.linspace(0.0, min(self.epsilon, 40.0), _POINTS + 1)[:-1]:
            delta = self.delta(float(epsilon))
            if _NEGLIGIBLE < delta < 1:
                found = max(found, gaussian.mu_for(float(epsilon), delta))
            elif delta >= 1:
                return math.inf
        return found

    @cached_property
    def _distributions(self) -> tuple[tuple[Floats, Floats, float], ...]:
        return _composed(self.parts), _composed([part.swapped for part in self.parts])


def _composed(parts: Sequence[CellProbabilities]) -> tuple[Floats, Floats, float]:
    """The distribution of L under P: its values, their probabilities, and the probability that it is infinite."""
    found = [_one(part) for part in parts]
    certain = 1 - math.prod(1 - infinite for *_, infinite in found)
    if len(found) == 1:
        return found[0]
    ranges = [float(losses.max() - losses.min()) for losses, *_ in found]
    step = sum(ranges) / (_GRID - len(found) - 1)
    if step == 0:
        return np.array([sum(float(losses[0]) for losses, *_ in found)]), np.array([1 - certain]), certain
    start, product = 0.0, np.ones(_GRID // 2 + 1, complex)
    for losses, masses, _ in found:
        first = math.floor(float(losses.min()) / step)
        places = np.floor(losses / step).astype(np.int64) - first  # rounded down: the result can only be lower
        product *= np.fft.rfft(np.bincount(places, masses, _GRID))
        start += first * step
    masses = np.maximum(np.fft.irfft(product, _GRID), 0.0)
    return start + step * np.arange(_GRID, dtype=np.float64), masses, certain


def _one(part: CellProbabilities) -> tuple[Floats, Floats, float]:
    there = ~np.isneginf(part.log_p)
    p, loss = np.exp(part.log_p[there]), part.log_p[there] - part.log_q[there]
    finite = np.isfinite(loss)
    return loss[finite], p[finite], float(p[~finite].sum())


def _stick(losses: Floats, masses: Floats, certain: float, epsilon: float) -> float:
    above = losses > epsilon
    return float(np.sum(masses[above] * -np.expm1(epsilon - losses[above]))) + certain


def _renyi(log_p: Floats, log_q: Floats, order: float) -> float:
    there = ~np.isneginf(log_p)
    if np.isneginf(log_q[there]).any():
        return math.inf
    terms = order * log_p[there] + (1 - order) * log_q[there]
    peak = float(terms.max())
    return (peak + math.log(float(np.exp(terms - peak).sum()))) / (order - 1)


def curve_of(parts: Any) -> Curve:
    """The curve of a list of parts, those that do not tell the two data sets apart left out."""
    telling = tuple(part for part in parts if part.most > 0 or part.least < 0)
    return Curve(telling or tuple(parts)[:1])
