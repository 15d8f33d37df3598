"""A column of counts that are geometric before they are clamped: the chance p that a count stops where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.models.bernoulli import BetaPrior
from tacit.models.model import Example, Prior
from tacit.models.one_number import Coding, OneNumber, counts_coding
from tacit.models.support import SHARE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.likelihoods.clamped_laws import ClampedGeometric


@dataclass(frozen=True)
class Geometric(OneNumber):
    """Rows are independent counts, P(Y = j) = p (1 - p)^j for j = 0, 1, ..., and clamped to 0 and K of ``column``.

    Released: the sum of c, the clamped Y over K, plus noise. The prior is p ~ Beta(a, b). By default a = 2 and
    b = max(K / 4, 1), which makes the prior mean of E[Y] = (1 - p) / p equal to b, and lets a count exceed K with
    probability b (b + 1) / ((b + K + 1)(b + K + 2)): less than 0.17, and 0.04 for a large K.
    """

    family: ClassVar[str] = "geometric"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Attempts before the first success."""
        return (Example(cls("attempts"), Schema(attempts=(0, 15)), quick=False, always=False),)

    @property
    def powers(self) -> tuple[int, ...]:
        """One number for one parameter."""
        return (1,)

    def coding(self, schema: Schema) -> Coding:
        """Refuses bounds that are not 0 and a whole number."""
        return counts_coding(self.column, schema, self.family)

    def default_prior(self, schema: Schema) -> BetaPrior:
        """From the bound alone."""
        return BetaPrior(2.0, max(self.coding(schema).high / 4, 1.0))

    def law(self, prior: Prior, schema: Schema) -> ClampedGeometric:
        """p has no unit."""
        from tacit.likelihoods.clamped_laws import ClampedGeometric

        assert isinstance(prior, BetaPrior)
        return ClampedGeometric(int(self.coding(schema).high), prior.a, prior.b)

    def original(self, draws: Arrays, schema: Schema) -> Arrays:
        """As it is."""
        return {"p": draws["p"]}

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """P from its prior."""
        assert isinstance(prior, BetaPrior)
        return {"p": rng.beta(prior.a, prior.b)}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Independent counts; numpy's own start at 1."""
        return {self.column: rng.geometric(max(parameters["p"], 1e-15), n) - 1}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"p": SHARE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """A single number."""
        return {"p": ()}
