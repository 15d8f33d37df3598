"""How likely a report with Gaussian noise is: the person's own clamped number integrated or summed out.

c is a number clamped to [low, high], z = c + N(0, noise^2). Then

    p(z) = S(z) / (noise sqrt(2 pi)),    S(z) = E[exp(-(z - c)^2 / (2 noise^2))].

Every term of S is at most 1. S itself is at least exp(-(|z - nearer bound| + high - low)^2 / (2 noise^2)), so that it
cannot underflow where the bounds are less than 29 noises apart and z is within 8 of them; a floor keeps the logarithm
finite where nothing of privacy is left.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax.scipy.special import ndtr

from tacit.likelihoods.report_densities import scaled_tail

_FLOOR = 1e-300


def normal_gaussian_report(z: Any, mean: Any, sd: Any, *, low: float, high: float, noise: float) -> Any:
    """log p(z) for c = clamp(x), x ~ N(mean, sd^2), elementwise in ``z``.

    Inside the bounds x and z are jointly normal, so with v = sd^2 + noise^2 the part of S between them is
    noise / sqrt(v) exp(-(z - mean)^2 / (2 v)) times the chance that N(m, t^2) lies in [low, high], where
    m = (z sd^2 + mean noise^2) / v and t = sd noise / sqrt(v). Each bound adds its atom.
    """
    v = sd**2 + noise**2
    centre, spread = (z * sd**2 + mean * noise**2) / v, sd * noise / jnp.sqrt(v)
    below, above = (low - centre) / spread, (high - centre) / spread
    # Both ends on the lower tail, where differences of probabilities keep their digits.
    flip = below > 0
    chance = ndtr(jnp.where(flip, -below, above)) - ndtr(jnp.where(flip, -above, below))
    inside = noise / jnp.sqrt(v) * jnp.exp(-((z - mean) ** 2) / (2 * v)) * chance
    lowest = ndtr((low - mean) / sd) * _kernel(z - low, noise)
    highest = ndtr((mean - high) / sd) * _kernel(z - high, noise)
    return _log(inside + lowest + highest, noise)


def exponential_gaussian_report(z: Any, rate: Any, *, high: float, noise: float) -> Any:
    """log p(z) for c = min(x, high), x ~ Exponential(rate), elementwise in ``z``.

    With Q the normal tail, the part of S below high is rate noise sqrt(2 pi) e^{-rate z + (rate noise)^2 / 2}
    (Q(t) - Q(u)) for t = rate noise - z / noise and u = t + high / noise. Each tail is written as exp(-t^2 / 2) R(|t|),
    R the scaled tail, so that the factors in front, which may overflow, cancel: the first becomes the noise's kernel at
    0, the second that at high times e^{-rate high}.
    """
    t = rate * noise - z / noise
    u = t + high / noise
    last = jnp.exp(-rate * high) * _kernel(z - high, noise)
    first, second = _kernel(z, noise) * scaled_tail(jnp.abs(t)), last * scaled_tail(jnp.abs(u))
    # Where t < 0 the exponent is -rate (z - rate noise^2 / 2) < 0; elsewhere it is not used.
    whole = jnp.exp(jnp.minimum(-rate * z + (rate * noise) ** 2 / 2, 0.0))
    between = jnp.where((t < 0) & (u >= 0), whole, 0.0)
    tails = between + jnp.where(t < 0, -first, first) - jnp.where(u < 0, -second, second)
    return _log(rate * noise * math.sqrt(2 * math.pi) * jnp.maximum(tails, 0.0) + last, noise)


def lattice_gaussian_report(z: Any, weights: Any, *, high: float, noise: float) -> Any:
    """log p(z) for c that is j high / K with probability ``weights[j]``, j = 0 .. K: a sum, elementwise in ``z``."""
    points = jnp.linspace(0.0, high, weights.shape[-1])
    return _log(_kernel(jnp.asarray(z)[..., None] - points, noise) @ weights, noise)


def _kernel(distance: Any, noise: float) -> Any:
    return jnp.exp(-((distance / noise) ** 2) / 2)


def _log(total: Any, noise: float) -> Any:
    return jnp.log(total + _FLOOR) - math.log(noise * math.sqrt(2 * math.pi))
