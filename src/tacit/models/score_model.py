"""The interface of a family whose rows have a linear predictor, so that their scores can be released in rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from tacit.errors import did_you_mean, expected
from tacit.models.model import Model, Prior
from tacit.models.regression import DesignMatrix
from tacit.schema import Schema
from tacit.statistics.score_sums import ScoreSums

USUAL_SD = 2.5
"""Of a coefficient in mapped units, where a prior leaves its width to the release and there is none yet."""


class ScoreLink(NamedTuple):
    """How a response depends on the linear predictor: ``kind`` of link, and the largest count, if it is one."""

    kind: str
    clamp: int | None


@dataclass(frozen=True)
class ScorePrior(Prior):
    """A normal prior of each coefficient, as wide as regression tools take it.

    ``slope`` is its sd times the sd of the covariate, which the release tells; ``intercept`` the sd of the linear
    predictor at the covariates' mean. ``theta_sd`` is the sd of every coefficient in mapped units instead of both.
    ``coefficients`` names some with a mean and an sd in the units of the data, which take the place of all that.
    """

    slope: float = 2.5
    intercept: float = 5.0
    theta_sd: float | None = None
    coefficients: tuple[tuple[str, float, float], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, list | tuple):
            raise expected("prior", self.coefficients, "to list coefficients with a name, a mean and an sd each")
        object.__setattr__(self, "coefficients", tuple(_statement(one) for one in self.coefficients))
        for name in ("slope", "intercept", "theta_sd"):
            value = getattr(self, name)
            if name == "theta_sd" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
                raise expected(name, value, "to be a number above 0 and below 1e6")

    def said(self, changes: Mapping[str, Any], design: DesignMatrix) -> ScorePrior:
        """The same with some numbers changed; a coefficient's name has its mean and sd in the units of the data."""
        known = [field.name for field in fields(self)]
        named = {name: value for name, value in changes.items() if name in design.names and name not in known}
        found = self.replaced({name: value for name, value in changes.items() if name not in named})
        kept = {name: (mean, sd) for name, mean, sd in found.coefficients}
        statements = [
            (name, *(value if isinstance(value, list | tuple) else (value,)))
            for name, value in {**kept, **named}.items()
        ]
        whole = replace(found, coefficients=tuple(statements))
        in_mapped_units(whole.coefficients, design)
        return whole

    def fixed(self) -> ScorePrior:
        """The same where its width is said, else one of a usual width: what can be drawn from without a release."""
        return self if self.theta_sd is not None else replace(self, theta_sd=USUAL_SD)


def _statement(said: Any) -> tuple[str, float, float]:
    """A name, a mean and an sd above 0, checked."""
    name, *numbers = said if isinstance(said, list | tuple) and said else (said,)
    wrong = [x for x in numbers if isinstance(x, bool) or not isinstance(x, int | float) or not -1e300 < x < 1e300]
    if not isinstance(name, str) or len(numbers) != 2 or wrong or not numbers[1] > 0:
        raise expected(f"prior {name}", numbers, "to be a mean and a positive standard deviation")
    return name, float(numbers[0]), float(numbers[1])


def in_mapped_units(
    statements: Sequence[tuple[str, float, float]], design: DesignMatrix
) -> dict[int, tuple[float, float]]:
    """Mean and sd of each named coefficient in mapped units, by its place; refuses one that moves with others."""
    import numpy as np

    slopes, found = design.original_units(np.eye(len(design.columns))), {}
    for name, mean, sd in statements:
        if name not in design.names:
            names = ", ".join(design.names)
            raise expected("prior", name, f"to be one of the coefficients {names}{did_you_mean(name, design.names)}")
        place = design.names.index(name)
        if np.count_nonzero(slopes[:, place]) > 1:
            raise expected("prior", name, "to be a coefficient that does not move with others when numbers are centred")
        found[place] = mean / slopes[place, place], sd / slopes[place, place]
    return found


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
