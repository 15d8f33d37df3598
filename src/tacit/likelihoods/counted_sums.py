"""Noisy sums over rows whose number has noise as well: n is flat on the positive numbers, and drawn beside the rest.

With n given they are `NoisyPowerSums`. To find the peak, n is integrated out: with noise of variance v around n it is
about normal given its release c, and then sum | n ~ N(n mu, n C) makes the sums N(c mu, c C + v mu mu') beside their
noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.likelihoods.clamped_distributions import ClampedDistribution, power_moments
from tacit.likelihoods.evidence import log_normal
from tacit.likelihoods.noisy_sums import log_sums
from tacit.runtime.backend import argument

TABLE = 41
_LAPLACE_SPAN, _NORMAL_SPAN = 10.0, 6.0


@dataclass(frozen=True, eq=False)
class CountedPowerSums:
    """Sums of the ``powers`` of the clamped value over n rows, then n, each plus noise of ``drawn``: sds, or Laplace.

    Where the noise is Laplace, the peak is looked for as if it were normal with the same variance; ``scales`` are its
    standard deviations.
    """

    powers: tuple[int, ...]
    drawn: Any
    of_laplace: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "drawn", argument(self.drawn))

    @property
    def size(self) -> int:
        """The sums and n."""
        return len(self.powers) + 1

    @property
    def scales(self) -> Any:
        """The standard deviations of the noise."""
        return self.drawn * math.sqrt(1 + self.of_laplace)

    def log_given(self, distribution: ClampedDistribution, phi: Any, n: Any, numbers: Any) -> Any:
        """The log density of the noisy sums, n given."""
        mean, covariance = power_moments(distribution, phi, self.powers)
        return log_sums(n, mean, covariance, numbers[:-1], self.drawn[:-1], laplace=self.of_laplace)

    def propose(self, key: Any, numbers: Any, size: int) -> tuple[Any, Any]:
        """Numbers n as they are distributed given their release alone, and the logarithm of what their weight still
        needs: 0, or -inf where a number is not positive.
        """
        draw = jax.random.laplace if self.of_laplace else jax.random.normal
        n = numbers[-1] + self.drawn[-1] * draw(key, (size,))
        return jnp.where(n > 0, n, 1.0), jnp.where(n > 0, 0.0, -jnp.inf)

    def table(self, numbers: Any) -> tuple[Any, Any]:
        """Numbers n at even distances, and the log density of each given its release alone, up to a constant.

        They span 10 scales of Laplace noise, or 6 standard deviations of normal noise, on either side, where n is
        positive: what lies outside has probability 5e-5 or less.
        """
        span, scale = (_LAPLACE_SPAN if self.of_laplace else _NORMAL_SPAN) * self.drawn[-1], self.drawn[-1]
        low = jnp.maximum(numbers[-1] - span, 1e-3 * scale)
        high = jnp.maximum(numbers[-1], 0.0) + span
        n = low + (high - low) * np.linspace(0.0, 1.0, TABLE)
        away = jnp.abs(n - numbers[-1]) / scale
        return n, -away if self.of_laplace else -(away**2) / 2

    def tabled(self, distribution: ClampedDistribution, phi: Any, table: tuple[Any, Any], numbers: Any) -> Any:
        """The log density of the noisy sums and of the release of n, at each n of a `table`."""
        n, logs = table
        return logs + jax.vmap(lambda rows: self.log_given(distribution, phi, rows, numbers))(n)

    def _centre(self, numbers: Any) -> Any:
        return jnp.maximum(numbers[-1], self.scales[-1])

    def log_likelihood(self, distribution: ClampedDistribution, phi: Any, numbers: Any, variances: Any) -> Any:
        """N(sums; c mu, c C + v mu mu' + variances)."""
        mean, covariance = self._marginal(distribution, phi, numbers, variances)
        return log_normal(numbers[:-1] - mean, covariance)

    def information(self, distribution: ClampedDistribution, phi: Any, numbers: Any, variances: Any) -> Any:
        """J'WJ, J the Jacobian of the expected sums and W their precision."""
        jacobians = jax.jacfwd(lambda p: self._marginal(distribution, p, numbers, variances)[0])(phi)
        return jacobians.T @ jnp.linalg.solve(self._marginal(distribution, phi, numbers, variances)[1], jacobians)

    def _marginal(self, distribution: ClampedDistribution, phi: Any, numbers: Any, variances: Any) -> tuple[Any, Any]:
        mean, covariance = power_moments(distribution, phi, self.powers)
        n = self._centre(numbers)
        spread = n * covariance + variances[-1] * jnp.outer(mean, mean) + jnp.diag(variances[:-1])
        return n * mean, spread + (1e-9 * n) ** 2 * jnp.eye(len(self.powers))
