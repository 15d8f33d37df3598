"""What one row adds to a private chain's sums, as values that `tacit.private_samplers.row_sums` compiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.mechanisms.posterior_sample.row_loss import RowLoss


@dataclass(frozen=True)
class RowGradient:
    """grad l(theta, row), with theta the state."""

    loss: RowLoss

    def __call__(self, state: Any, x: Any, y: Any) -> Any:
        """(size,)."""
        import jax

        return jax.grad(lambda theta: self.loss.record_losses(theta, x[None, :-1], y[None], {})[0])(state)


@dataclass(frozen=True)
class RowDifference:
    """l(theta, row) - l(proposal, row), with (theta, proposal) the state."""

    loss: RowLoss

    def __call__(self, state: Any, x: Any, y: Any) -> Any:
        """(1,)."""
        theta, proposal = state
        return self.loss.record_losses(theta, x[None, :-1], y[None], {}) - self.loss.record_losses(
            proposal, x[None, :-1], y[None], {}
        )


@dataclass(frozen=True)
class SampledDifference:
    """The term of a `sampled_ratio`: (theta, proposal, weight, bound, rate, uniforms) is the state.

    ``uniforms`` (n,) holds the number by which each row is kept or not; the row's own place is the last number of x.
    """

    loss: RowLoss

    def __call__(self, state: Any, x: Any, y: Any) -> Any:
        """(1,)."""
        import jax.numpy as jnp

        from tacit.private_samplers.sampled_ratio import kept_terms

        theta, proposal, weight, bound, rate, uniforms = state
        difference = RowDifference(self.loss)((theta, proposal), x, y)
        return kept_terms(weight * difference, uniforms[x[-1].astype(int)], bound, rate, jnp)
