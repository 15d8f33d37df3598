"""The interface of a family whose rows have a linear predictor, so that their scores can be released in rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from tacit.schema import Schema
from tacit.statistics.score_sums import ScoreSums


class ScoreLink(NamedTuple):
    """How a response depends on the linear predictor: ``kind`` of link, and the largest count, if it is one."""

    kind: str
    clamp: int | None


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
