"""Weibull survival with right censoring: how long it takes, explained by others (accelerated failure time)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.errors import expected
from tacit.models.effects import EffectDraws, Scale
from tacit.models.likelihood_regression import LikelihoodRegression, Scalar
from tacit.models.model import Example
from tacit.models.support import POSITIVE
from tacit.numerics.even_points import even_points
from tacit.runtime.chain import Arrays
from tacit.schema import Number, Schema

_TIMES = 36  # of events in a made-up row
_SOONEST = 1e-4  # of the declared longest time: of a shorter one it is known that it is not longer


@dataclass(frozen=True)
class WeibullRegression(LikelihoodRegression):
    """A time T with P(T > t | x) = exp(-(2 t / (longest e^eta))^shape), ``longest`` the declared largest time.

    ``event`` is the yes/no column that says whether the time ended with the event (its second level) or was cut short.
    A time of ``longest`` or more counts as cut short there, as it was clamped. A slope is the logarithm of the factor
    by which times change; coefficients in the units of the data add log(longest / 2) to the intercept.
    """

    family: ClassVar[str] = "weibull"
    about: ClassVar[str] = "how long it takes, some times cut short, explained by others"
    steepest: ClassVar[float] = 3.0
    effect_scale: ClassVar[Scale] = "rate"
    event: str = field(kw_only=True, metadata={"asks": "the yes/no column: whether the time ended with the event"})

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Months to a relapse."""
        schema = Schema(months=(0, 60), relapse=["no", "yes"], age=(18, 90), arm=["a", "b"])
        model = cls("months ~ age + arm", event="relapse")
        return (Example(model, schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def longest(self, schema: Schema) -> float:
        """The largest time that is told apart."""
        name = self.design(schema).formula.response
        column: Number = schema.number(name)
        if column.low != 0:
            raise expected("bounds", [column.low, column.high], f"of {name!r} to begin at 0: it is a time")
        return float(column.high)

    def response_columns(self, schema: Schema) -> tuple[str, ...]:
        """The time, and whether the event came."""
        if len(schema.category(self.event).levels) != 2:
            raise expected("event", self.event, "to be a column with two levels, the second for the event")
        if self.event in self.design(schema).formula.columns:
            raise expected("event", self.event, "not to stand in the formula as well")
        return (self.design(schema).formula.response, self.event)

    def scalars(self, schema: Schema) -> tuple[Scalar, ...]:
        """The logarithm of the shape."""
        self.longest(schema)
        self.response_columns(schema)
        return (Scalar("shape", 0.0, 0.7),)

    def response_inputs(self, columns: Mapping[str, Any], schema: Schema) -> Arrays:
        """The time in units of half the longest, and whether the event came."""
        import numpy as np

        time, event = self.response_columns(schema)
        share = np.asarray(columns[time], np.float64) / self.longest(schema)
        came = (np.asarray(columns[event]) == 1) & (share < 1)
        return {"y": 2 * np.clip(share, _SOONEST, 1.0), "event": came.astype(np.float64)}

    def response_density(self, schema: Schema) -> Callable[[Any, Any, Any], Any]:
        """That of the event at its time, or the probability of a longer one."""
        import jax.numpy as jnp

        def density(row: Any, eta: Any, s: Any) -> Any:
            time = jnp.log(row["y"])
            z = jnp.exp(s[0]) * (time - eta)
            hazard = jnp.exp(jnp.minimum(z, 50.0))
            at_once = jnp.log(-jnp.expm1(-jnp.maximum(hazard, 1e-300)))
            later = row["event"] * (s[0] + z - time) - hazard
            return jnp.where(row["event"] * (row["y"] <= 2 * _SOONEST) > 0, at_once, later)

        return density

    def responses(self, schema: Schema) -> tuple[Arrays, Any]:
        """Events along the time until a made-up row is cut short, and that it is: at the end, or anywhere before."""
        import numpy as np

        ends = 2 * np.minimum(1.0, 0.15 + 1.7 * even_points(1, 97))
        soon, none = np.full_like(ends, 2 * _SOONEST), np.zeros_like(ends)
        edges = soon * (ends / soon) ** np.linspace(0, 1, _TIMES + 1)
        times = np.concatenate([soon, np.sqrt(edges[:, 1:] * edges[:, :-1]), ends], axis=1)
        base = np.concatenate([none, np.log(np.diff(edges, axis=1)), none], axis=1)
        event = np.concatenate([np.ones((len(ends), 1 + _TIMES)), none], axis=1)
        return {"y": times, "event": event}, base

    def scalars_named(self, s: Any, schema: Schema, np: Any) -> Arrays:
        """The shape."""
        return {"shape": np.exp(s[..., 0])}

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Arrays:
        """Half of the rows are followed to the end, the others for a time that is uniform."""
        import numpy as np

        time, event = self.response_columns(schema)
        longest, levels = self.longest(schema), schema.category(event).levels
        own = longest / 2 * np.exp(np.minimum(eta, 50.0)) * rng.weibull(float(parameters["shape"]), len(eta))
        end = longest * np.minimum(1.0, 2 * rng.random(len(eta)))
        return {time: np.minimum(own, end), event: [levels[int(came)] for came in own < end]}

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """How many times as long it takes with a step of each covariate."""
        time, _ = self.response_columns(schema)
        return [replace(one, after=f" the {in_prose(time)}") for one in super().effects(draws, schema)]

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The median time, beyond the longest as well."""
        import numpy as np

        eta = np.minimum(self.predictor(draws, schema, new), 50.0)
        return self.longest(schema) / 2 * np.exp(eta) * np.log(2) ** (1 / draws["shape"][:, None])

    def survival(self, draws: Arrays, schema: Schema, new: Any, times: Any) -> Any:
        """The probability that it takes longer, (draws, points, times)."""
        import numpy as np

        logs = np.log(np.maximum(2 * np.asarray(times, float) / self.longest(schema), 1e-300))
        z = draws["shape"][:, None, None] * (logs - self.predictor(draws, schema, new)[..., None])
        return np.exp(-np.exp(np.minimum(z, 50.0)))

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Coefficients for the logarithm of the time in the units of the data."""
        import numpy as np

        found = super().coefficients(draws, schema)
        return {**found, "Intercept": found["Intercept"] + np.log(self.longest(schema) / 2)}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"shape": POSITIVE}
