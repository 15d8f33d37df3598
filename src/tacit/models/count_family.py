"""A family of counts from its probability mass function: what a new one has to say, and nothing else."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.models.bernoulli import BetaPrior
from tacit.models.exponential import GammaPrior
from tacit.models.model import Prior
from tacit.models.one_number import Coding, OneNumber, check_prior_number, counts_coding
from tacit.models.support import POSITIVE, SHARE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.likelihoods.clamped_distributions import ClampedCounts


@dataclass(frozen=True)
class CountFamily(OneNumber):
    """Rows are independent counts Y = 0, 1, 2, ..., clamped to the bounds 0 and K of ``column``.

    Released: the sum of c, the clamped Y over K, plus noise. The one unknown is called ``parameter``. It is a positive
    number with a `GammaPrior`, whose natural coordinate is its logarithm, or a share with a `BetaPrior`, whose natural
    coordinate is its logit; which of them, ``share`` says. A subclass adds `log_pmf`, `default_prior`, `draw_rows` and
    `examples`. Central releases, local reports, clamping, pooling and both methods follow.
    """

    parameter: ClassVar[str]
    share: ClassVar[bool] = False

    @abstractmethod
    def log_pmf(self, counts: Any, natural: Any) -> Any:
        """log P(Y = j) for each j of ``counts``, an array, in JAX, for any finite natural coordinate."""

    def tail(self, most: int, natural: Any) -> Any:
        """P(Y >= ``most``): what those below leave, with their rounding; a closed form has more digits."""
        import jax.numpy as jnp

        below = jnp.exp(self.log_pmf(jnp.arange(most, dtype=jnp.result_type(float)), natural))
        return jnp.maximum(1 - jnp.sum(below), 0.0)

    @property
    def shape(self) -> str:
        """That of the family."""
        return (
            f"the values are {self.family} counts before they are clamped; {self.parameter} is about that distribution"
        )

    @property
    def powers(self) -> tuple[int, ...]:
        """One number for one parameter."""
        return (1,)

    def coding(self, schema: Schema) -> Coding:
        """Refuses bounds that are not 0 and a whole number."""
        return counts_coding(self.column, schema, self.family)

    def distribution(self, prior: Prior, schema: Schema) -> ClampedCounts:
        """The parameter has no other unit than counts."""
        from tacit.likelihoods.clamped_distributions import BetaCoordinate, ClampedCounts, GammaCoordinate

        most = int(self.coding(schema).high)
        if isinstance(prior, BetaPrior):
            return ClampedCounts(self, most, BetaCoordinate(prior.a, prior.b))
        assert isinstance(prior, GammaPrior)
        check_prior_number("rate", prior.rate, 1 / most)
        return ClampedCounts(self, most, GammaCoordinate(prior.shape, prior.rate))

    def original(self, draws: Arrays, schema: Schema) -> Arrays:
        return {self.parameter: draws[self.parameter]}

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """The parameter from its prior."""
        if isinstance(prior, BetaPrior):
            return {self.parameter: rng.beta(prior.a, prior.b)}
        assert isinstance(prior, GammaPrior)
        return {self.parameter: rng.gamma(prior.shape) / prior.rate}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {self.parameter: SHARE if self.share else POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        return {self.parameter: ()}
