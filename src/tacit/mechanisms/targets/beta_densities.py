"""The bounded densities of the regression families, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.mechanisms.targets.bounded_density import BoundedDensity
from tacit.privacy.beta_divergence import Gaussian, LossRange, Probabilities, gaussian
from tacit.privacy.poisson_power_sums import KNOTS, LOG_MEANS, STEP, power_sum_table
from tacit.privacy.poisson_range import CountsRange


@dataclass(frozen=True)
class BernoulliDensity(BoundedDensity):
    """P(y | x) = 1 / (1 + exp(-y theta'x)), y in {-1, 1}."""

    @property
    def loss_range(self) -> LossRange:
        return Probabilities()

    def log_density(self, theta: Any, x: Any, y: Any) -> Any:
        """ln P(y | x)."""
        import jax

        return jax.nn.log_sigmoid(y * self.predictor(theta, x))

    @property
    def linear_logistic(self) -> bool:
        """For this predictor alone, and none that builds on it."""
        return type(self) is BernoulliDensity

    def power_integral(self, theta: Any, x: Any, beta: float) -> Any:
        import jax
        import jax.numpy as jnp

        u = self.predictor(theta, x)
        return jnp.exp(beta * jax.nn.log_sigmoid(u)) + jnp.exp(beta * jax.nn.log_sigmoid(-u))


@dataclass(frozen=True)
class Softmax(BoundedDensity):
    """P(y = k | x) proportional to exp(theta_k'x), theta (classes, design) in all; y a code from 0 to classes - 1."""

    classes: int

    @property
    def loss_range(self) -> LossRange:
        """1/b, whatever the number of classes."""
        return Probabilities()

    def _logs(self, theta: Any, x: Any) -> Any:
        import jax

        return jax.nn.log_softmax(x @ theta.reshape(self.classes, -1).T, axis=1)

    def log_density(self, theta: Any, x: Any, y: Any) -> Any:
        """ln P(y | x)."""
        import jax.numpy as jnp

        return jnp.take_along_axis(self._logs(theta, x), y.astype(int)[:, None], axis=1)[:, 0]

    def power_integral(self, theta: Any, x: Any, beta: float) -> Any:
        """The sum over classes of P^beta."""
        import jax.numpy as jnp

        return jnp.exp(beta * self._logs(theta, x)).sum(axis=1)


@dataclass(frozen=True)
class NormalDensity(BoundedDensity):
    """y ~ N(theta'x, sigma^2) with sigma > ``sigma_min``, both in mapped units.

    Prior: theta_j ~ N(0, sd^2) and sigma^2 ~ InvGamma(``shape``, ``scale``), cut off below sigma_min^2.
    The last number of theta is v, with sigma = sigma_min + e^v; what is released is sigma.
    """

    sigma_min: float
    shape: float
    scale: float
    unit: float = 1.0
    """What 1 in mapped units is in the units of the response, for words only."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The coefficients and sigma."""
        return (*self.coefficients, "sigma")

    @property
    def loss_range(self) -> Gaussian:
        """M^b / b with M = 1 / (sqrt(2 pi) sigma_min)."""
        return gaussian(self.sigma_min, unit=self.unit)

    def log_density(self, theta: Any, x: Any, y: Any) -> Any:
        """ln N(y; theta'x, sigma^2)."""
        import jax.numpy as jnp

        sigma = self.sigma_min + jnp.exp(theta[-1])
        return -jnp.square((y - self.predictor(theta[:-1], x)) / sigma) / 2 - jnp.log(sigma) - math.log(2 * math.pi) / 2

    def power_integral(self, theta: Any, x: Any, beta: float) -> Any:
        """(2 pi sigma^2)^(-b/2) beta^(-1/2)."""
        import jax.numpy as jnp

        log_sigma = jnp.log(self.sigma_min + jnp.exp(theta[-1]))
        one = jnp.exp(-(beta - 1) * (log_sigma + math.log(2 * math.pi) / 2)) / math.sqrt(beta)
        return jnp.broadcast_to(one, (x.shape[0],))

    def prior_potential(self, theta: Any) -> Any:
        """Of (theta, v): the prior at sigma^2, times d sigma^2 / dv = 2 sigma e^v."""
        import jax.numpy as jnp

        sigma = self.sigma_min + jnp.exp(theta[-1])
        on_theta = theta[:-1] @ theta[:-1] / (2 * self.sd**2)
        on_sigma = (2 * self.shape + 2) * jnp.log(sigma) + self.scale / sigma**2
        return on_theta + on_sigma - jnp.log(sigma) - theta[-1]

    @property
    def draws_prior(self) -> bool:
        """As for every density."""
        return type(self).prior_potential is NormalDensity.prior_potential

    def prior_draws(self, count: int, source: Any) -> Any:
        """1 / sigma^2 is a gamma variable cut off above 1 / sigma_min^2: by inversion."""
        import numpy as np
        from scipy.special import gammainc, gammaincinv

        from tacit.private_samplers.entropy_arrays import normals, uniforms

        size = len(self.parameters)
        found = self.sd * normals((count, size), source)
        share = uniforms((count,), source) * gammainc(self.shape, self.scale / self.sigma_min**2)
        with np.errstate(all="ignore"):
            sigma = np.sqrt(self.scale / gammaincinv(self.shape, share))
            found[:, -1] = np.log(np.maximum(sigma - self.sigma_min, 1e-16 * self.sigma_min))
        return found

    def fitted(self, x: Any, y: Any) -> Any:
        """The least squares of few rows, not far outside the prior, at the middle of sigma's prior."""
        import numpy as np

        start, _ = self.wide
        start[:-1] = np.clip(np.linalg.lstsq(x, y, rcond=None)[0], -6 * self.sd, 6 * self.sd)
        return start

    @property
    def wide(self) -> Any:
        """Coefficients as wide as the prior; v around the middle of sigma's prior, within a factor of e^2."""
        import numpy as np

        found = np.zeros((2, len(self.parameters)))
        found[1, :-1] = self.sd
        found[:, -1] = math.log(math.sqrt(self.scale / (self.shape + 1)) + self.sigma_min), 2.0
        return found

    def released(self, theta: Any) -> Any:
        """sigma in place of v."""
        import numpy as np

        out = np.array(theta, float)
        out[-1] = self.sigma_min + np.exp(out[-1])
        return out

    def theta_of(self, released: Any) -> Any:
        """v in place of sigma; sigma rounded down to sigma_min counts as just above it."""
        import numpy as np

        out = np.array(released, float)
        out[:, -1] = np.log(np.maximum(out[:, -1] - self.sigma_min, 1e-12))
        return out


@dataclass(frozen=True)
class NormalOfSigma(NormalDensity):
    """The same with coefficients in proportion to sigma: theta_j ~ N(0, (``sd`` sigma)^2) (jewson2023, appendix B)."""

    def prior_potential(self, theta: Any) -> Any:
        """That of the coefficients has sd sigma in place of sd, and so the density a factor sigma^-p."""
        import jax.numpy as jnp

        sigma = self.sigma_min + jnp.exp(theta[-1])
        squares = theta[:-1] @ theta[:-1] / (2 * self.sd**2)
        return super().prior_potential(theta) + squares * (sigma**-2 - 1) + len(self.coefficients) * jnp.log(sigma)

    @property
    def draws_prior(self) -> bool:
        """As for every density."""
        return type(self).prior_potential is NormalOfSigma.prior_potential

    def prior_draws(self, count: int, source: Any) -> Any:
        """As there, with the coefficients times sigma."""
        import numpy as np

        found = super().prior_draws(count, source)
        found[:, :-1] *= self.sigma_min + np.exp(found[:, -1:])
        return found

    @property
    def wide(self) -> Any:
        """As there, with the coefficients of the middle sigma."""
        found = super().wide
        found[1, :-1] *= self.sigma_min + math.exp(found[0, -1])
        return found


@dataclass(frozen=True)
class PoissonDensity(BoundedDensity):
    """y ~ Poisson(mean), ln mean = theta'x (``link`` "log") or mean = ln(1 + e^(theta'x)) ("softplus").

    ln mean is moved into [-20, 9]. That is a Poisson model as well, so the range of the loss holds.
    """

    link: str

    @property
    def loss_range(self) -> LossRange:
        """That of counts with any mean, which is less than 1/b."""
        return CountsRange()

    def checked_beta(self, beta: float) -> float:
        """``beta``, refused where the table is not fine enough for it."""
        power_sum_table(beta)
        return beta

    def _log_mean(self, theta: Any, x: Any) -> Any:
        import jax
        import jax.numpy as jnp

        u = jnp.clip(x @ theta, -1e4, 1e4)
        log_mean = u if self.link == "log" else jnp.where(u < -30, u, jnp.log(jax.nn.softplus(jnp.maximum(u, -30.0))))
        return jnp.clip(log_mean, *LOG_MEANS)

    def log_density(self, theta: Any, x: Any, y: Any) -> Any:
        """ln f(y | mean)."""
        import jax
        import jax.numpy as jnp

        log_mean = self._log_mean(theta, x)
        return y * log_mean - jnp.exp(log_mean) - jax.scipy.special.gammaln(y + 1)

    def power_integral(self, theta: Any, x: Any, beta: float) -> Any:
        import jax.numpy as jnp

        table = power_sum_table(beta)
        values, derivatives = jnp.asarray(table.values), jnp.asarray(table.derivatives)
        place = (self._log_mean(theta, x) - LOG_MEANS[0]) / STEP
        knot = jnp.clip(jnp.floor(place).astype(int), 0, KNOTS - 2)
        t = place - knot  # cubic Hermite interpolation between two knots
        ends = values[knot] * (1 + 2 * t) * (1 - t) ** 2 + values[knot + 1] * (3 - 2 * t) * t**2
        bends = derivatives[knot] * t * (1 - t) ** 2 - derivatives[knot + 1] * (1 - t) * t**2
        return jnp.exp(ends + STEP * bends)
