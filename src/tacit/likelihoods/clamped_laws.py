"""Laws of one clamped number: parameters, priors, moments, and the density of a report.

A value outside its bounds is clamped, so the number c that a person holds follows the rectified law: the family's own
density inside the bounds and atoms at the ends (kulkarni2022, equation (6)). That law is the model, so clamping biases
nothing. Numbers are in mapped units:

    normal         c in [-1, 1]    x ~ N(mean, sd^2),                mean ~ N(centre, mean_sd^2),
                                                                     log sd ~ N(log sd_median, sd_spread^2)
    exponential    c in [0, 1]     x ~ Exponential(rate),            rate ~ Gamma(shape, rate)
    poisson        c = min(Y, K)/K, Y ~ Poisson(rate) in counts,     rate ~ Gamma(shape, rate)
    geometric      c = min(Y, K)/K, P(Y = j) = p (1 - p)^j, j >= 0,  p ~ Beta(a, b)

A log-normal prior for sd, because it is exactly normal in the coordinate that is sampled, and because it keeps off 0,
where clamped data under noise say nothing about sd. Every law has coordinates phi, a vector of ``size`` real numbers in
which its prior has mean 0 and spread 1: what samplers move.

Moments. Each law gives `atoms`: finitely many points and weights that have its moments. For counts they are the law
itself. For a density they are the two ends and the nodes of a Gauss-Legendre rule on the part of the bounds where the
density lives, 9 standard deviations around the mean or 50 / rate from 0. Moments are then sums of positive terms, true
to 13 digits for every parameter, and covariances, taken around the mean, cannot lose positive semidefiniteness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammainc, gammaln, ndtr
from numpy.polynomial.legendre import leggauss
from scipy.special import digamma, polygamma

from tacit.errors import expected
from tacit.likelihoods.gaussian_reports import (
    exponential_gaussian_report,
    lattice_gaussian_report,
    normal_gaussian_report,
)
from tacit.likelihoods.report_densities import exponential_report, lattice_report, normal_report
from tacit.runtime.chain import Arrays

MOST_COUNTS = 100_000
_NODES, _NODE_WEIGHTS = leggauss(80)
_LOG_LIMIT = 60.0  # of logs of scales and rates: past e^60 nothing changes any more


class Law(Protocol):
    """What the samplers need of a law; ``size`` numbers phi, c in [``low``, ``high``]."""

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


def moments(law: Law, phi: Any, count: int = 4) -> Any:
    """E[c^k] for k = 1 .. ``count``."""
    points, weights = law.atoms(phi)
    return jnp.stack([jnp.sum(weights * points**k) for k in range(1, count + 1)])


def power_moments(law: Law, phi: Any, powers: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and covariance of (c^k for k in ``powers``)."""
    points, weights = law.atoms(phi)
    values = jnp.stack([points**k for k in powers])
    mean = values @ weights
    away = values - mean[:, None]
    return mean, (away * weights) @ away.T


@dataclass(frozen=True)
class ClampedNormal:
    """x ~ N(mean, sd^2) clamped to [-1, 1]; sd = ``sd_median`` exp(``sd_spread`` phi_1).

    mean = ``centre`` + ``mean_sd`` phi_0.
    """

    mean_sd: float
    sd_median: float
    sd_spread: float
    centre: float = 0.0
    low: ClassVar[float] = -1.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _check_positive(self)

    def parameters(self, phi: Any) -> Arrays:
        """``mean`` and ``sd`` of x."""
        log_sd = math.log(self.sd_median) + self.sd_spread * phi[1]
        return {"mean": self.centre + self.mean_sd * phi[0], "sd": _exp(log_sd)}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameters."""
        log_sd = jnp.log(parameters["sd"] / self.sd_median)
        return jnp.stack([(parameters["mean"] - self.centre) / self.mean_sd, log_sd / self.sd_spread])

    def log_prior(self, phi: Any) -> Any:
        """phi is standard normal."""
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
class ClampedExponential:
    """x ~ Exponential(rate) clamped to [0, 1]; rate ~ Gamma(``shape``, ``rate``), phi standardises its logarithm."""

    shape: float
    rate: float
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_positive(self)

    def parameters(self, phi: Any) -> Arrays:
        """``rate`` of x in mapped units."""
        return {"rate": _exp(_log_gamma(self, phi[0]))}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameters."""
        return _from_log_gamma(self, parameters["rate"])

    def log_prior(self, phi: Any) -> Any:
        """shape log(rate) - rate * rate, the Jacobian of the logarithm included."""
        return _log_gamma_prior(self, phi[0])

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


@dataclass(frozen=True)
class ClampedPoisson:
    """Y ~ Poisson(rate), c = min(Y, ``most``) / ``most``; rate ~ Gamma(``shape``, ``rate``) as counts a unit."""

    most: int
    shape: float
    rate: float
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_most(self.most)
        _check_positive(self)

    def parameters(self, phi: Any) -> Arrays:
        """``rate``, in counts."""
        return {"rate": _exp(_log_gamma(self, phi[0]))}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameters."""
        return _from_log_gamma(self, parameters["rate"])

    def log_prior(self, phi: Any) -> Any:
        """shape log(rate) - rate * rate, the Jacobian of the logarithm included."""
        return _log_gamma_prior(self, phi[0])

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """The law itself."""
        rate = self.parameters(phi)["rate"]
        counts = np.arange(self.most, dtype=np.float64)
        below = jnp.exp(counts * jnp.log(rate) - rate - gammaln(counts + 1))
        return _counted(self.most, below, gammainc(float(self.most), rate))

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """See `lattice_report`."""
        return lattice_report(z, self.atoms(phi)[1], high=self.high, scale=scale)

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """See `lattice_gaussian_report`."""
        return lattice_gaussian_report(z, self.atoms(phi)[1], high=self.high, noise=noise)


@dataclass(frozen=True)
class ClampedGeometric:
    """P(Y = j) = p (1 - p)^j, c = min(Y, ``most``) / ``most``; p ~ Beta(``a``, ``b``), phi standardises its logit."""

    most: int
    a: float
    b: float
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_most(self.most)
        _check_positive(self)

    @property
    def _standard(self) -> tuple[float, float]:
        """Mean and standard deviation of the logit of p."""
        a, b = self.a, self.b
        return float(digamma(a) - digamma(b)), math.sqrt(polygamma(1, a) + polygamma(1, b))

    def _logit(self, phi: Any) -> Any:
        mean, spread = self._standard
        return mean + spread * phi[0]

    def parameters(self, phi: Any) -> Arrays:
        """``p``, the chance that a count stops where it is."""
        return {"p": jax.nn.sigmoid(self._logit(phi))}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameters."""
        mean, spread = self._standard
        p = parameters["p"]
        return jnp.stack([(jnp.log(p) - jnp.log1p(-p) - mean) / spread])

    def log_prior(self, phi: Any) -> Any:
        """a log p + b log(1 - p), the Jacobian of the logit included."""
        logit = self._logit(phi)
        return self.a * jax.nn.log_sigmoid(logit) + self.b * jax.nn.log_sigmoid(-logit)

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """The law itself."""
        logit = self._logit(phi)
        stay = jax.nn.log_sigmoid(-logit)
        counts = np.arange(self.most, dtype=np.float64)
        return _counted(self.most, jnp.exp(jax.nn.log_sigmoid(logit) + counts * stay), jnp.exp(self.most * stay))

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """See `lattice_report`."""
        return lattice_report(z, self.atoms(phi)[1], high=self.high, scale=scale)

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """See `lattice_gaussian_report`."""
        return lattice_gaussian_report(z, self.atoms(phi)[1], high=self.high, noise=noise)


def _rule(first: Any, last: Any) -> tuple[Any, Any]:
    half = (last - first) / 2
    return first + half * (1 + _NODES), half * _NODE_WEIGHTS


def _with_ends(law: Any, points: Any, weights: Any, lowest: Any, highest: Any) -> tuple[Any, Any]:
    ends = np.array([law.low, law.high])
    return jnp.concatenate([ends, points]), jnp.concatenate([jnp.stack([lowest, highest]), weights])


def _counted(most: int, below: Any, last: Any) -> tuple[Any, Any]:
    return np.arange(most + 1) / most, jnp.append(below, last)


def _exp(value: Any) -> Any:
    return jnp.exp(jnp.clip(value, -_LOG_LIMIT, _LOG_LIMIT))


def _standard_log_gamma(law: ClampedExponential | ClampedPoisson) -> tuple[float, float]:
    """Mean and standard deviation of the logarithm of the prior."""
    return float(digamma(law.shape) - math.log(law.rate)), math.sqrt(polygamma(1, law.shape))


def _log_gamma(law: ClampedExponential | ClampedPoisson, t: Any) -> Any:
    mean, spread = _standard_log_gamma(law)
    return mean + spread * t


def _from_log_gamma(law: ClampedExponential | ClampedPoisson, rate: Any) -> Any:
    mean, spread = _standard_log_gamma(law)
    return jnp.stack([(jnp.log(rate) - mean) / spread])


def _log_gamma_prior(law: ClampedExponential | ClampedPoisson, t: Any) -> Any:
    log_rate = _log_gamma(law, t)
    return law.shape * log_rate - law.rate * _exp(log_rate)


def _check_positive(law: Any) -> None:
    for field in fields(law):
        name, value = field.name, getattr(law, field.name)
        if name == "centre":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 <= value <= 1e9:
            raise expected(name, value, "to be a number from 1e-6 to 1e9")


def _check_most(most: object) -> None:
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_COUNTS:
        raise expected("most", most, f"to be a whole number from 1 to {MOST_COUNTS}")
