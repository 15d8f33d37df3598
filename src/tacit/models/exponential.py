"""A numeric column that is exponential before it is clamped: its rate, and the prior of any rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.errors import expected
from tacit.models.conjugate import Conjugacy, ConjugateModel, public_numbers
from tacit.models.conjugate_draws import number_from_draws
from tacit.models.model import Example, Method, Prior
from tacit.models.one_number import Coding, OneNumber, check_prior_number
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.likelihoods.clamped_distributions import ClampedExponential


@dataclass(frozen=True)
class GammaPrior(Prior):
    """rate ~ Gamma(``shape``, ``rate``), with mean shape / rate; ``rate`` has the unit of 1 over that of the rate."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise expected(f"prior {name}", value, "to be a positive number")
        if not 1e-2 <= self.shape <= 1e6:
            raise expected("prior shape", self.shape, "to be a number from 0.01 to 1e6")


@dataclass(frozen=True)
class Exponential(OneNumber, ConjugateModel):
    """Rows are independent, x ~ Exponential(rate) with mean 1 / rate, and clamped to the bounds 0 and ``high``.

    Released: the sum of c, the clamped x over high, plus noise. The default prior, rate ~ Gamma(2, high / 2), has the
    mean 4 / high and puts a row inside the bounds with probability 1 - E[exp(-rate high)] = 8/9.
    """

    family: ClassVar[str] = "exponential"
    about: ClassVar[str] = "the rate of a waiting time"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        return (Example(cls("wait"), Schema(wait=(0, 30)), quick=False, always=False),)

    @property
    def shape(self) -> str:
        """An exponential distribution."""
        return "the values are exponential before they are clamped; 1 / rate is the mean of that distribution"

    @property
    def powers(self) -> tuple[int, ...]:
        """One number for one parameter."""
        return (1,)

    def coding(self, schema: Schema) -> Coding:
        """Refuses bounds that do not start at 0."""
        bounds = schema.number(self.column)
        if bounds.low != 0:
            raise expected("low", bounds.low, f"of column {self.column!r} to be 0 for an exponential model")
        return Coding(self.column, bounds.low, bounds.high)

    def default_prior(self, schema: Schema) -> GammaPrior:
        """From the bound alone."""
        return GammaPrior(2.0, self.coding(schema).high / 2)

    def distribution(self, prior: Prior, schema: Schema) -> ClampedExponential:
        """The prior in mapped units: rates per ``high``."""
        from tacit.likelihoods.clamped_distributions import ClampedExponential

        assert isinstance(prior, GammaPrior)
        high = self.coding(schema).high
        check_prior_number("rate", prior.rate, high)
        return ClampedExponential(prior.shape, prior.rate / high)

    def original(self, draws: Arrays, schema: Schema) -> Arrays:
        """Rates per unit of the column."""
        return {"rate": draws["rate"] / self.coding(schema).high}

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """The rate from its prior."""
        assert isinstance(prior, GammaPrior)
        return {"rate": rng.gamma(prior.shape) / prior.rate}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        return {self.column: rng.exponential(1 / parameters["rate"], n)}

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """The rate, tabled along a line."""
        return {"likelihood": Method(number_from_draws, thin=1)}

    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        """Rows add to the shape of a Gamma distribution, their numbers to its rate; in mapped units, a rate per
        ``high``.
        """
        assert isinstance(prior, GammaPrior)
        numbers = Fraction(prior.shape), Fraction(prior.rate) / Fraction(self.coding(schema).high)
        return Conjugacy("gamma-rate", self.sums(schema), numbers, Fraction(1), ("rate",))

    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> GammaPrior:
        """``n`` public rows with the ``sum`` of their numbers."""
        assert isinstance(prior, GammaPrior)
        n, total = public_numbers(public, ("n", "sum"))
        return GammaPrior(prior.shape + n, prior.rate + total)

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"rate": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        return {"rate": ()}
