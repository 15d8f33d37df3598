"""A small logistic posterior under the beta-divergence, known by quadrature, and evidence about it in plain numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.privacy.beta_slopes import bernoulli_slope
from tacit.private_samplers.sampled_ratio import SampledRatio

BETA, SD = 1.5, 1.5
_RNG = np.random.default_rng(5)
X = np.stack([np.ones(40), _RNG.uniform(-1, 1, 40)], axis=1)
Y = np.where(_RNG.random(40) < 1 / (1 + np.exp(-X @ np.array([0.4, 1.2]))), 1.0, -1.0)
SLOPE = bernoulli_slope(BETA) * math.sqrt(2)


def losses(theta: Any) -> Any:
    """l(theta, row) for theta (..., 2): (..., rows)."""
    b = BETA - 1
    u = Y * (np.asarray(theta) @ X.T)
    p = 1 / (1 + np.exp(-u))
    return -(p**b) / b + (p**BETA + (1 - p) ** BETA) / BETA


def gradients(theta: Any) -> Any:
    """(rows, 2)."""
    b = BETA - 1
    p = 1 / (1 + np.exp(-Y * (X @ theta)))
    slope = -(p**b) * (1 - p) ** 2 - p * (1 - p) ** BETA
    return (slope * Y)[:, None] * X


class Prior:
    def potential(self, theta):
        return float(theta @ theta) / (2 * SD**2)

    def gradient(self, theta):
        return theta / SD**2


@dataclass
class Toy:
    """Evidence with noise of ``multiplier`` times the bounds, over rows taken with ``rate``."""

    multiplier: float
    rate: float
    rng: Any
    weight: float = 1.0
    answers: int = field(default=0)

    @property
    def gradient_sd(self):
        return self.weight / self.rate * self.multiplier * SLOPE

    def gradient(self, theta):
        self.answers += 1
        found = gradients(theta)[self.rng.random(len(Y)) < self.rate].sum(axis=0)
        return self.weight / self.rate * found + self.gradient_sd * self.rng.standard_normal(2)

    def _bound(self, theta, proposal):
        return self.weight * min(1 / (BETA - 1), SLOPE * float(np.linalg.norm(proposal - theta)))

    def ratio_sd(self, theta, proposal):
        bound = self._bound(theta, proposal)
        if self.rate == 1:
            return self.multiplier * bound
        ratio = SampledRatio(bound, self.rate)
        return self.multiplier * ratio.largest if ratio.near else math.inf

    def log_ratio(self, theta, proposal):
        self.answers += 1
        d = self.weight * (losses(theta) - losses(proposal))
        noise = self.ratio_sd(theta, proposal) * self.rng.standard_normal()
        if self.rate == 1:
            return float(d.sum()) + noise
        taken = self.rng.random(len(Y)) < self.rate
        ratio = SampledRatio(self._bound(theta, proposal), self.rate)
        return float(ratio.terms(d[taken], self.rng.random(int(taken.sum()))).sum()) + noise


class Posterior:
    """The exact posterior on a fine grid: draws, and the distribution function of each coordinate."""

    def __init__(self, weight: float = 1.0, cells: int = 500) -> None:
        self.axes = [np.linspace(-3.0, 4.5, cells + 1), np.linspace(-4.0, 7.0, cells + 1)]
        middles = [(edges[1:] + edges[:-1]) / 2 for edges in self.axes]
        first, second = np.meshgrid(*middles, indexing="ij")
        points = np.stack([first, second], axis=-1)
        potential = np.zeros((cells, cells))
        for row in range(len(Y)):
            p = 1 / (1 + np.exp(-Y[row] * (points @ X[row])))
            b = BETA - 1
            potential += weight * (-(p**b) / b + (p**BETA + (1 - p) ** BETA) / BETA)
        potential += (points**2).sum(axis=-1) / (2 * SD**2)
        mass = np.exp(-(potential - potential.min()))
        self.mass = mass / mass.sum()
        self.cells = cells

    def draws(self, count, rng):
        """A cell by its mass, then uniform within it."""
        picked = rng.choice(self.cells**2, count, p=self.mass.ravel())
        places = np.stack([picked // self.cells, picked % self.cells], axis=1)
        widths = [edges[1] - edges[0] for edges in self.axes]
        return np.stack(
            [self.axes[j][0] + widths[j] * (places[:, j] + rng.random(count)) for j in (0, 1)],
            axis=1,
        )

    def cdf(self, coordinate, values):
        marginal = self.mass.sum(axis=1 - coordinate)
        return np.interp(values, self.axes[coordinate], np.r_[0.0, np.cumsum(marginal)])
