"""A numeric column that is normal with a known standard deviation before it is clamped: its mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.errors import expected
from tacit.models.conjugate import Conjugacy, ConjugateModel, public_numbers
from tacit.models.conjugate_draws import number_from_draws
from tacit.models.model import Example, Method, Prior
from tacit.models.one_number import Coding, OneNumber, check_prior_number
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.samplers.known_sd_normal import KnownSdNormal


@dataclass(frozen=True)
class MeanPrior(Prior):
    """mean ~ N(``mean``, ``mean_sd``^2), in units of the column. The default: their middle, a quarter of the width."""

    mean: float
    mean_sd: float

    def __post_init__(self) -> None:
        if isinstance(self.mean, bool) or not isinstance(self.mean, int | float) or not math.isfinite(self.mean):
            raise expected("prior mean", self.mean, "to be a finite number")
        value = self.mean_sd
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise expected("prior mean_sd", value, "to be a positive number")


@dataclass(frozen=True)
class NormalMean(OneNumber, ConjugateModel):
    """Rows are independent, x ~ N(mean, ``sd``^2) with ``sd`` known, and clamped to the bounds of ``column``.

    Released: the sum of c, the clamped x mapped to [-1, 1], plus noise; or draws of the mean from its normal posterior.
    """

    family: ClassVar[str] = "normal-mean"
    about: ClassVar[str] = "the mean of a number whose spread is known"
    sd: float = field(metadata={"asks": "the spread that is known, in the units of the column"})

    def __post_init__(self) -> None:
        if isinstance(self.sd, bool) or not isinstance(self.sd, int | float) or not 0 < self.sd < 1e300:
            raise expected("sd", self.sd, "to be a positive number, in the units of the column")

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """A weight on a scale whose error is known."""
        return (Example(cls("weight", 4.0), Schema(weight=(40, 80)), quick=False, always=False),)

    @property
    def shape(self) -> str:
        """A normal distribution."""
        return (
            "the values are normal with this sd before they are clamped; mean is that of the normal distribution, not "
            "of the rows"
        )

    @property
    def powers(self) -> tuple[int, ...]:
        """One number for one parameter."""
        return (1,)

    def coding(self, schema: Schema) -> Coding:
        """Any bounds will do that are not out of all proportion to ``sd``."""
        bounds = schema.number(self.column)
        half = (bounds.high - bounds.low) / 2
        if not 1e-5 * half <= self.sd <= 1e5 * half:
            raise expected("sd", self.sd, f"to be a number from {1e-5 * half:g} to {1e5 * half:g} for these bounds")
        return Coding(self.column, bounds.low, bounds.high, signed=True)

    def default_prior(self, schema: Schema) -> MeanPrior:
        """From the bounds alone."""
        coding = self.coding(schema)
        return MeanPrior(coding.middle, coding.half / 2)

    def distribution(self, prior: Prior, schema: Schema) -> KnownSdNormal:
        """The prior in mapped units."""
        from tacit.samplers.known_sd_normal import KnownSdNormal

        coding = self.coding(schema)
        centre, mean_sd = self._mapped(prior, coding)
        return KnownSdNormal(mean_sd, self.sd / coding.half, centre)

    def _mapped(self, prior: Prior, coding: Coding) -> tuple[float, float]:
        assert isinstance(prior, MeanPrior)
        check_prior_number("mean_sd", prior.mean_sd, coding.half)
        centre = (prior.mean - coding.middle) / coding.half
        if abs(centre) > 1e6:
            raise expected("prior mean", prior.mean, "to lie within a million widths of the bounds")
        return centre, prior.mean_sd / coding.half

    def original(self, draws: Arrays, schema: Schema) -> Arrays:
        coding = self.coding(schema)
        return {"mean": coding.middle + coding.half * draws["mean"]}

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """The mean from its prior."""
        assert isinstance(prior, MeanPrior)
        return {"mean": prior.mean + prior.mean_sd * rng.normal()}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        return {self.column: rng.normal(parameters["mean"], self.sd, n)}

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """The mean, tabled along a line."""
        return {"likelihood": Method(number_from_draws, thin=1)}

    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        """Normal, in mapped units."""
        coding = self.coding(schema)
        centre, mean_sd = self._mapped(prior, coding)
        numbers = Fraction(centre), 1 / Fraction(mean_sd) ** 2
        step = Fraction(self.sd) / Fraction(coding.half)
        return Conjugacy("normal", self.sums(schema), numbers, step, ("mean",))

    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> MeanPrior:
        """``n`` public rows with their ``mean``."""
        assert isinstance(prior, MeanPrior)
        if set(public) != {"n", "mean"} or not isinstance(public["mean"], int | float):
            raise expected("public", dict(public), "to say exactly n and mean")
        (n,) = public_numbers({"n": public["n"]}, ("n",))
        before, added = prior.mean_sd**-2, n / self.sd**2
        mean = (prior.mean * before + float(public["mean"]) * added) / (before + added)
        return MeanPrior(mean, (before + added) ** -0.5)

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        return {"mean": ()}
