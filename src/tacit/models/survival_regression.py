"""What survival regressions share: a time that some rows end without the event (accelerated failure time)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from tacit._support.printable import in_prose
from tacit.errors import expected
from tacit.models.effects import EffectDraws, EffectScale
from tacit.models.likelihood_regression import LikelihoodRegression
from tacit.models.responses import EVENT_ASKED, Density, PositiveResponse, positive_response
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

_MOST = 50.0  # of the logarithm of a hazard: beyond it nobody is left


@dataclass(frozen=True)
class SurvivalRegression(LikelihoodRegression):
    """A time T with P(T > t | x) = exp(-(2 t / (longest e^eta))^shape), ``longest`` the declared largest time.

    ``event`` is the yes/no column that says whether the time ended with the event (its second level) or was cut short.
    A time of ``longest`` or more counts as cut short there, as it was clamped. A slope is the logarithm of the factor
    by which times change; coefficients in the units of the data add log(longest / 2) to the intercept.
    """

    steepest: ClassVar[float] = 4.5
    effect_scale: ClassVar[EffectScale] = "rate"
    event: str = field(kw_only=True, metadata=EVENT_ASKED)

    @abstractmethod
    def log_shape(self, s: Any) -> Any:
        """The logarithm of the shape from the scalars."""

    @abstractmethod
    def shape(self, parameters: Arrays) -> Any:
        """The shape among parameters."""

    def response(self, schema: Schema) -> PositiveResponse:
        """A time, and whether the event came."""
        name = self.design(schema).formula.response
        if name == self.event:
            raise expected("event", self.event, "to be another column than the time")
        return positive_response(name, schema, self.event)

    def density(self, schema: Schema) -> Density:
        """That of the event at its time, the probability of a longer time, and of one that is not longer."""
        import jax.numpy as jnp

        def log_hazard(y: Any, eta: Any, s: Any) -> Any:  # of all until y
            return jnp.minimum(jnp.exp(self.log_shape(s)) * (jnp.log(y) - eta), _MOST)

        def above(y: Any, eta: Any, s: Any) -> Any:
            return -jnp.exp(log_hazard(y, eta, s))

        def at(y: Any, eta: Any, s: Any) -> Any:
            return self.log_shape(s) + log_hazard(y, eta, s) - jnp.log(y) + above(y, eta, s)

        def below(y: Any, eta: Any, s: Any) -> Any:
            return jnp.log(-jnp.expm1(-jnp.maximum(jnp.exp(log_hazard(y, eta, s)), 1e-300)))

        return Density(at, above, below)

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """Weibull times, none of them cut short."""
        import numpy as np

        return np.exp(np.minimum(eta, _MOST)) * rng.weibull(float(self.shape(parameters)), len(eta))

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """How many times as long it takes with a step of each covariate."""
        time = in_prose(self.response(schema).name)
        return [replace(one, after=f" the {time}") for one in super().effects(draws, schema)]

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The median time, beyond the longest as well."""
        import numpy as np

        eta, shape = np.minimum(self.predictor(draws, schema, new), _MOST), self.shape(draws)
        return self.response(schema).unit * np.exp(eta) * np.log(2) ** (1 / np.reshape(shape, (-1, 1)))

    def survival(self, draws: Arrays, schema: Schema, new: Any, times: Any) -> Any:
        """The probability that it takes longer, (draws, points, times)."""
        import numpy as np

        logs = np.log(np.maximum(np.asarray(times, float) / self.response(schema).unit, 1e-300))
        away = logs - self.predictor(draws, schema, new)[..., None]
        return np.exp(-np.exp(np.minimum(np.reshape(self.shape(draws), (-1, 1, 1)) * away, _MOST)))
