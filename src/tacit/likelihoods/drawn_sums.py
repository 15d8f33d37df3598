"""How likely posterior draws are when the sum of the rows behind them is normal.

A released draw w comes from a Gamma or normal law whose parameters are linear in the sum s of the clamped rows
(`models.conjugate.Conjugacy`). By the central limit theorem s is normal, with n times the exact mean and variance of a
row. For a normal draw the sum integrates out in closed form; for Gamma draws it is integrated by a Gauss-Legendre rule
over 8 standard deviations of s inside [0, n]. A draw is never sharper about s than the rows are about their own mean,
and k draws at most sqrt(k) times, so a rule with 64 sqrt(k) nodes has many nodes in every width that matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from numpy.polynomial.legendre import leggauss

from tacit.likelihoods.clamped_laws import Law, power_moments

_MOST_NODES = 1024
_REACH = 8.0


@dataclass(frozen=True, eq=False)
class DrawnSum:
    """``draws`` released draws about the sum of ``n`` rows; the fields are those of a `Conjugacy` and its tempering."""

    kind: str
    n: int
    draws: int
    grid: int
    prior: tuple[float, float]
    weight: float
    step: float

    @property
    def size(self) -> int:
        """One number a draw."""
        return self.draws

    def log_likelihood(self, law: Law, phi: Any, numbers: Any, _: Any) -> Any:
        """log of the integral over s of p(numbers | s) p(s | phi)."""
        mean, covariance = power_moments(law, phi, (1,))
        centre = self.n * mean[0]
        variance = self.n * covariance[0, 0] + (1e-9 * self.n) ** 2
        if self.kind == "normal":
            return self._normal(centre, variance, numbers)
        sd = jnp.sqrt(variance)
        low = jnp.clip(centre - _REACH * sd, 0.0, self.n * (1 - 1e-9))
        high = jnp.clip(centre + _REACH * sd, low + 1e-9 * self.n, None)
        nodes, weights = leggauss(min(_MOST_NODES, 64 * math.ceil(math.sqrt(self.draws))))
        half = (high - low) / 2
        s = low + half * (1 + nodes)
        log_sum = -(((s - centre) / sd) ** 2) / 2 - jnp.log(sd)
        return jax.scipy.special.logsumexp(log_sum + self._log_draws(s, numbers), b=half * weights)

    def _normal(self, centre: Any, variance: Any, numbers: Any) -> Any:
        """The average of the draws is normal; how they differ says nothing about s."""
        square = self.step**2
        precision = self.prior[1] + self.weight * self.n / square
        slope = self.weight / square / precision
        expected = self.prior[0] * self.prior[1] / precision + slope * centre
        spread = 1 / (self.draws * precision) + slope**2 * variance
        return -((jnp.mean(numbers) - expected) ** 2) / (2 * spread) - jnp.log(spread) / 2

    def _log_draws(self, s: Any, numbers: Any) -> Any:
        w = jnp.maximum(numbers, 0.25 / self.grid)
        total, logs = jnp.sum(w), jnp.sum(jnp.log(w))
        if self.kind == "gamma-shape":
            shape = self.prior[0] + self.weight * self.step * s
            rate = self.prior[1] + self.weight * self.n
            return self.draws * (shape * np.log(rate) - gammaln(shape)) + shape * logs
        shape = self.prior[0] + self.weight * self.n
        rate = self.prior[1] + self.weight * self.step * s
        return self.draws * shape * jnp.log(rate) - rate * total
