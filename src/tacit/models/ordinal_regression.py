"""Ordinal regression: levels in an order, explained by others (cumulative logit, or proportional odds)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.bibliography import MCCULLAGH_1980, Paper
from tacit.models.effects import EffectDraws, EffectScale, effects_of_coefficients
from tacit.models.likelihood_regression import LikelihoodRegression, Scalar
from tacit.models.model import Example
from tacit.models.responses import Density, LevelResponse, level_response
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

_MOST_LEVELS = 20


@dataclass(frozen=True)
class OrdinalRegression(LikelihoodRegression):
    """P(y is above level k | x) = 1 / (1 + exp(cut_k - eta)) for the levels 1, ..., K of the response, in their order.

    The first cut is at 0, as eta has an intercept; ``gap`` has the distances between cuts. A slope is the logarithm of
    the factor by which the odds of being above a level, any level, change.
    """

    family: ClassVar[str] = "ordinal"
    about: ClassVar[str] = "levels that have an order, explained by others"
    papers: ClassVar[tuple[Paper, ...]] = (MCCULLAGH_1980,)
    steepest: ClassVar[float] = 1.0
    effect_scale: ClassVar[EffectScale] = "odds"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """How well people say they are."""
        schema = Schema(health=["bad", "fair", "good", "very good"], age=(18, 90), sex=["f", "m"])
        return (Example(cls("health ~ age + sex"), schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def response(self, schema: Schema) -> LevelResponse:
        """Levels in their order."""
        return level_response(self.design(schema).formula.response, schema, 3, _MOST_LEVELS, ", in their order")

    def levels(self, schema: Schema) -> tuple[str, ...]:
        """The levels of the response, as text."""
        return tuple(str(level) for level in schema.category(self.response(schema).name).levels)

    def scalars(self, schema: Schema) -> tuple[Scalar, ...]:
        """The logarithm of each gap between cuts."""
        levels = self.levels(schema)
        return tuple(Scalar(f"gap[{level}]", 0.0, 1.0) for level in levels[1:-1])

    def density(self, schema: Schema) -> Density:
        """A difference of two logistic distribution functions."""
        import jax
        import jax.numpy as jnp

        def at(y: Any, eta: Any, s: Any) -> Any:
            cuts = jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.exp(s))])
            last = len(s) + 1
            low, width = cuts[jnp.maximum(y - 1, 0)], jnp.exp(s)[jnp.clip(y - 1, 0, len(s) - 1)]
            # P(low < z < low + width) = F(low + width - eta) F(eta - low) (1 - e^-width)
            above = jnp.where(y == 0, 0.0, jax.nn.log_sigmoid(eta - low))
            below = jnp.where(y == last, 0.0, jax.nn.log_sigmoid(cuts[jnp.minimum(y, last - 1)] - eta))
            inner = (y > 0) & (y < last)
            return above + below + jnp.where(inner, jnp.log(-jnp.expm1(-width)), 0.0)

        return Density(at)

    def scalars_named(self, s: Any, schema: Schema, np: Any) -> Arrays:
        """The gaps."""
        return {"gap": np.exp(s)}

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """The place of the level that a logistic variable around eta falls into."""
        import numpy as np

        cuts = np.concatenate([[0.0], np.cumsum(parameters["gap"])])
        return np.searchsorted(cuts, eta + rng.logistic(size=len(eta)))

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """How many times the odds of a higher level, of any level, a step of each covariate goes with."""
        design = self.design(schema)
        outcome = f"a higher {in_prose(design.formula.response)}"
        return effects_of_coefficients(self.coefficients(draws, schema), design, self.effect_scale, outcome)

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The probability of each level, (draws, points, levels)."""
        import numpy as np
        from scipy.special import expit

        eta = self.predictor(draws, schema, new)[..., None]
        cuts = np.cumsum(np.concatenate([0 * draws["gap"][:, :1], draws["gap"]], axis=1), axis=1)[:, None]
        above = expit(eta - cuts)
        return -np.diff(np.concatenate([np.ones_like(eta), above, np.zeros_like(eta)], axis=2), axis=2)

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Coefficients, and gaps by the level that lies in them."""
        return {"theta": ("coefficient",), "gap": ("inner_level",)}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The names of the design's columns, and the levels between two cuts."""
        return {**super().coords(schema), "inner_level": list(self.levels(schema)[1:-1])}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"gap": POSITIVE}
