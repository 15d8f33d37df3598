"""A statistical query: the mean of one bounded column over the rows, released as draws from a Beta law.

geumlek2017, section A.3: with phi = (x - low) / (high - low) in [0, 1], clamped, a draw from

    Beta(a / m + r sum phi, b / m + r sum (1 - phi))

concentrates around the mean of phi and costs what a draw of a yes/no column costs (`conjugate_worst`: nothing there
needs rows to be 0 or 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.models.bernoulli import BetaPrior
from tacit.models.conjugate import Conjugacy, ConjugateModel, public_numbers
from tacit.models.conjugate_draws import query_from_draws
from tacit.models.model import Example, Method, Model, Prior
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.power_sums import PowerSums


@dataclass(frozen=True)
class StatisticalQuery(Model, ConjugateModel):
    """The mean of ``column`` over the rows themselves, as mapped to [0, 1]: no population, no sampling error.

    The prior is Beta(a, b) for that mean, uniform unless said. To simulate, every row is at the mean.
    """

    family: ClassVar[str] = "query"
    about: ClassVar[str] = "the mean of a number, drawn"
    column: str

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """A score."""
        return (Example(cls("score"), Schema(score=(0, 100))),)

    def statistic(self, schema: Schema) -> PowerSums:
        """The sum of phi."""
        bounds = schema.number(self.column)
        return PowerSums(self.column, bounds.low, bounds.high, (1,), signed=False)

    def default_prior(self, schema: Schema) -> BetaPrior:
        """Uniform."""
        return BetaPrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """The mean from its prior, in the units of the column."""
        assert isinstance(prior, BetaPrior)
        bounds = schema.number(self.column)
        return {"mean": bounds.low + (bounds.high - bounds.low) * rng.beta(prior.a, prior.b)}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Every row at the mean."""
        return {self.column: [float(parameters["mean"])] * n}

    @property
    def methods(self) -> Mapping[str, Method]:
        """None: it is about posterior draws."""
        return {}

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """Tabled along a line."""
        return {"exact": Method(query_from_draws, thin=1)}

    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        """Beta, with rows anywhere in [0, 1]."""
        assert isinstance(prior, BetaPrior)
        numbers = Fraction(prior.b), Fraction(prior.a)
        return Conjugacy("beta-query", self.statistic(schema), numbers, Fraction(1), ("mean",))

    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> BetaPrior:
        """``n`` public rows with the ``sum`` of their phi."""
        assert isinstance(prior, BetaPrior)
        n, total = public_numbers(public, ("n", "sum"))
        return BetaPrior(prior.a + total, prior.b + max(n - total, 0.0))

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """A single number."""
        return {"mean": ()}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """No axes."""
        return {}
