"""Weibull survival with right censoring: how long it takes, explained by others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.models.likelihood_regression import Scalar
from tacit.models.model import Example
from tacit.models.survival_regression import SurvivalRegression
from tacit.runtime.chain import Arrays
from tacit.schema import Schema


@dataclass(frozen=True)
class WeibullSurvival(SurvivalRegression):
    """A survival regression whose hazard rises (shape above 1) or falls (below 1) with time."""

    family: ClassVar[str] = "weibull-survival"
    about: ClassVar[str] = "how long it takes, some times cut short, explained by others"
    extra: ClassVar[tuple[Scalar, ...]] = (Scalar("shape", 0.0, 0.7),)

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Months to a relapse."""
        schema = Schema(months=(0, 60), relapse=["no", "yes"], age=(18, 90), arm=["a", "b"])
        model = cls("months ~ age + arm", event="relapse")
        return (Example(model, schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def log_shape(self, s: Any) -> Any:
        """The one scalar."""
        return s[0]

    def shape(self, parameters: Arrays) -> Any:
        """A parameter."""
        return parameters["shape"]
