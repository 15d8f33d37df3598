"""A number between bounds of which nothing but mean and standard deviation is asked, and what sums say about them.

c lies in [-1, 1], with mean m and standard deviation r sqrt((1 - m)(1 + m)): no distribution on the bounds has a larger
one than r = 1 gives. The sum over n rows of c has mean n m and variance n sd^2, whatever the distribution, and by the
central limit theorem it is normal: all that the mean's posterior needs. How far the sum of squares strays depends on
the third and the fourth moment, which nobody released. They are taken from the beta distribution that has this mean and
this sd, as it is defined for every pair, skewed where the mean is near a bound, and two-peaked where r is near 1. They
matter to the standard deviation of the population alone.

Reports. z = c + noise from people's own devices has mean m, and z^2 has the mean E[c^2] + v with v the noise's known
variance, so that the sums of z and z^2 over all reports are evidence of the same kind, with the noise's own moments in
their covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from tacit.likelihoods.clamped_distributions import BetaCoordinate
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays

_EDGE = 1e-12  # how near mean and ratio come to their ends


def central_moments(mean: Any, ratio: Any) -> tuple[Any, Any, Any]:
    """Second, third and fourth central moment of c: beta on [-1, 1] with this mean and ratio.

    With u = (1 + c) / 2 ~ Beta(k p, k (1 - p)), p its mean, q = p (1 - p) and f = ratio^2 = 1 / (1 + k):
    q f, 2 (1 - 2p) q f^2 / (1 + f) and 3 q^2 f^2 + 6 q f^3 ((1 - 2p)^2 - q (1 + f)) / ((1 + f) (1 + 2f)), times 2^k.
    """
    p = (1 + mean) / 2
    q, f = p * (1 - p), ratio**2
    second = q * f
    third = 2 * (1 - 2 * p) * q * f**2 / (1 + f)
    fourth = 3 * second**2 + 6 * q * f**3 * ((1 - 2 * p) ** 2 - q * (1 + f)) / ((1 + f) * (1 + 2 * f))
    return 4 * second, 8 * third, 16 * fourth


def two_moments(mean: Any, ratio: Any, noise: tuple[float, float] = (0.0, 0.0)) -> tuple[Any, Any]:
    """Mean and covariance of (z, z^2) for z = c + e; ``noise`` is the variance and the fourth moment of e."""
    second, third, fourth = central_moments(mean, ratio)
    variance, noise_fourth = noise
    fourth = fourth + 6 * second * variance + noise_fourth
    second = second + variance
    cross = 2 * mean * second + third
    square = 4 * mean**2 * second + 4 * mean * third + fourth - second**2
    return jnp.stack([mean, mean**2 + second]), jnp.stack([jnp.stack([second, cross]), jnp.stack([cross, square])])


@dataclass(frozen=True)
class BoundedNumber:
    """The prior: (1 + m) / 2 ~ Beta(``mean_a``, ``mean_b``) and r ~ Beta(``ratio_a``, ``ratio_b``), independent."""

    mean_a: float
    mean_b: float
    ratio_a: float
    ratio_b: float
    low: ClassVar[float] = -1.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 2

    @property
    def _coordinates(self) -> tuple[BetaCoordinate, BetaCoordinate]:
        return BetaCoordinate(self.mean_a, self.mean_b), BetaCoordinate(self.ratio_a, self.ratio_b)

    def mean_and_ratio(self, phi: Any) -> tuple[Any, Any]:
        """m in [-1, 1] and r in [0, 1]."""
        place, ratio = self._coordinates
        shares = [one.value(one.natural(phi[i])) for i, one in enumerate((place, ratio))]
        share, r = (jnp.clip(value, _EDGE, 1 - _EDGE) for value in shares)
        return 2 * share - 1, r

    def parameters(self, phi: Any) -> Arrays:
        """``mean`` and ``sd`` of c, and the ``ratio`` of sd to the largest one."""
        mean, ratio = self.mean_and_ratio(phi)
        return {"mean": mean, "sd": ratio * jnp.sqrt((1 - mean) * (1 + mean)), "ratio": ratio}

    def log_prior(self, phi: Any) -> Any:
        """That of both coordinates."""
        place, ratio = self._coordinates
        return place.log_prior(phi[0]) + ratio.log_prior(phi[1])

    def power_moments(self, phi: Any, powers: tuple[int, ...]) -> tuple[Any, Any]:
        """Mean and covariance of (c, c^2)."""
        assert powers == (1, 2)
        return two_moments(*self.mean_and_ratio(phi))

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """None: nothing here needs more than moments."""
        raise NotImplementedError

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """None: reports are summed, see `ReportSums`."""
        raise NotImplementedError

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """None: reports are summed, see `ReportSums`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ReportSums:
    """The sums of z and z^2 over ``n`` reports z = c + e; ``noise`` is the variance and the fourth moment of e."""

    n: Any
    noise: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", argument(self.n))
        object.__setattr__(self, "noise", argument(self.noise))

    @property
    def size(self) -> int:
        """Two sums."""
        return 2

    def _moments(self, distribution: BoundedNumber, phi: Any) -> tuple[Any, Any]:
        noise = (self.noise[0], self.noise[1])
        mean, covariance = two_moments(*distribution.mean_and_ratio(phi), noise)
        return self.n * mean, self.n * covariance

    def log_likelihood(self, distribution: BoundedNumber, phi: Any, numbers: Any, _: Any) -> Any:
        """Normal, by the central limit theorem over the reports."""
        mean, covariance = self._moments(distribution, phi)
        (a, b), (_, d) = covariance
        first, rest = numbers - mean
        left = d - b * b / a
        return -0.5 * (first**2 / a + (rest - b / a * first) ** 2 / left + jnp.log(a) + jnp.log(left))

    def information(self, distribution: BoundedNumber, phi: Any, _: Any, __: Any) -> Any:
        """J'WJ, J the Jacobian of the expected sums and W their precision."""
        jacobians = jax.jacfwd(lambda p: self._moments(distribution, p)[0])(phi)
        return jacobians.T @ jnp.linalg.solve(self._moments(distribution, phi)[1], jacobians)
