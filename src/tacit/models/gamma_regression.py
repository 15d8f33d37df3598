"""Gamma regression: an amount above 0 whose spread grows with its mean, explained by others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.models.effects import EffectScale
from tacit.models.likelihood_regression import LikelihoodRegression, Scalar
from tacit.models.model import Example
from tacit.models.responses import Density, PositiveResponse, positive_response
from tacit.runtime.chain import Arrays
from tacit.schema import Schema


@dataclass(frozen=True)
class GammaRegression(LikelihoodRegression):
    """y | x has mean m = e^eta in units of half the largest declared amount, and standard deviation m / sqrt(shape).

    Amounts of the largest or more are known to be at least so large.
    """

    family: ClassVar[str] = "gamma-regression"
    about: ClassVar[str] = "an amount above 0 whose spread grows with its mean, explained by others"
    steepest: ClassVar[float] = 4.5
    effect_scale: ClassVar[EffectScale] = "rate"
    extra: ClassVar[tuple[Scalar, ...]] = (Scalar("shape", 0.5, 1.0),)

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """What a stay in hospital costs."""
        schema = Schema(cost=(0, 50_000), age=(18, 90), sex=["f", "m"])
        return (Example(cls("cost ~ age + sex"), schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def response(self, schema: Schema) -> PositiveResponse:
        """An amount above 0."""
        return positive_response(self.design(schema).formula.response, schema)

    def density(self, schema: Schema) -> Density:
        """The gamma density and what it leaves on either side."""
        import jax
        import jax.numpy as jnp
        import numpy as np
        from jax.scipy.special import gammaln

        def at(y: Any, eta: Any, s: Any) -> Any:
            shape, log_y = jnp.exp(s[0]), jnp.log(y)
            return shape * (s[0] - eta + log_y - jnp.exp(log_y - eta)) - log_y - gammaln(shape)

        def side(logs: Any) -> Any:  # the trapezoid rule over log y: gammainc has no second derivative in the shape
            weights = np.log(abs(logs[1])) + np.where(logs == 0, np.log(0.5), 0.0)

            def of_y(y: Any, eta: Any, s: Any) -> Any:
                places = y * jnp.exp(logs)
                return jax.nn.logsumexp(at(places, eta, s) + jnp.log(places) + weights)

            return of_y

        return Density(at, above=side(np.linspace(0, 6, 97)), below=side(-np.linspace(0, 60, 301)))

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """Gamma variables around their means."""
        import numpy as np

        shape = float(parameters["shape"])
        return np.exp(np.minimum(eta, 50.0)) * rng.gamma(shape, 1 / shape, len(eta))

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The mean, in the units of the data, before clamping."""
        import numpy as np

        return self.response(schema).unit * np.exp(np.minimum(self.predictor(draws, schema, new), 50.0))
