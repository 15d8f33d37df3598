"""A column of counts that are Poisson before they are clamped: their rate. For covariates see `PoissonRegression`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.models.conjugate import Conjugacy, ConjugateModel, public_numbers
from tacit.models.conjugate_draws import number_from_draws
from tacit.models.count_family import CountFamily
from tacit.models.exponential import GammaPrior
from tacit.models.model import Example, Method, Prior
from tacit.runtime.chain import Arrays
from tacit.schema import Schema


@dataclass(frozen=True)
class Poisson(CountFamily, ConjugateModel):
    """Rows are independent counts, Y ~ Poisson(rate), and clamped to the bounds 0 and K of ``column``.

    Released: the sum of c, the clamped Y over K, plus noise. The default prior, rate ~ Gamma(2, 8 / K), has the mean
    K / 4 and lets a count exceed K with probability below 0.035, and 0.003 for a large K.
    """

    family: ClassVar[str] = "poisson"
    about: ClassVar[str] = "the rate of a count"
    parameter: ClassVar[str] = "rate"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Visits in a year."""
        return (Example(cls("visits"), Schema(visits=(0, 12)), quick=False),)

    def default_prior(self, schema: Schema) -> GammaPrior:
        """From the bound alone."""
        return GammaPrior(2.0, 8 / self.coding(schema).high)

    def log_pmf(self, counts: Any, natural: Any) -> Any:
        """j log(rate) - rate - log j!, from the logarithm of the rate."""
        import jax.numpy as jnp
        from jax.scipy.special import gammaln

        return counts * natural - jnp.exp(natural) - gammaln(counts + 1)

    def tail(self, most: int, natural: Any) -> Any:
        """The regularised incomplete gamma function."""
        import jax.numpy as jnp
        from jax.scipy.special import gammainc

        return gammainc(float(most), jnp.exp(natural))

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        return {self.column: rng.poisson(min(parameters["rate"], 1e15), n)}

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """The rate, tabled along a line."""
        return {"likelihood": Method(number_from_draws, thin=1)}

    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        """Counts add to the shape of a Gamma distribution, rows to its rate."""
        assert isinstance(prior, GammaPrior)
        step = Fraction(self.coding(schema).high)
        numbers = Fraction(prior.shape), Fraction(prior.rate)
        return Conjugacy("gamma-shape", self.sums(schema), numbers, step, ("rate",))

    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> GammaPrior:
        """``n`` public rows with the ``sum`` of their counts."""
        assert isinstance(prior, GammaPrior)
        n, total = public_numbers(public, ("n", "sum"))
        return GammaPrior(prior.shape + total, prior.rate + n)
