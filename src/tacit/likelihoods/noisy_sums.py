"""How likely noisy sums are when the exact sums are normal: closed forms, and one quadrature.

A sum that is normal by the central limit theorem has with Laplace noise the normal-Laplace density. Two such sums with
Laplace noise on each have no closed form; given the first exact sum the second noisy one is normal-Laplace, and the
first is integrated out by a Gauss-Legendre rule.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from numpy.polynomial.legendre import leggauss

from tacit.likelihoods.clamped_distributions import ClampedDistribution, power_moments
from tacit.likelihoods.evidence import NoisyPowerSums, log_normal

_NODES, _WEIGHTS = leggauss(32)
_NORMAL_REACH, _LAPLACE_REACH = 8.0, 40.0  # standard deviations, scales
_SERIES = -20.0  # from here on the first term that is left out, 2e6 / 20^16, is below 1e-14
_SERIES_TERMS = np.array([-135135.0, 10395.0, -945.0, 105.0, -15.0, 3.0, -1.0, 1.0])


def normal_laplace(residual: Any, sd: Any, scale: Any) -> Any:
    """The log density of N(0, ``sd``^2) + Laplace(``scale``) at ``residual``.

    With r the residual, s the sd and b the scale it is log of 1/(2b) e^{s^2/(2b^2)} times
    e^{-r/b} Phi(r/s - s/b) + e^{r/b} Phi(-r/s - s/b).
    """
    ratio, place = sd / scale, residual / sd
    return jnp.logaddexp(_one_side(place, ratio), _one_side(-place, ratio)) - jnp.log(2 * scale)


def _one_side(place: Any, ratio: Any) -> Any:
    """log of e^{ratio^2/2 - place ratio} Phi(place - ratio), with no difference of large numbers.

    Where a = place - ratio is negative the exponent is (a^2 - place^2) / 2, and e^{a^2/2} Phi(a) is of moderate size
    however large the ratio: noise far below the sampling spread leaves the normal density.
    """
    away = place - ratio
    near, far = jnp.maximum(away, _SERIES), jnp.minimum(away, _SERIES)
    within = log_ndtr(near)  # most of the time that a table takes goes into it
    series = jnp.log(jnp.polyval(_SERIES_TERMS, far**-2.0) / -far) - math.log(2 * math.pi) / 2
    tail = jnp.where(away > _SERIES, near**2 / 2 + within, series) - place**2 / 2
    return jnp.where(away < 0, tail, ratio * (ratio / 2 - place) + within)


def two_normal_laplace(residual: Any, covariance: Any, scales: Any) -> Any:
    """The log density of N(0, ``covariance``) + independent Laplace noise of ``scales`` at ``residual`` (2,).

    The first normal part e runs over 8 of its standard deviations and 40 scales around the first residual, in three
    pieces that end where the density has, or nearly has, a kink: at the first residual, and where the second residual
    is what e predicts.
    """
    first = jnp.sqrt(covariance[0, 0])
    slope = covariance[0, 1] / covariance[0, 0]
    rest = jnp.sqrt(jnp.maximum(covariance[1, 1] - slope * covariance[0, 1], 1e-12 * covariance[1, 1]))
    low = jnp.maximum(-_NORMAL_REACH * first, residual[0] - _LAPLACE_REACH * scales[0])
    low = jnp.minimum(low, _NORMAL_REACH * first)
    high = jnp.minimum(_NORMAL_REACH * first, residual[0] + _LAPLACE_REACH * scales[0])
    high = jnp.maximum(high, low)
    steep = jnp.abs(slope) > 1e-9
    kinks = jnp.stack([residual[0], jnp.where(steep, residual[1] / jnp.where(steep, slope, 1.0), residual[0])])
    cuts = jnp.concatenate([low[None], jnp.sort(jnp.clip(kinks, low, high)), high[None]])
    half = jnp.diff(cuts)[:, None] / 2
    e = cuts[:-1, None] + half * (1 + _NODES)
    log_first = -((e / first) ** 2) / 2 - jnp.log(first * math.sqrt(2 * math.pi))
    log_noise = -jnp.abs(residual[0] - e) / scales[0] - jnp.log(2 * scales[0])
    terms = log_first + log_noise + normal_laplace(residual[1] - slope * e, rest, scales[1])
    return jax.scipy.special.logsumexp(terms, b=half * _WEIGHTS)


def closed(piece: Any) -> bool:
    """Whether `log_marginal` knows a piece: not several releases of the same sums, nor two kinds of noise."""
    return not isinstance(piece, NoisyPowerSums) or (
        piece.size == len(piece.powers) and len(set(np.ravel(piece.laplace))) == 1
    )


def log_marginal(piece: Any, distribution: ClampedDistribution, phi: Any, numbers: Any) -> Any:
    """The log density of a piece's numbers given the parameters alone, up to a constant."""
    if not isinstance(piece, NoisyPowerSums):
        return piece.log_likelihood(distribution, phi, numbers, None)
    if not np.all(piece.laplace):
        return piece.log_likelihood(distribution, phi, numbers, piece.scales**2 + (1e-9 * piece.n) ** 2)
    mean, covariance = power_moments(distribution, phi, piece.powers)
    return log_sums(piece.n, mean, covariance, numbers, piece.scales, laplace=True)


def log_sums(n: Any, mean: Any, covariance: Any, numbers: Any, scales: Any, *, laplace: bool) -> Any:
    """The log density of one or two noisy sums over ``n`` rows, of which one has ``mean`` and ``covariance``."""
    # Far below the noise; a distribution may have no spread at all.
    size, slight = len(scales), (1e-9 * n) ** 2
    residual, covariance = numbers - n * mean, n * covariance + slight * np.eye(len(scales))
    if not laplace:
        return log_normal(residual, covariance + jnp.diag(scales**2))
    if size == 1:
        return normal_laplace(residual[0], jnp.sqrt(covariance[0, 0]), scales[0])
    return two_normal_laplace(residual, covariance, scales)
