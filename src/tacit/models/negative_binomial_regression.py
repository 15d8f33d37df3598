"""Negative binomial regression: a count that varies more than a Poisson one, explained by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import LAWLESS_1987, Paper
from tacit.errors import expected
from tacit.models.effects import Scale
from tacit.models.likelihood_regression import LikelihoodRegression, Scalar
from tacit.models.model import Example
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

_MOST = 512
_LEAST_TAIL = 1e-9  # below it a difference from 1 has no digits left; the first term stands for the tail


@dataclass(frozen=True)
class NegativeBinomialRegression(LikelihoodRegression):
    """y | x has mean m = e^eta and variance m + m^2 / size; counts above the declared largest are clamped to it.

    P(Y = y) = Gamma(y + size) / (Gamma(size) y!) (size / (size + m))^size (m / (size + m))^y
    """

    family: ClassVar[str] = "negative-binomial-regression"
    about: ClassVar[str] = "a count that varies more than a Poisson one, explained by others"
    papers: ClassVar[tuple[Paper, ...]] = (LAWLESS_1987,)
    steepest: ClassVar[float] = 3.5
    effect_scale: ClassVar[Scale] = "rate"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Visits to a doctor."""
        schema = Schema(visits=(0, 40), age=(18, 90), sex=["f", "m"])
        return (Example(cls("visits ~ age + sex"), schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def scalars(self, schema: Schema) -> tuple[Scalar, ...]:
        """The logarithm of the size."""
        self.most(schema)
        return (Scalar("size", 0.5, 1.0),)

    def most(self, schema: Schema) -> int:
        """The largest count that is told apart."""
        name = self.design(schema).formula.response
        column = schema.number(name)
        if column.low != 0 or column.high != int(column.high) or not 1 <= column.high <= _MOST:
            raise expected("bounds", [column.low, column.high], f"of {name!r} to be 0 and a whole number up to {_MOST}")
        return int(column.high)

    def response_inputs(self, columns: Mapping[str, Any], schema: Schema) -> Arrays:
        """The count."""
        import numpy as np

        (name,) = self.response_columns(schema)
        return {"y": np.clip(np.rint(np.asarray(columns[name], np.float64)), 0, self.most(schema))}

    def response_density(self, schema: Schema) -> Callable[[Any, Any, Any], Any]:
        """That of a count below the largest one, else of the tail."""
        import jax

        most = self.most(schema)

        def density(row: Any, eta: Any, s: Any) -> Any:
            below = lambda _: _log_pmf(row["y"], eta, s[0])  # noqa: E731
            return jax.lax.cond(row["y"] < most, below, lambda _: _log_pmfs(most, eta, s[0])[most], None)

        return density

    def densities(self, schema: Schema) -> Callable[[Any, Any], Any]:
        """Those of all counts, of which the tail is what the others leave."""
        most, size = self.most(schema), self.covariates(schema)
        return lambda rows, t: _log_pmfs(most, rows["x"][0] @ t[:size], t[size])

    def responses(self, schema: Schema) -> tuple[Arrays, Any]:
        """Every count."""
        import numpy as np

        counts = np.arange(self.most(schema) + 1.0)[None]
        return {"y": counts}, np.zeros_like(counts)

    def scalars_named(self, s: Any, schema: Schema, np: Any) -> Arrays:
        """The size."""
        return {"size": np.exp(s[..., 0])}

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Arrays:
        """Poisson counts whose rates are drawn first, not yet clamped."""
        import numpy as np

        (name,) = self.response_columns(schema)
        size = float(parameters["size"])
        rates = np.exp(np.minimum(eta, 20.0)) * rng.gamma(size, 1 / size, len(eta))
        return {name: rng.poisson(rates).astype(float)}

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The mean of the count before clamping."""
        import numpy as np

        return np.exp(np.minimum(self.predictor(draws, schema, new), 20.0))

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"size": POSITIVE}


def _log_pmf(y: Any, eta: Any, log_size: Any) -> Any:
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    size = jnp.exp(log_size)
    return _given_ways(gammaln(y + size) - gammaln(size) - gammaln(y + 1.0), y, eta, log_size)


def _given_ways(ways: Any, y: Any, eta: Any, log_size: Any) -> Any:
    import jax.numpy as jnp

    both = jnp.logaddexp(log_size, eta)
    return ways + jnp.exp(log_size) * (log_size - both) + y * (eta - both)


def _log_pmfs(most: int, eta: Any, log_size: Any) -> Any:
    """The logarithms of P(Y = 0), ..., P(Y = most - 1) and P(Y >= most); Gamma(y + size) / Gamma(size) as a product."""
    import jax.numpy as jnp
    import numpy as np

    y = np.arange(most + 1.0)
    steps = jnp.log((jnp.exp(log_size) + y[:-1]) / (y[:-1] + 1.0))
    ways = jnp.concatenate([jnp.zeros(1), jnp.cumsum(steps)])
    each = _given_ways(ways, y, eta, log_size)
    tail = 1 - jnp.sum(jnp.exp(each[:-1]))
    last = jnp.where(tail > _LEAST_TAIL, jnp.log(jnp.maximum(tail, _LEAST_TAIL)), each[-1])
    return jnp.concatenate([each[:-1], last[None]])
