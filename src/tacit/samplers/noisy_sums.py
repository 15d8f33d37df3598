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

from tacit.samplers.clamped_laws import Law
from tacit.samplers.evidence_chain import Sums

_NODES, _WEIGHTS = leggauss(32)
_NORMAL_REACH, _LAPLACE_REACH = 8.0, 40.0  # standard deviations, scales


def normal_laplace(residual: Any, sd: Any, scale: Any) -> Any:
    """The log density of N(0, ``sd``^2) + Laplace(``scale``) at ``residual``.

    With r the residual, s the sd and b the scale it is log of 1/(2b) e^{s^2/(2b^2)} times
    e^{-r/b} Phi(r/s - s/b) + e^{r/b} Phi(-r/s - s/b).
    """
    ratio, place = sd / scale, residual / sd
    up = -residual / scale + log_ndtr(place - ratio)
    down = residual / scale + log_ndtr(-place - ratio)
    return jnp.logaddexp(up, down) + ratio**2 / 2 - jnp.log(2 * scale)


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
    return not isinstance(piece, Sums) or (piece.size == len(piece.powers) and len(set(np.ravel(piece.laplace))) == 1)


def log_marginal(piece: Any, law: Law, phi: Any, numbers: Any) -> Any:
    """The log density of a piece's numbers given the parameters alone, up to a constant."""
    if not isinstance(piece, Sums):
        return piece.log_likelihood(law, phi, numbers, None)
    mean, covariance = piece.moments(law, phi)
    # Far below the noise; a law may have no spread at all.
    covariance = covariance + (1e-9 * piece.n) ** 2 * np.eye(piece.size)
    if not np.all(piece.laplace):
        return piece.log_likelihood(law, phi, numbers, piece.scales**2 + (1e-9 * piece.n) ** 2)
    if piece.size == 1:
        return normal_laplace(numbers[0] - mean[0], jnp.sqrt(covariance[0, 0]), piece.scales[0])
    return two_normal_laplace(numbers - mean, covariance, piece.scales)
