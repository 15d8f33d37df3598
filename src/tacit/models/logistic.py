"""Logistic regression from noisy moments (kulkarni2021, with exact moments)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.models.model import Example, Method
from tacit.models.moment_exact import augment, cells
from tacit.models.moment_regression import MomentRegression, by_moments
from tacit.models.regression import as_radius
from tacit.samplers.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.design import sign
from tacit.statistics.gram import Gram

if TYPE_CHECKING:
    from tacit.samplers.link_moments import Link


@dataclass(frozen=True)
class LogisticRegression(MomentRegression):
    """P(y is the second of its two levels | x) = 1 / (1 + exp(-theta'w)), w the design of ``formula``.

    Released: the distinct sums of products of (w, y) with y coded as -1 and 1, plus noise. They are the statistics of
    the logistic likelihood's second-order approximation (kulkarni2021, section 3.2), used here for what they are: sums
    whose mean and covariance are known functions of the parameters.
    """

    family: ClassVar[str] = "logistic"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Two categories; two numbers in a ball; a number and a category."""
        schema = Schema(ill=["no", "yes"], age=(18, 90), dose=(0, 10), sex=["f", "m"], smoker=["no", "yes"])
        narrow = {"mean_sd": 0.1, "scale": 0.1, "theta_sd": 1.0}
        return (
            Example(cls("ill ~ sex + smoker"), schema, {"theta_sd": 1.0}, quick=False, always=False),
            Example(cls("ill ~ age + dose", radius=1.0), schema, narrow, quick=False, always=False),
            Example(cls("ill ~ age + sex"), schema, narrow, quick=False, always=False),
        )

    def statistic(self, schema: Schema) -> Gram:
        """The distinct sums of products of design and response."""
        design = self.design(schema)
        self.cells(schema)
        return Gram(design.columns, sign(design.formula.response, schema), radius=as_radius(self.radius))

    def response_link(self, schema: Schema) -> Link:
        """The logistic one."""
        from tacit.samplers.link_moments import Link

        return Link("logistic")

    def places(self, schema: Schema) -> list[tuple[int, int, int]]:
        """Off the layout of the Gram statistic, where the response comes last."""
        statistic = self.statistic(schema)
        last = len(statistic.design)
        return [(p.j, -1, 1) if p.k == last else (p.j, p.k, 0) for p in statistic.layout[0].values()]

    @property
    def methods(self) -> Mapping[str, Method]:
        """Exact for levels alone, by moments, and exact for few rows."""
        return {
            "cells": Method(cells, thin=8, sites=True, releases=True),
            **by_moments(),
            "augment": Method(augment, thin=50, releases=True),
        }

    def default_method(self, schema: Schema) -> str:
        """``cells`` where the response depends on levels alone, else ``marginal``."""
        return "marginal" if self.cells(schema).numbers else "cells"

    def draw_response(self, predictor: Any, schema: Schema, rng: Any) -> Any:
        """One of the two levels."""
        from scipy.special import expit

        levels = schema.category(self.design(schema).formula.response).levels
        return [levels[int(yes)] for yes in rng.random(len(predictor)) < expit(predictor)]

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The probability of the second level."""
        from scipy.special import expit

        return expit(self.predictor(draws, schema, new))
