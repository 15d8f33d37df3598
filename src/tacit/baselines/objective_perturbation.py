"""Objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2) for logistic regression.

Released: the minimiser of (1/n) sum_i ln(1 + exp(-y_i theta'x_i)) + (ridge + extra)/2 |theta|^2 + b'theta / n, where
|x_i|_2 <= 1 and b has density proportional to exp(-rate |b|).

Proof (replace-one). For one data set, theta is the minimiser exactly if b = -n times the gradient of the rest, so theta
has the density of b there times |det of the Jacobian| = det(A), A = n lam I + sum_i h_i x_i x_i', with
lam = ridge + extra and h_i <= 1/4. Two neighbours share all terms but one: A = B + h u u', A' = B + h' v v', B >=
n lam I, so det A' / det A = (1 + h' v'B^-1 v) / (1 + h u'B^-1 u) <= 1 + 1 / (4 n lam). The two values of b differ by
the difference of two gradients, at most 2 in norm, so the densities of b differ by at most e^(2 rate). Altogether
ln(P/Q) <= 2 rate + ln(1 + 1/(4 n lam)) = epsilon. []

The paper bounds the ratio of determinants by (1 + 1/(4 n lam))^2; the terms have rank one, so one factor is enough.
If ridge is so small that the determinant alone would use up more than half of epsilon, ``extra`` makes up for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.baselines.output_perturbation import bounded
from tacit.baselines.ridge import minimiser
from tacit.errors import expected
from tacit.privacy.events import Event, PureEvent

_CURVATURE = 0.25  # of the logistic loss
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Objective perturbation for ``n`` rows and ``size`` coefficients."""

    n: int
    size: int
    ridge: float
    epsilon: float

    def __post_init__(self) -> None:
        for name in ("n", "size", "ridge", "epsilon"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise expected(name, getattr(self, name), "to be a finite number above 0")

    @property
    def total_ridge(self) -> float:
        """ridge + extra: at least 1 / (4 n (e^(epsilon/2) - 1)), where the determinant costs epsilon / 2."""
        return max(self.ridge, _CURVATURE / (self.n * math.expm1(self.epsilon / 2)))

    @property
    def rate(self) -> float:
        """(epsilon - ln(1 + 1/(4 n lam))) / 2."""
        left = self.epsilon - math.log1p(_CURVATURE / (self.n * self.total_ridge))
        return left / 2 * (1 - _ROUNDING)

    def event(self) -> Event:
        """What it costs in ideal arithmetic.

        Proof: at the top of this file. []
        """
        return PureEvent(self.epsilon)

    def tilt(self, draws: int, rng: Any) -> Any:
        """Vectors b (draws, size): a uniform direction and a Gamma(size) length."""
        import numpy as np

        normal = rng.standard_normal((draws, self.size))
        length = rng.gamma(self.size, 1 / self.rate, (draws, 1))
        return length * normal / np.linalg.norm(normal, axis=1, keepdims=True)

    def draw(self, x: Any, y: Any, rng: Any) -> Any:
        """The minimiser of the tilted objective; rows longer than 1 are moved to length 1."""
        x = bounded(x, "ball")
        if x.shape != (self.n, self.size):
            raise expected("x", x.shape, f"to be {self.n} rows of {self.size}")
        return minimiser(x, y, self.total_ridge, self.tilt(1, rng)[0] / self.n)

    def log_density(self, theta: Any, x: Any, y: Any) -> Any:
        """The log density of the release at ``theta`` (..., size), up to a constant: what an attacker needs."""
        import numpy as np

        x, y, theta = bounded(x, "ball"), np.asarray(y, float), np.asarray(theta, float)
        chance = 1 / (1 + np.exp(np.clip(y * (theta @ x.T), -700, 700)))
        b = (y * chance) @ x - self.n * self.total_ridge * theta
        hessian = np.einsum("...n,ni,nj->...ij", chance * (1 - chance), x, x)
        hessian = hessian + self.n * self.total_ridge * np.eye(self.size)
        return -self.rate * np.linalg.norm(b, axis=-1) + np.linalg.slogdet(hessian)[1]
