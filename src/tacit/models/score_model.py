"""The interface of a family whose rows have a linear predictor, so that their scores can be released in rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tacit.errors import expected
from tacit.models.coefficient_statements import Statement, as_statements
from tacit.models.model import Model, Prior
from tacit.models.regression import Regression
from tacit.schema import Schema
from tacit.statistics.score_sums import ScoreSums

USUAL_SD = 2.5
"""Of a coefficient in mapped units, where a prior leaves its width to the release and there is none yet."""
FIXED_SD = 1e-3
"""Of a coefficient that is known, over its value: what the chain can tell from an exact one."""


class ScoreLink(NamedTuple):
    """How a response depends on the linear predictor: ``kind`` of link, and the largest count, if it is one.

    ``fixed`` are the places of coefficients that are known, those of offsets, each with its value in mapped units.
    """

    kind: str
    clamp: int | None
    fixed: tuple[tuple[int, float], ...] = ()

    def pinned(self, mean: Any, sd: Any) -> tuple[Any, Any]:
        """Mean and sd of a prior of all coefficients, known ones held to a thousandth of their values."""
        for place, value in self.fixed:
            mean[..., place], sd[..., place] = value, FIXED_SD * value
        return mean, sd


@dataclass(frozen=True)
class ScorePrior(Prior):
    """A normal prior of each coefficient, as wide as regression tools take it.

    ``slope`` is its sd times the sd of the covariate, which the release tells; ``intercept`` the sd of the linear
    predictor at the covariates' mean. ``theta_sd`` is the sd of every coefficient in mapped units instead of both.
    ``coefficients`` names some with a mean and an sd in the units of the data, which take the place of all that.
    ``mapped`` has the mean and the sd of every coefficient in mapped units, when both are settled: a posterior from
    reports says them, since what its prior followed from stays with the collector.
    """

    slope: float = 2.5
    intercept: float = 5.0
    theta_sd: float | None = None
    coefficients: tuple[Statement, ...] = ()
    mapped: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.mapped, list | tuple):
            raise expected("mapped", self.mapped, "to list a mean and an sd for each coefficient")
        settled = as_statements({f"mapped {place}": one for place, one in enumerate(self.mapped)})
        object.__setattr__(self, "mapped", tuple((mean, sd) for _, mean, sd in settled))
        object.__setattr__(self, "coefficients", as_statements(self.coefficients))
        for name in ("slope", "intercept", "theta_sd"):
            value = getattr(self, name)
            if name == "theta_sd" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
                raise expected(name, value, "to be a number above 0 and below 1e6")

    def fixed(self) -> ScorePrior:
        """The same where its width is said, else one of a usual width: what can be drawn from without a release."""
        return self if self.theta_sd is not None else replace(self, theta_sd=USUAL_SD)


@dataclass(frozen=True)
class ScoreModel(ABC):
    """A family that says how a row's score and information follow from its covariates and its response."""

    @abstractmethod
    def score_sums(self, schema: Schema) -> ScoreSums:
        """The sums of scores and information at theta = 0; refuses a schema that does not fit the model."""

    def score_link(self, schema: Schema) -> ScoreLink:
        """The link of the response."""
        sums = self.score_sums(schema)
        fixed = self.design(schema).fixed if isinstance(self, Regression) else {}
        return ScoreLink(sums.link, None if sums.link == "logistic" else sums.most, tuple(fixed.items()))


def score_axes(model: Model, schema: Schema) -> tuple[dict[str, tuple[str, ...]], dict[str, list[str]]]:
    """The axes of what is inferred from scores, and the labels along them: coefficients alone."""
    assert isinstance(model, ScoreModel)
    names = [column.name for column in model.score_sums(schema).design]
    return {"theta": ("coefficient",)}, {"coefficient": names}
