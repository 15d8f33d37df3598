"""The rows as a private chain sees them: every answer is a noisy sum of whole vectors over a Poisson sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.mechanisms.iterative.row_bounds import RowBounds
from tacit.mechanisms.iterative.row_vectors import RowDifference, RowGradient, SampledDifference
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.noise.entropy import Entropy
from tacit.noise.noisy_steps import NoiseStream, NoisySteps


@dataclass(frozen=True, eq=False)
class Answer:
    """One noisy sum as the boundary made it: for an audit, whose attacker may know everything but one row.

    ``values`` are the noisy whole numbers, ``taken`` the rows that were taken, ``vector``, ``state`` and ``bound`` what
    each row adds.
    """

    vector: Any
    state: Any
    bound: float
    taken: Any
    values: Any


class PrivateSums:
    """`tacit.private_samplers.private_evidence.Evidence` about rows ``x`` (n, columns) and ``y``, by the law ``steps``.

    Proof: of privacy, for replace-one neighbours and the Euclidean norm. Each answer is a noisy sum as `NoisySteps`
    describes it: `RowSums` makes of every row a whole vector of norm at most the radius, in units of bound / radius
    that are fixed by public numbers and earlier answers, whatever the bound is worth. A bound that is too small clips;
    it cannot break the promise. For a `SampledDifference` a row's vector depends also on a uniform number of its own,
    drawn without looking at rows: given those numbers it is a function of the row. At most ``steps.steps`` answers are
    given; a further one is refused. []
    """

    def __init__(
        self,
        loss: RowLoss,
        weight: float,
        bounds: RowBounds,
        steps: NoisySteps,
        x: Any,
        y: Any,
        entropy: Entropy,
        record: list[Answer] | None = None,
    ) -> None:
        import numpy as np

        self.loss, self.weight, self.bounds, self.steps = loss, weight, bounds, steps
        self._numbered = np.concatenate([x, np.arange(len(y), dtype=np.float64)[:, None]], axis=1)
        self._y, self._entropy, self._record, self._answered = y, entropy, record, 0
        self._sums: dict[Any, Any] = {}
        self._streams: dict[int, NoiseStream] = {}

    @property
    def rate(self) -> float:
        """With which rows are taken."""
        return float(self.steps.rate)

    @property
    def gradient_sd(self) -> float:
        """weight / rate times the multiplier times the longest gradient."""
        return self.weight / self.rate * float(self.steps.multiplier) * self.bounds.slope

    def gradient(self, theta: Any) -> Any:
        """weight / rate times a noisy sum of gradients."""
        return self.weight / self.rate * self._noisy(RowGradient(self.loss), theta, self.bounds.slope, len(theta))

    def ratio_sd(self, theta: Any, proposal: Any) -> float:
        """The multiplier times the most that one row can add."""
        bound = self._bound(theta, proposal)
        if not bound > 0:
            return math.inf
        if self.rate == 1:
            return float(self.steps.multiplier) * bound
        ratio = self._sampled(bound)
        return float(self.steps.multiplier) * ratio.largest if ratio.near else math.inf

    def log_ratio(self, theta: Any, proposal: Any) -> float:
        """A noisy sum of differences over all rows, or of the terms of a sampled ratio."""
        import numpy as np

        bound = self._bound(theta, proposal)
        if self.rate == 1:
            found = self._noisy(RowDifference(self.loss), (theta, proposal), bound / self.weight, 1)
            return self.weight * float(found[0])
        state = theta, proposal, self.weight, bound, self.rate, np.zeros(len(self._y))
        return float(self._noisy(SampledDifference(self.loss), state, self._sampled(bound).largest, 1)[0])

    def _bound(self, theta: Any, proposal: Any) -> float:
        import numpy as np

        return self.weight * self.bounds.difference(float(np.linalg.norm(np.subtract(proposal, theta))))

    def _sampled(self, bound: float) -> Any:
        from tacit.private_samplers.sampled_ratio import SampledRatio

        return SampledRatio(bound, self.rate)

    def _noisy(self, vector: Any, state: Any, bound: float, size: int) -> Any:
        """The noisy sum in real units."""
        if self._answered >= self.steps.steps:
            raise RuntimeError("a private chain asked for more than it paid for")
        self._answered += 1
        taken = self.steps.taken(len(self._y), self._entropy)
        if isinstance(vector, SampledDifference):
            from tacit.private_samplers.entropy_arrays import uniforms

            state[-1][:] = uniforms((len(self._y),), self._entropy)
        values = self.exact(vector, state, bound, taken, size) + self._noise(size)
        if self._record is not None:
            self._record.append(Answer(vector, state, bound, taken, values))
        return values * (bound / self.steps.radius)

    def _noise(self, size: int) -> Any:
        if size not in self._streams:
            self._streams[size] = NoiseStream(self.steps, size, self._entropy)
        return self._streams[size].next()

    def exact(self, vector: Any, state: Any, bound: float, taken: Any, size: int) -> Any:
        """The sum of the rows ``taken`` without noise, in whole numbers. Secret."""
        from tacit.private_samplers.row_sums import RowSums

        if vector not in self._sums:
            self._sums[vector] = RowSums(vector, self._numbered, self._y, size, self.steps.radius)
        return self._sums[vector].add(state, bound, taken)


@dataclass(frozen=True)
class PriorTerms:
    """V of a loss and its gradient: public."""

    loss: RowLoss

    def potential(self, theta: Any) -> float:
        """V(theta)."""
        return float(self._asked(0, theta))

    def gradient(self, theta: Any) -> Any:
        """The gradient of V."""
        return self._asked(1, theta)

    def _asked(self, which: int, theta: Any) -> Any:
        import numpy as np

        from tacit.runtime.backend import float64

        with float64(), np.errstate(all="ignore"):
            return np.asarray(_prior_programs(self.loss)[which](np.asarray(theta, np.float64)))


@lru_cache(maxsize=16)
def _prior_programs(loss: RowLoss) -> tuple[Any, Any]:
    import jax

    def prior(theta: Any) -> Any:
        return loss.prior_potential(theta, {})

    return jax.jit(prior), jax.jit(jax.grad(prior))
