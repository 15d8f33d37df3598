"""Student-t regression: a number explained by others, where some rows lie far out and must not decide the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import LANGE_1989, Paper
from tacit.errors import expected
from tacit.models.likelihood_regression import LikelihoodRegression, Scalar
from tacit.models.model import Example
from tacit.models.responses import Density, NumberResponse
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.design import Scaled


@dataclass(frozen=True)
class StudentRegression(LikelihoodRegression):
    """y | x = eta + scale T, T of Student's distribution with ``df`` degrees of freedom; in mapped units.

    ``df`` is public: 4 unless said. The score of a row is bounded, so that a row far out counts for little.
    """

    family: ClassVar[str] = "student-regression"
    about: ClassVar[str] = "a number explained by others, where some rows lie far out"
    papers: ClassVar[tuple[Paper, ...]] = (LANGE_1989,)
    steepest: ClassVar[float] = 5.0
    extra: ClassVar[tuple[Scalar, ...]] = (Scalar("scale", -1.5, 1.0),)
    df: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.df, bool) or not isinstance(self.df, int | float) or not 1 <= self.df <= 100:
            raise expected("df", self.df, "to be a number from 1 to 100: degrees of freedom")

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Blood pressure."""
        schema = Schema(pressure=(60, 220), age=(18, 90), sex=["f", "m"])
        return (Example(cls("pressure ~ age + sex"), schema, {"theta_sd": 0.3}, quick=False, always=False),)

    def response(self, schema: Schema) -> NumberResponse:
        """A number between its bounds."""
        name = self.design(schema).formula.response
        column = schema.number(name)
        return NumberResponse(name, column.low, column.high)

    def mapped_response(self, schema: Schema) -> Scaled:
        """The response as it is mapped, for coefficients in the units of the data."""
        return self.design(schema).number_response

    def density(self, schema: Schema) -> Density:
        """Student's density; what lies beyond the bounds is summed up."""
        import jax.numpy as jnp
        from jax.scipy.stats import t

        return Density(lambda y, eta, s: t.logpdf(y, self.df, eta, jnp.exp(s[0])))

    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """Student variables around eta."""
        return eta + float(parameters["scale"]) * rng.standard_t(self.df, len(eta))

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """Draws of the response, in the units of the data, not clamped."""
        response, eta = self.response(schema), self.predictor(draws, schema, new)
        y = eta + draws["scale"][:, None] * rng.standard_t(self.df, eta.shape)
        half = (response.high - response.low) / 2
        return response.low + half + half * y
