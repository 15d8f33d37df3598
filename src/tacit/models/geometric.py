"""A column of counts that are geometric before they are clamped: the chance p that a count stops where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.models.bernoulli import BetaPrior
from tacit.models.count_family import CountFamily
from tacit.models.model import Example
from tacit.runtime.chain import Arrays
from tacit.schema import Schema


@dataclass(frozen=True)
class Geometric(CountFamily):
    """Rows are independent counts, P(Y = j) = p (1 - p)^j for j = 0, 1, ..., and clamped to 0 and K of ``column``.

    Released: the sum of c, the clamped Y over K, plus noise. The prior is p ~ Beta(a, b). By default a = 2 and
    b = max(K / 4, 1), which makes the prior mean of E[Y] = (1 - p) / p equal to b, and lets a count exceed K with
    probability b (b + 1) / ((b + K + 1)(b + K + 2)): less than 0.17, and 0.04 for a large K.
    """

    family: ClassVar[str] = "geometric"
    about: ClassVar[str] = "tries until a success"
    parameter: ClassVar[str] = "p"
    share: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Attempts before the first success."""
        return (Example(cls("attempts"), Schema(attempts=(0, 15)), quick=False, always=False),)

    def default_prior(self, schema: Schema) -> BetaPrior:
        """From the bound alone."""
        return BetaPrior(2.0, max(self.coding(schema).high / 4, 1.0))

    def log_pmf(self, counts: Any, natural: Any) -> Any:
        """log p + j log(1 - p), from the logit of p."""
        import jax

        return jax.nn.log_sigmoid(natural) + counts * jax.nn.log_sigmoid(-natural)

    def tail(self, most: int, natural: Any) -> Any:
        """(1 - p)^most."""
        import jax

        return jax.numpy.exp(most * jax.nn.log_sigmoid(-natural))

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Independent counts; numpy's own start at 1."""
        return {self.column: rng.geometric(max(parameters["p"], 1e-15), n) - 1}
