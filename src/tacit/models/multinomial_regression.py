"""Multinomial regression: one of several levels, in no order, explained by others (multinomial logit)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.models.effects import EffectDraws, EffectScale, effects_of_coefficients
from tacit.models.likelihood_regression import LikelihoodRegression
from tacit.models.model import Example
from tacit.models.responses import Density, LevelResponse, level_response
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

_MOST_LEVELS = 12


@dataclass(frozen=True)
class MultinomialRegression(LikelihoodRegression):
    """P(y is level k | x) = exp(eta_k) / sum_j exp(eta_j), eta_1 = 0: every level but the first has its coefficients.

    A slope of level k is the logarithm of the factor by which the odds of k against the first level change.
    """

    family: ClassVar[str] = "multinomial"
    about: ClassVar[str] = "one of several levels, in no order, explained by others"
    steepest: ClassVar[float] = 1.2
    effect_scale: ClassVar[EffectScale] = "odds"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """How people get to work."""
        schema = Schema(way=["car", "bus", "bicycle"], age=(18, 65))
        return (Example(cls("way ~ age"), schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def response(self, schema: Schema) -> LevelResponse:
        """Levels."""
        return level_response(self.design(schema).formula.response, schema, 2, _MOST_LEVELS)

    def predictors(self, schema: Schema) -> tuple[str, ...]:
        """Every level but the first."""
        return tuple(str(level) for level in schema.category(self.response(schema).name).levels[1:])

    def density(self, schema: Schema) -> Density:
        """The logarithm of a share of exponentials."""
        import jax
        import jax.numpy as jnp

        return Density(lambda y, eta, s: jax.nn.log_softmax(jnp.concatenate([jnp.zeros(1), eta]))[y])

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """The level with the largest of eta and Gumbel noise."""
        import numpy as np

        whole = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
        return np.argmax(whole + rng.gumbel(size=whole.shape), axis=1)

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """How many times the odds of each level, against the first, a step of each covariate goes with."""
        design, found, every = self.design(schema), list[EffectDraws](), self.coefficients(draws, schema)
        name = in_prose(design.formula.response)
        first = in_prose(str(schema.category(design.formula.response).levels[0]))
        for level in self.predictors(schema):
            own = {one: every[f"{level}: {one}"] for one in design.names}
            outcome = f"{name} = {in_prose(level)} rather than {first}"
            some = effects_of_coefficients(own, design, self.effect_scale, outcome)
            found += [replace(one, name=f"{level}: {one.name}") for one in some]
        return found

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The probability of each level, (draws, points, levels)."""
        import numpy as np
        from scipy.special import softmax

        design = self.design(schema)
        eta = np.einsum("dkj,ij->dik", draws["theta"], design.matrix(design.parse(new)))
        return softmax(np.concatenate([np.zeros_like(eta[..., :1]), eta], axis=-1), axis=-1)
