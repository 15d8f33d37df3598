"""The response of a generalised linear model given its predictor u, for samplers that hold every record.

y is -1 or 1 with P(y = 1) = expit(u), or y = min(Y, K) for a Poisson count Y of mean lambda = log(1 + e^u) or e^u. A
clamped y may be any count from K on. Its chance is summed from above where it may be small, and from below where it is
not, so no digit is lost (both by Horner's scheme, the second as for moments, and both checked against scipy):

    P(Y >= K) = e^-lambda lambda^K / K! (1 + lambda / (K + 1) (1 + lambda / (K + 2) (1 + ...)))     lambda <= K + 1
    P(Y >= K) = 1 - e^-lambda (1 + lambda (1 + lambda / 2 (1 + ... lambda / (K - 1))))              lambda > K + 1

At lambda = K + 1 the terms of the first fall like exp(-j^2 / 2K) from the largest on: `_terms` of them are enough. The
slope of log P(Y >= K) by lambda is P(Y = K - 1) / P(Y >= K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammainc, gammaln

from tacit.likelihoods.link_moments import Link, below, enough

_FEW = 40
"""The largest K for which sums are written out: a program has a line for every term."""


@dataclass(frozen=True)
class Response:
    """y given u, all elementwise."""

    link: Link

    @property
    def most(self) -> int:
        """The largest count K."""
        assert self.link.clamp is not None
        return self.link.clamp

    def rate(self, u: Any) -> Any:
        """The mean of the count before clamping; exp is held at e^300, where every count is clamped."""
        return jnp.exp(jnp.minimum(u, 300.0)) if self.link.kind == "log" else jax.nn.softplus(u)

    def draw(self, key: Any, u: Any) -> Any:
        """A response."""
        if self.link.kind == "logistic":
            return jnp.where(jax.random.uniform(key, u.shape) < jax.nn.sigmoid(u), 1.0, -1.0)
        rate = jnp.minimum(self.rate(u), enough(self.most))
        if self.most > _FEW:
            return jnp.minimum(1.0 * jax.random.poisson(key, rate), self.most)
        uniform = jax.random.uniform(key, u.shape)
        mass, y = jnp.exp(-rate), jnp.zeros(u.shape)
        passed = mass
        for k in range(1, self.most + 1):  # y is how many of the P(Y < k) the uniform number has passed
            y = y + (uniform >= passed)
            mass = mass * rate / k
            passed = passed + mass
        return y

    def log_likelihood(self, u: Any, y: Any) -> Any:
        """log P(y | u)."""
        if self.link.kind == "logistic":
            return jax.nn.log_sigmoid(y * u)
        rate, clamped = self.rate(u), y >= self.most
        log_rate = u if self.link.kind == "log" else jnp.log(rate)
        exact = y * log_rate - rate - gammaln(y + 1)
        # Where it is not read, a rate with a finite slope.
        upper = log_from(self.most, jnp.where(clamped, rate, self.most))
        return jnp.where(clamped, upper, exact)

    def guess(self, y: Any) -> Any:
        """A predictor that suits y."""
        if self.link.kind == "logistic":
            return np.log(3) * y
        return jnp.log(y + 0.5) if self.link.kind == "log" else jnp.log(jnp.expm1(y + 0.5))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def log_from(most: int, rate: Any) -> Any:
    """log P(Y >= most) for Y ~ Poisson(rate) and a positive ``most``."""
    if most > _FEW:
        return jnp.log(gammainc(float(most), rate))
    middle = most + 1.0
    low, high = jnp.minimum(rate, middle), jnp.clip(rate, middle, enough(most))
    above = jnp.ones_like(rate)
    for j in range(_terms(most), 0, -1):
        above = 1 + low * (1 / (most + j)) * above
    first = most * jnp.log(low) - low - math.lgamma(most + 1) + jnp.log(above)
    return jnp.where(rate <= middle, first, jnp.log1p(-below(most, high)))


@log_from.defjvp
def _(most: int, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (rate,), (change,) = primals, tangents
    value = log_from(most, rate)
    log_last = (most - 1) * jnp.log(rate) - rate - math.lgamma(most)
    return value, jnp.exp(log_last - value) * change


def _terms(most: int) -> int:
    return math.ceil(9 * math.sqrt(most)) + 25
