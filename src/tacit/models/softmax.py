"""Softmax (multinomial) regression: a response with two or more levels, released as posterior draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.errors import expected
from tacit.models.effects import EffectDraws
from tacit.models.model import Example, Method, Prior
from tacit.models.regression import Regression
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.statistic import Statistic


@dataclass(frozen=True)
class SoftmaxPrior(Prior):
    """theta ~ N(0, ``theta_sd``^2) for every coefficient of every level, in mapped units."""

    theta_sd: float = 2.0

    def __post_init__(self) -> None:
        value = self.theta_sd
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 <= value <= 1e6:
            raise expected("prior theta_sd", value, "to be a number from 1e-06 to 1e+06")


@dataclass(frozen=True)
class SoftmaxRegression(Regression):
    """P(y is level k | x) = exp(theta_k'w) / sum_j exp(theta_j'w), w the design of ``formula``.

    It has no sums to add noise to: only posterior draws of it can be released. Covariates are no part of the model; to
    simulate, numbers are uniform in their bounds and levels equally likely.
    """

    family: ClassVar[str] = "softmax"
    about: ClassVar[str] = "one of several levels explained by others"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Which of three plants, from two lengths."""
        schema = Schema(plant=["a", "b", "c"], petal=(0, 8), sepal=(0, 10))
        return (Example(cls("plant ~ petal + sepal"), schema),)

    def statistic(self, schema: Schema) -> Statistic:
        raise expected("kind", "noise", f'of [mechanism] to be "posterior-sample" for family {self.family}')

    def default_prior(self, schema: Schema) -> SoftmaxPrior:
        """The same for every coefficient."""
        return SoftmaxPrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        assert isinstance(prior, SoftmaxPrior)
        design = self.design(schema)
        levels = schema.category(design.formula.response).levels
        return {"theta": prior.theta_sd * rng.standard_normal((len(levels), len(design.columns)))}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Uniform covariates, and a level for each row."""
        import numpy as np

        design = self.design(schema)
        rows, parsed = self.uniform_covariates(schema, n, rng)
        logits = np.broadcast_to(
            design.matrix(parsed) @ np.asarray(parameters["theta"]).T, (n, len(parameters["theta"]))
        )
        chosen = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
        levels = schema.category(design.formula.response).levels
        return {**rows, design.formula.response: [levels[code] for code in chosen]}

    @property
    def methods(self) -> Mapping[str, Method]:
        """None: there are no noisy sums of it."""
        return {}

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The probability of every level (draws, points, levels)."""
        import numpy as np
        from scipy.special import softmax

        design = self.design(schema)
        theta = np.asarray(draws["theta"])
        return softmax(design.matrix(design.parse(new)) @ np.swapaxes(theta, -1, -2), axis=-1)

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Coefficients of every level in the units of the data, on the scale of the logits."""
        design = self.design(schema)
        levels = schema.category(design.formula.response).levels
        values = design.original_units(draws["theta"])
        return {
            f"{level}: {name}": values[..., k, i]
            for k, level in enumerate(levels)
            for i, name in enumerate(design.names)
        }

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """None: a coefficient of one level says something only beside those of the others."""
        return []

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        return {"theta": ("level", "coefficient")}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The levels of the response, and the design's columns."""
        design = self.design(schema)
        levels = schema.category(design.formula.response).levels
        return {"level": [str(level) for level in levels], "coefficient": design.names}
