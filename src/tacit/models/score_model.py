"""The interface of a family whose rows have a linear predictor, so that their scores can be released in rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from tacit.errors import expected
from tacit.models.model import Model, Prior
from tacit.schema import Schema
from tacit.statistics.score_sums import ScoreSums


class ScoreLink(NamedTuple):
    """How a response depends on the linear predictor: ``kind`` of link, and the largest count, if it is one."""

    kind: str
    clamp: int | None


@dataclass(frozen=True)
class ScorePrior(Prior):
    """A normal prior of each coefficient, as wide as regression tools take it.

    ``slope`` is its sd times the sd of the covariate, which the release tells; ``intercept`` the sd of the linear
    predictor at the covariates' mean.
    """

    slope: float = 2.5
    intercept: float = 5.0

    def __post_init__(self) -> None:
        for name in ("slope", "intercept"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
                raise expected(name, value, "to be a number above 0 and below 1e6")


@dataclass(frozen=True)
class ScoreModel(ABC):
    """A family that says how a row's score and information follow from its covariates and its response."""

    @abstractmethod
    def score_sums(self, schema: Schema) -> ScoreSums:
        """The sums of scores and information at theta = 0; refuses a schema that does not fit the model."""

    def score_link(self, schema: Schema) -> ScoreLink:
        """The link of the response."""
        sums = self.score_sums(schema)
        return ScoreLink(sums.link, None if sums.link == "logistic" else sums.most)


def score_axes(model: Model, schema: Schema) -> tuple[dict[str, tuple[str, ...]], dict[str, list[str]]]:
    """The axes of what is inferred from scores, and the labels along them: coefficients alone."""
    assert isinstance(model, ScoreModel)
    names = [column.name for column in model.score_sums(schema).design]
    return {"theta": ("coefficient",)}, {"coefficient": names}
