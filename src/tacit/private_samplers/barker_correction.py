"""The distribution that completes Gaussian noise to a logistic one, for Barker's test.

Barker's test accepts a log ratio r with probability 1 / (1 + e^-r), that is when r + V > 0 with V logistic. If the
noise that r carries already is N(0, s^2), only V - N(0, s^2) is missing (Seita et al. 2017; Heikkila et al. 2019). No
distribution is exactly that, as the characteristic function pi t / sinh(pi t) times e^(s^2 t^2 / 2) is not one.
`correction` is the symmetric distribution on a grid whose sum with N(0, s^2) is nearest to the logistic one in
Kolmogorov's distance; ``error`` is that distance, so that no probability of acceptance is off by more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

NOISE_SD = 1.2
"""The s for which a chain asks: the most noise that its test can carry. Its error is below 2.5e-5."""

_STEP, _FARTHEST = 0.1, 14.0  # of the grid of the distribution
_CHECK_STEP = 0.01  # of the grid on which the distance is measured


@dataclass(frozen=True)
class Correction:
    """P(V_c = points[j]) = weights[j]; ``error`` >= sup over z of |P(V_c + N(0, sd^2) <= z) - 1 / (1 + e^-z)|."""

    sd: float
    points: Any
    weights: Any
    error: float

    @cached_property
    def _sums(self) -> Any:
        import numpy as np

        return np.cumsum(self.weights)

    def draw(self, rng: Any) -> float:
        """One draw."""
        return float(self.points[self._sums.searchsorted(rng.random() * self._sums[-1], side="right")])


@lru_cache(maxsize=8)
def correction(sd: float = NOISE_SD) -> Correction:
    """The best correction for Gaussian noise of standard deviation ``sd``, by linear programming.

    Minimise t over weights w >= 0 that sum to 1 and are symmetric, with |sum_j w_j Phi((z - x_j) / sd) - L(z)| <= t on
    a grid of z >= 0. Proof: of the stated error, which is measured and not taken from the solver. Between neighbours of
    a grid of step h the difference D of the two functions is within h^2 / 8 sup |D''| of its interpolation, hence at
    most the larger of its ends plus that; |D''| <= 1 / (sd^2 sqrt(2 pi e)) + 0.0963, the largest slopes of a normal and
    of the logistic density. Beyond the grid both tails are at most their values at its end. []
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.special import expit, ndtr

    half = np.arange(0, round(_FARTHEST / _STEP) + 1) * _STEP
    z = np.arange(0, round((_FARTHEST + 6) / _CHECK_STEP) + 1) * _CHECK_STEP
    both = (ndtr((z[:, None] - half) / sd) + ndtr((z[:, None] + half) / sd)) / 2
    rows = z[:: max(1, round(_STEP / _CHECK_STEP / 2))]
    program = (ndtr((rows[:, None] - half) / sd) + ndtr((rows[:, None] + half) / sd)) / 2
    aim = expit(rows)
    slack = -np.ones((len(rows), 1))
    found = linprog(
        np.r_[np.zeros(len(half)), 1.0],
        A_ub=np.block([[program, slack], [-program, slack]]),
        b_ub=np.r_[aim, -aim],
        A_eq=np.r_[np.ones(len(half)), 0.0][None],
        b_eq=[1.0],
        method="highs",
    )
    weights = np.maximum(found.x[:-1], 0.0)
    weights /= weights.sum()
    off = both @ weights - expit(z)
    bend = 1 / (sd**2 * np.sqrt(2 * np.pi * np.e)) + 0.0963
    tail = max(1 - float(both[-1] @ weights), float(expit(-z[-1])))
    error = max(float(np.max(np.abs(off))) + _CHECK_STEP**2 / 8 * bend, tail)
    points = np.r_[-half[::-1], half]
    return Correction(sd, points, np.r_[weights[::-1], weights] / 2, error)
