"""Distributions of one clamped number: parameters, priors, moments, and the density of a report.

A value outside its bounds is clamped, so the number c that a person holds follows the rectified distribution: the
family's own density inside the bounds and atoms at the ends (kulkarni2022, equation (6)). That distribution is the
model, so clamping biases nothing. Numbers are in mapped units:

    normal         c in [-1, 1]    x ~ N(mean, sd^2),                mean ~ N(centre, mean_sd^2),
                                                                     log sd ~ N(log sd_median, sd_spread^2),
                                                                     or sd ~ Gamma(shape, rate)
    exponential    c in [0, 1]     x ~ Exponential(rate),            rate ~ Gamma(shape, rate)
    counts         c = min(Y, K)/K, Y with any pmf of one parameter, a rate ~ Gamma(shape, rate) or p ~ Beta(a, b)

A log-normal prior for sd unless a gamma one is asked for: it is exactly normal in the coordinate that is sampled, and
it keeps off 0, where clamped data under noise say nothing about sd. Every distribution has coordinates phi, a vector of
``size`` real numbers in which its prior has mean 0 and spread 1: what samplers move.

Moments. Each distribution gives `atoms`: finitely many points and weights that have its moments. For counts they are
the distribution itself. For a density they are the two ends and the nodes of a Gauss-Legendre rule on the part of the
bounds where the density lives, 9 standard deviations around the mean or 50 / rate from 0. Moments are then sums of
positive terms, true to 13 digits for every parameter, and covariances, taken around the mean, cannot lose positive
semidefiniteness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from numpy.polynomial.legendre import leggauss
from scipy.special import digamma, polygamma

from tacit.errors import expected
from tacit.likelihoods.report_densities import (
    exponential_gaussian_report,
    exponential_report,
    lattice_gaussian_report,
    lattice_report,
    normal_gaussian_report,
    normal_report,
)
from tacit.runtime.chain import Arrays

MOST_COUNTS = 100_000
_NODES, _NODE_WEIGHTS = leggauss(80)
_LOG_LIMIT = 60.0  # of logs of scales and rates: past e^60 nothing changes any more


class ClampedDistribution(Protocol):
    """What the samplers need of a distribution; ``size`` numbers phi, c in [``low``, ``high``]."""

    size: ClassVar[int]
    low: ClassVar[float]
    high: ClassVar[float]

    def parameters(self, phi: Any) -> Arrays:
        """The parameters by name."""
        ...

    def log_prior(self, phi: Any) -> Any:
        """The log density of the prior with respect to phi, up to a constant."""
        ...

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """Points and weights that have the moments of c."""
        ...

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """The log density of z = c + Laplace(``scale``), elementwise in ``z``."""
        ...

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """The log density of z = c + N(0, ``noise``^2), elementwise in ``z``."""
        ...


@runtime_checkable
class KnownMoments(Protocol):
    """A distribution that has its moments in closed form, and no use for atoms."""

    def power_moments(self, phi: Any, powers: tuple[int, ...]) -> tuple[Any, Any]:
        """Mean and covariance of (c^k for k in ``powers``)."""
        ...


def moments(distribution: ClampedDistribution, phi: Any, count: int = 4) -> Any:
    """E[c^k] for k = 1 .. ``count``."""
    points, weights = distribution.atoms(phi)
    return jnp.stack([jnp.sum(weights * points**k) for k in range(1, count + 1)])


def power_moments(distribution: ClampedDistribution, phi: Any, powers: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and covariance of (c^k for k in ``powers``)."""
    if isinstance(distribution, KnownMoments):
        return distribution.power_moments(phi, powers)
    points, weights = distribution.atoms(phi)
    values = jnp.stack([points**k for k in powers])
    mean = values @ weights
    away = values - mean[:, None]
    return mean, (away * weights) @ away.T


@dataclass(frozen=True)
class GammaCoordinate:
    """A rate ~ Gamma(``shape``, ``rate``): its natural coordinate is its logarithm, t standardises that."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        _check_positive(self)

    @property
    def _standard(self) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm."""
        return float(digamma(self.shape) - math.log(self.rate)), math.sqrt(polygamma(1, self.shape))

    def natural(self, t: Any) -> Any:
        """The logarithm of the rate."""
        mean, spread = self._standard
        return jnp.clip(mean + spread * t, -_LOG_LIMIT, _LOG_LIMIT)

    def value(self, natural: Any) -> Any:
        """The rate."""
        return jnp.exp(natural)

    def place(self, rate: Any) -> Any:
        """t of the rate."""
        mean, spread = self._standard
        return (jnp.log(rate) - mean) / spread

    def log_prior(self, t: Any) -> Any:
        """shape log(rate) - rate * rate, the Jacobian of the logarithm included."""
        mean, spread = self._standard
        return self.shape * (mean + spread * t) - self.rate * jnp.exp(self.natural(t))


@dataclass(frozen=True)
class ClampedNormal:
    """x ~ N(mean, sd^2) clamped to [-1, 1]; sd = ``sd_median`` exp(``sd_spread`` phi_1), or with the prior ``gamma``.

    mean = ``centre`` + ``mean_sd`` phi_0.
    """

    mean_sd: float
    sd_median: float
    sd_spread: float
    centre: float = 0.0
    gamma: GammaCoordinate | None = None
    low: ClassVar[float] = -1.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _check_positive(self)

    def parameters(self, phi: Any) -> Arrays:
        """``mean`` and ``sd`` of x."""
        if self.gamma is not None:
            log_sd = self.gamma.natural(phi[1])
        else:
            log_sd = math.log(self.sd_median) + self.sd_spread * phi[1]
        return {"mean": self.centre + self.mean_sd * phi[0], "sd": _exp(log_sd)}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameters."""
        if self.gamma is not None:
            place = self.gamma.place(parameters["sd"])
        else:
            place = jnp.log(parameters["sd"] / self.sd_median) / self.sd_spread
        return jnp.stack([(parameters["mean"] - self.centre) / self.mean_sd, place])

    def log_prior(self, phi: Any) -> Any:
        """phi is standard normal, but for the second number where sd has a gamma prior."""
        if self.gamma is not None:
            return -(phi[0] ** 2) / 2 + self.gamma.log_prior(phi[1])
        return -jnp.sum(phi**2) / 2

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """Both ends, and nodes within 9 sd of the mean."""
        mean, sd = self.parameters(phi).values()
        first, last = (jnp.clip(mean + side * 9 * sd, self.low, self.high) for side in (-1, 1))
        points, widths = _rule(first, last)
        density = jnp.exp(-(((points - mean) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))
        ends = ndtr((self.low - mean) / sd), ndtr((mean - self.high) / sd)
        return _with_ends(self, points, density * widths, *ends)

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """See `normal_report`."""
        mean, sd = self.parameters(phi).values()
        return normal_report(z, mean, sd, low=self.low, high=self.high, scale=scale)

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """See `normal_gaussian_report`."""
        mean, sd = self.parameters(phi).values()
        return normal_gaussian_report(z, mean, sd, low=self.low, high=self.high, noise=noise)


@dataclass(frozen=True)
class BetaCoordinate:
    """A share p ~ Beta(``a``, ``b``): its natural coordinate is its logit, t standardises that."""

    a: float
    b: float

    def __post_init__(self) -> None:
        _check_positive(self)

    @property
    def _standard(self) -> tuple[float, float]:
        """Mean and standard deviation of the logit."""
        return float(digamma(self.a) - digamma(self.b)), math.sqrt(polygamma(1, self.a) + polygamma(1, self.b))

    def natural(self, t: Any) -> Any:
        """The logit of p."""
        mean, spread = self._standard
        return mean + spread * t

    def value(self, natural: Any) -> Any:
        """p itself."""
        return jax.nn.sigmoid(natural)

    def place(self, p: Any) -> Any:
        """t of p."""
        mean, spread = self._standard
        return (jnp.log(p) - jnp.log1p(-p) - mean) / spread

    def log_prior(self, t: Any) -> Any:
        """a log p + b log(1 - p), the Jacobian of the logit included."""
        logit = self.natural(t)
        return self.a * jax.nn.log_sigmoid(logit) + self.b * jax.nn.log_sigmoid(-logit)


@dataclass(frozen=True)
class ClampedExponential:
    """x ~ Exponential(rate) clamped to [0, 1]; rate ~ Gamma(``shape``, ``rate``), phi standardises its logarithm."""

    shape: float
    rate: float
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_positive(self)

    @property
    def _coordinate(self) -> GammaCoordinate:
        return GammaCoordinate(self.shape, self.rate)

    def parameters(self, phi: Any) -> Arrays:
        """``rate`` of x in mapped units."""
        return {"rate": jnp.exp(self._coordinate.natural(phi[0]))}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameters."""
        return jnp.stack([self._coordinate.place(parameters["rate"])])

    def log_prior(self, phi: Any) -> Any:
        """That of the rate."""
        return self._coordinate.log_prior(phi[0])

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """The upper end, and nodes up to 50 / rate."""
        rate = self.parameters(phi)["rate"]
        points, widths = _rule(jnp.zeros_like(rate), jnp.minimum(50 / rate, 1.0))
        return _with_ends(self, points, rate * jnp.exp(-rate * points) * widths, jnp.zeros_like(rate), jnp.exp(-rate))

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """See `exponential_report`."""
        return exponential_report(z, self.parameters(phi)["rate"], high=self.high, scale=scale)

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """See `exponential_gaussian_report`."""
        return exponential_gaussian_report(z, self.parameters(phi)["rate"], high=self.high, noise=noise)


class CountPmf(Protocol):
    """A distribution of counts 0, 1, 2, ... with one unknown ``parameter``, in its natural coordinate."""

    parameter: ClassVar[str]

    def log_pmf(self, counts: Any, natural: Any) -> Any:
        """log P(Y = j) for each j of ``counts``."""
        ...

    def tail(self, most: int, natural: Any) -> Any:
        """P(Y >= ``most``)."""
        ...


@dataclass(frozen=True)
class ClampedCounts:
    """c = min(Y, ``most``) / ``most`` for a count Y of ``family``; the prior of its parameter is ``coordinate``'s."""

    family: CountPmf
    most: int
    coordinate: GammaCoordinate | BetaCoordinate
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not isinstance(self.most, int) or not 1 <= self.most <= MOST_COUNTS:
            raise expected("most", self.most, f"to be a whole number from 1 to {MOST_COUNTS}")

    def parameters(self, phi: Any) -> Arrays:
        """The parameter by its name."""
        return {self.family.parameter: self.coordinate.value(self.coordinate.natural(phi[0]))}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameter."""
        return jnp.stack([self.coordinate.place(parameters[self.family.parameter])])

    def log_prior(self, phi: Any) -> Any:
        """That of the parameter."""
        return self.coordinate.log_prior(phi[0])

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """The distribution itself."""
        natural = self.coordinate.natural(phi[0])
        below = jnp.exp(self.family.log_pmf(np.arange(self.most, dtype=np.float64), natural))
        return np.arange(self.most + 1) / self.most, jnp.append(below, self.family.tail(self.most, natural))

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """See `lattice_report`."""
        return lattice_report(z, self.atoms(phi)[1], high=self.high, scale=scale)

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """See `lattice_gaussian_report`."""
        return lattice_gaussian_report(z, self.atoms(phi)[1], high=self.high, noise=noise)


def _rule(first: Any, last: Any) -> tuple[Any, Any]:
    half = (last - first) / 2
    return first + half * (1 + _NODES), half * _NODE_WEIGHTS


def _with_ends(distribution: Any, points: Any, weights: Any, lowest: Any, highest: Any) -> tuple[Any, Any]:
    ends = np.array([distribution.low, distribution.high])
    return jnp.concatenate([ends, points]), jnp.concatenate([jnp.stack([lowest, highest]), weights])


def _exp(value: Any) -> Any:
    return jnp.exp(jnp.clip(value, -_LOG_LIMIT, _LOG_LIMIT))


def _check_positive(distribution: Any) -> None:
    for field in fields(distribution):
        name, value = field.name, getattr(distribution, field.name)
        if name in ("centre", "gamma"):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 <= value <= 1e9:
            raise expected(name, value, "to be a number from 1e-6 to 1e9")
