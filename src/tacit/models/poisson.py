"""A column of counts that are Poisson before they are clamped: their rate. For covariates see `PoissonRegression`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.models.conjugate import Conjugacy, ConjugateModel, public_numbers
from tacit.models.conjugate_draws import number_from_draws
from tacit.models.gamma_prior import GammaPrior
from tacit.models.model import Example, Method, Prior
from tacit.models.one_number import Coding, OneNumber, check_prior_number, counts_coding
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.likelihoods.clamped_laws import ClampedPoisson


@dataclass(frozen=True)
class Poisson(OneNumber, ConjugateModel):
    """Rows are independent counts, Y ~ Poisson(rate), and clamped to the bounds 0 and K of ``column``.

    Released: the sum of c, the clamped Y over K, plus noise. The default prior, rate ~ Gamma(2, 8 / K), has the mean
    K / 4 and lets a count exceed K with probability below 0.035, and 0.003 for a large K.
    """

    family: ClassVar[str] = "poisson"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Visits in a year."""
        return (Example(cls("visits"), Schema(visits=(0, 12)), quick=False),)

    @property
    def powers(self) -> tuple[int, ...]:
        """One number for one parameter."""
        return (1,)

    def coding(self, schema: Schema) -> Coding:
        """Refuses bounds that are not 0 and a whole number."""
        return counts_coding(self.column, schema, self.family)

    def default_prior(self, schema: Schema) -> GammaPrior:
        """From the bound alone."""
        return GammaPrior(2.0, 8 / self.coding(schema).high)

    def law(self, prior: Prior, schema: Schema) -> ClampedPoisson:
        """Rates are counts, as they are."""
        from tacit.likelihoods.clamped_laws import ClampedPoisson

        assert isinstance(prior, GammaPrior)
        coding = self.coding(schema)
        check_prior_number("rate", prior.rate, 1 / coding.high)
        return ClampedPoisson(int(coding.high), prior.shape, prior.rate)

    def original(self, draws: Arrays, schema: Schema) -> Arrays:
        """As they are."""
        return {"rate": draws["rate"]}

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """The rate from its prior."""
        assert isinstance(prior, GammaPrior)
        return {"rate": rng.gamma(prior.shape) / prior.rate}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Independent counts."""
        return {self.column: rng.poisson(min(parameters["rate"], 1e15), n)}

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """The rate, tabled along a line."""
        return {"evidence": Method(number_from_draws, thin=1)}

    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        """Counts add to the shape of a Gamma law, rows to its rate."""
        assert isinstance(prior, GammaPrior)
        step = Fraction(self.coding(schema).high)
        numbers = Fraction(prior.shape), Fraction(prior.rate)
        return Conjugacy("gamma-shape", self.statistic(schema), numbers, step, ("rate",))

    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> GammaPrior:
        """``n`` public rows with the ``sum`` of their counts."""
        assert isinstance(prior, GammaPrior)
        n, total = public_numbers(public, ("n", "sum"))
        return GammaPrior(prior.shape + total, prior.rate + n)

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"rate": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """A single number."""
        return {"rate": ()}
