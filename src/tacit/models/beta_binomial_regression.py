"""Beta-binomial regression: how many of a fixed number of items, explained by others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.models.effects import EffectScale
from tacit.models.likelihood_regression import LikelihoodRegression, Scalar
from tacit.models.model import Example
from tacit.models.responses import CountDensity, CountResponse, count_response
from tacit.runtime.chain import Arrays
from tacit.schema import Schema


@dataclass(frozen=True)
class BetaBinomialRegression(LikelihoodRegression):
    """y of K items, K the declared largest count, each with the row's own probability, p ~ Beta(m c, (1 - m) c).

    m = 1 / (1 + e^-eta) is the mean share, c = ``concentration``: the smaller, the more the items of a row agree.
    """

    family: ClassVar[str] = "beta-binomial-regression"
    about: ClassVar[str] = "how many of a fixed number of items, explained by others"
    steepest: ClassVar[float] = 2.5
    effect_scale: ClassVar[EffectScale] = "odds"
    extra: ClassVar[tuple[Scalar, ...]] = (Scalar("concentration", 1.0, 1.0),)

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """How many of nine symptoms."""
        schema = Schema(symptoms=(0, 9), age=(18, 90), sex=["f", "m"])
        return (Example(cls("symptoms ~ age + sex"), schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def response(self, schema: Schema) -> CountResponse:
        """A count that cannot be larger than the declared largest one."""
        return count_response(self.design(schema).formula.response, schema, full=True)

    def density(self, schema: Schema) -> CountDensity:
        """With a = m c and b = (1 - m) c: P(Y = 0) = prod_j (b + j) / (c + j), j < K, and
        P(Y = y + 1) / P(Y = y) = (K - y) / (y + 1) (a + y) / (b + K - y - 1).
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        items = self.response(schema).most

        def shapes(eta: Any, s: Any) -> tuple[Any, Any]:
            return jnp.exp(s[0] + jax.nn.log_sigmoid(eta)), jnp.exp(s[0] + jax.nn.log_sigmoid(-eta))

        def none(eta: Any, s: Any) -> Any:
            (_, b), before = shapes(eta, s), np.arange(float(items))
            return jnp.sum(jnp.log((b + before) / (jnp.exp(s[0]) + before)))

        def ratio(y: Any, eta: Any, s: Any) -> Any:
            a, b = shapes(eta, s)
            return jnp.log((items - y) / (y + 1) * (a + y) / (b + items - y - 1))

        return CountDensity(none, ratio)

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """Binomial counts whose probabilities are drawn first."""
        import numpy as np
        from scipy.special import expit

        c, mean = float(parameters["concentration"]), np.clip(expit(eta), 1e-9, 1 - 1e-9)
        return rng.binomial(self.response(schema).most, rng.beta(mean * c, (1 - mean) * c))

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The mean of the count."""
        from scipy.special import expit

        return self.response(schema).most * expit(self.predictor(draws, schema, new))
