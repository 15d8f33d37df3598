"""Noisy counts of all cells among rows whose number is not public.

n is flat on 0, 1, 2, ... beforehand. That is a Poisson distribution of n whose mean, lambda, is flat on the positive
numbers: the integral of e^-lambda lambda^n / n! over lambda is 1 for every n. Given lambda the counts of the cells are
independent Poisson numbers with means lambda theta_k, which by the central limit theorem are normal. So n needs no
place of its own, and no covariance between cells is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from tacit.runtime.backend import argument


@dataclass(frozen=True, eq=False)
class CountedCells:
    """Counts of every cell plus noise of ``scales``: normal standard deviations, or Laplace."""

    scales: Any
    laplace: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "scales", argument(self.scales))

    @property
    def size(self) -> int:
        """One number a cell."""
        return len(self.scales)

    def moments(self, theta: Any, rate: Any) -> tuple[Any, Any]:
        """Mean and covariance of the exact counts; ``rate`` is lambda."""
        return rate * theta, rate * jnp.diag(theta)

    def log_likelihood(self, theta: Any, rate: Any, numbers: Any, variances: Any) -> Any:
        """The sum over cells of log N(numbers; lambda theta, lambda theta + variances)."""
        spread = rate * theta + variances
        return -0.5 * jnp.sum((numbers - rate * theta) ** 2 / spread + jnp.log(spread))

    def rate_near(self, numbers: Any) -> Any:
        """Where lambda is looked for first: the sum of the counts, or what its noise is about where that is more."""
        return jnp.maximum(jnp.sum(numbers), jnp.sqrt(jnp.sum(self.scales**2)) + 1.0)
