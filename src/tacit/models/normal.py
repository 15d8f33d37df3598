"""A numeric column that is normal before it is clamped: its mean and its standard deviation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.errors import expected
from tacit.models.model import Example, Prior
from tacit.models.one_number import Coding, OneNumber, check_prior_number
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.likelihoods.clamped_distributions import ClampedNormal


@dataclass(frozen=True)
class NormalPrior(Prior):
    """mean ~ N(``mean``, ``mean_sd``^2) and log sd ~ N(log ``sd_median``, ``sd_spread``^2), in units of the column.

    Where ``sd_shape`` and ``sd_rate`` are given, sd ~ Gamma(sd_shape, sd_rate) instead, as in kulkarni2022 (section 8):
    its mean is sd_shape / sd_rate.

    The default takes the middle of the bounds, a quarter and a sixth of their width, and a spread of 0.7: the mean lies
    inside the bounds with probability 0.954, the sd between 1/24 and 2/3 of the width with 0.95, and a row inside the
    bounds with 0.87.
    """

    mean: float
    mean_sd: float
    sd_median: float
    sd_spread: float = 0.7
    sd_shape: float | None = None
    sd_rate: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.mean, bool) or not isinstance(self.mean, int | float) or not math.isfinite(self.mean):
            raise expected("prior mean", self.mean, "to be a finite number")
        for name in ("mean_sd", "sd_median", "sd_spread", *(("sd_shape", "sd_rate") if self.gamma else ())):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise expected(f"prior {name}", value, "to be a positive number")
        if not 0.01 <= self.sd_spread <= 5:
            raise expected("prior sd_spread", self.sd_spread, "to be a number from 0.01 to 5")
        if self.sd_shape is not None and not 0.01 <= self.sd_shape <= 1e6:
            raise expected("prior sd_shape", self.sd_shape, "to be a number from 0.01 to 1000000")

    @property
    def gamma(self) -> bool:
        """Whether the prior of sd is a gamma distribution."""
        return self.sd_shape is not None or self.sd_rate is not None


@dataclass(frozen=True)
class Normal(OneNumber):
    """Rows are independent, x ~ N(mean, sd^2), and clamped to the bounds of ``column``.

    Released: the sums of c and of c^2, c the clamped x mapped to [-1, 1], plus noise.
    """

    family: ClassVar[str] = "normal"
    about: ClassVar[str] = "mean and spread of a number that is normal"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """A height in centimetres."""
        return (Example(cls("height"), Schema(height=(140, 210)), quick=False, always=False),)

    @property
    def shape(self) -> str:
        """A normal distribution."""
        return (
            "the values are normal before they are clamped, so that rows at a bound stand for a tail beyond it; mean "
            "and sd are those of that normal distribution, not of the rows"
        )

    @property
    def powers(self) -> tuple[int, ...]:
        """Both, as either parameter needs one."""
        return (1, 2)

    def coding(self, schema: Schema) -> Coding:
        """Any bounds will do."""
        bounds = schema.number(self.column)
        return Coding(self.column, bounds.low, bounds.high, signed=True)

    def default_prior(self, schema: Schema) -> NormalPrior:
        """From the bounds alone."""
        coding = self.coding(schema)
        return NormalPrior(coding.middle, coding.half / 2, coding.half / 3)

    def distribution(self, prior: Prior, schema: Schema) -> ClampedNormal:
        """The prior in mapped units."""
        from tacit.likelihoods.clamped_distributions import ClampedNormal, GammaCoordinate

        assert isinstance(prior, NormalPrior)
        coding = self.coding(schema)
        for name in ("mean_sd", "sd_median"):
            check_prior_number(name, getattr(prior, name), coding.half)
        centre = (prior.mean - coding.middle) / coding.half
        if abs(centre) > 1e6:
            raise expected("prior mean", prior.mean, "to lie within a million widths of the bounds")
        gamma = None
        if prior.sd_shape is not None and prior.sd_rate is not None:
            check_prior_number("sd_shape / sd_rate", prior.sd_shape / prior.sd_rate, coding.half)
            gamma = GammaCoordinate(prior.sd_shape, prior.sd_rate * coding.half)
        numbers = prior.mean_sd / coding.half, prior.sd_median / coding.half, prior.sd_spread
        return ClampedNormal(*numbers, centre, gamma)

    def original(self, draws: Arrays, schema: Schema) -> Arrays:
        coding = self.coding(schema)
        return {"mean": coding.middle + coding.half * draws["mean"], "sd": coding.half * draws["sd"]}

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Mean and sd, independent."""
        assert isinstance(prior, NormalPrior)
        mean = prior.mean + prior.mean_sd * rng.normal()
        if prior.sd_shape is not None and prior.sd_rate is not None:
            return {"mean": mean, "sd": rng.gamma(prior.sd_shape) / prior.sd_rate}
        return {"mean": mean, "sd": prior.sd_median * math.exp(prior.sd_spread * rng.normal())}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        return {self.column: rng.normal(parameters["mean"], parameters["sd"], n)}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"sd": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Both parameters are single numbers."""
        return {"mean": (), "sd": ()}
