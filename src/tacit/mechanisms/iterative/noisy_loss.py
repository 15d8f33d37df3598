"""A loss that is gone down, or walked on, by noisy sums over the rows: what private descents and chains share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from tacit.mechanisms.iterative.private_sums import Answer
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss
from tacit.mechanisms.posterior_sample.loss import Loss, Numbers, Settings
from tacit.mechanisms.posterior_sample.rows import Rows
from tacit.noise.entropy import Entropy
from tacit.noise.noisy_steps import NoisySteps
from tacit.privacy.basis import Basis

START = 0.3
"""Of the prior's standard deviation: how far apart a network's weights start, or its units would stay the same."""


@dataclass(frozen=True)
class NoisyLoss(Loss):
    """``inner`` is the loss; rows, columns and parameters are its own."""

    inner: BetaLoss

    @property
    def settings(self) -> Settings:
        """Those of the loss."""
        return self.inner.settings

    @property
    def basis(self) -> Basis:
        """A proof, however far the chain or the descent is from where it aims.

        Proof: what leaves is a function of the noisy sums and of coins that know no row, a failure included, so that
        it costs what the sums cost (`event`). []
        """
        return Basis.PROVED

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the loss."""
        return self.inner.columns

    @property
    def parameters(self) -> tuple[str, ...]:
        """Those of the loss."""
        return self.inner.parameters

    @property
    def bounds(self) -> tuple[float, float]:
        """Parameters may be anything."""
        return self.inner.bounds

    def collector(self) -> Rows:
        """Mapped and clamped rows."""
        return self.inner.collector()

    @abstractmethod
    def steps(self, numbers: Numbers) -> NoisySteps:
        """The law of the noisy sums; refuses numbers that make no sense."""

    @abstractmethod
    def states(
        self, numbers: Numbers, collected: Any, n: int, entropy: Entropy, record: list[Answer] | None = None
    ) -> list[Any]:
        """All points on the way; ``record`` is filled with the noisy sums that they were made from."""
