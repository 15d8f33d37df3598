"""Exponential survival with right censoring: how long it takes at a constant hazard, explained by others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.models.model import Example
from tacit.models.survival_regression import SurvivalRegression
from tacit.runtime.chain import Arrays
from tacit.schema import Schema


@dataclass(frozen=True)
class ExponentialSurvival(SurvivalRegression):
    """A survival regression whose hazard does not change with time: its shape is 1."""

    family: ClassVar[str] = "exponential-survival"
    about: ClassVar[str] = "how long it takes at a constant hazard, some times cut short, explained by others"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Weeks until a job is found."""
        schema = Schema(weeks=(0, 52), found=["no", "yes"], age=(18, 65))
        return (Example(cls("weeks ~ age", event="found"), schema, {"theta_sd": 1.0}, quick=False, always=False),)

    def log_shape(self, s: Any) -> Any:
        """That of 1."""
        return 0.0

    def shape(self, parameters: Arrays) -> Any:
        """1."""
        return 1.0
