"""Negative binomial regression: a count that varies more than a Poisson one, explained by others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import LAWLESS_1987, Paper
from tacit.models.effects import EffectScale
from tacit.models.likelihood_regression import LikelihoodRegression, Scalar
from tacit.models.model import Example
from tacit.models.responses import CountDensity, CountResponse, count_response
from tacit.runtime.chain import Arrays
from tacit.schema import Schema


@dataclass(frozen=True)
class NegativeBinomialRegression(LikelihoodRegression):
    """y | x has mean m = e^eta and variance m + m^2 / size; counts above the declared largest are clamped to it.

    P(Y = y) = Gamma(y + size) / (Gamma(size) y!) (size / (size + m))^size (m / (size + m))^y
    """

    family: ClassVar[str] = "negative-binomial-regression"
    about: ClassVar[str] = "a count that varies more than a Poisson one, explained by others"
    papers: ClassVar[tuple[Paper, ...]] = (LAWLESS_1987,)
    steepest: ClassVar[float] = 3.5
    effect_scale: ClassVar[EffectScale] = "rate"
    extra: ClassVar[tuple[Scalar, ...]] = (Scalar("size", 0.5, 1.0),)

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Visits to a doctor."""
        schema = Schema(visits=(0, 24), age=(18, 90), sex=["f", "m"])
        return (Example(cls("visits ~ age + sex"), schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def response(self, schema: Schema) -> CountResponse:
        """A count up to the declared largest one."""
        return count_response(self.design(schema).formula.response, schema)

    def density(self, schema: Schema) -> CountDensity:
        """P(Y = 0) = (size / (size + m))^size, and P(Y = y + 1) / P(Y = y) = (size + y) / (y + 1) m / (size + m)."""
        import jax.numpy as jnp

        def none(eta: Any, s: Any) -> Any:
            return jnp.exp(s[0]) * (s[0] - jnp.logaddexp(s[0], eta))

        def ratio(y: Any, eta: Any, s: Any) -> Any:
            return jnp.log((jnp.exp(s[0]) + y) / (y + 1)) + eta - jnp.logaddexp(s[0], eta)

        return CountDensity(none, ratio)

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """Poisson counts whose rates are drawn first."""
        import numpy as np

        size = float(parameters["size"])
        return rng.poisson(np.exp(np.minimum(eta, 20.0)) * rng.gamma(size, 1 / size, len(eta)))

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The mean of the count before clamping."""
        import numpy as np

        return np.exp(np.minimum(self.predictor(draws, schema, new), 20.0))
