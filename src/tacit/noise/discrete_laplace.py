"""Discrete Laplace noise: pure differential privacy on integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.bibliography import GHOSH_2012, Paper
from tacit.errors import expected
from tacit.noise.calibration import base_scale, least_noise
from tacit.noise.entropy import Entropy
from tacit.noise.noise import Noise
from tacit.privacy.events import LaplaceEvent
from tacit.privacy.guarantees import ApproxDP, Guarantee, PureDP
from tacit.privacy.sensitivity import Sensitivity


@dataclass(frozen=True)
class DiscreteLaplace(Noise):
    """Entry i is k with probability tanh(1 / (2 s)) exp(-|k| / s), s = ``scales[i]``.

    Proof: of the privacy of an integer statistic plus this noise, for replace-one neighbours and the weighted L1 norm
    of `Sensitivity`. Let D be the difference of the two statistics, w the relative scales and base = min_i s_i / w_i.
    For every output the log ratio of the two probabilities is sum_i (|k_i - D_i| - |k_i|) / s_i, at most
    sum_i |D_i| / s_i <= sum_i |D_i| / (w_i base) <= l1 / base. So one draw is (l1 / base)-DP.
    """

    kind: ClassVar[str] = "discrete-laplace"
    papers: ClassVar[tuple[Paper, ...]] = (GHOSH_2012,)
    limit: ClassVar[str] = "laplace"

    @classmethod
    def calibrate(cls, budget: Guarantee, sensitivity: Sensitivity) -> Self:
        """The least scales for ``budget``: s_i = ceil(w_i * l1 / epsilon), in rational arithmetic.

        The budget is pure, or approximate (pure epsilon-DP is (epsilon, delta)-DP for every delta).
        """
        if not isinstance(budget, PureDP | ApproxDP):
            raise expected("budget", budget, f"to be PureDP or ApproxDP, which is what {cls.kind} noise can meet")
        base = sensitivity.l1 / Fraction(budget.epsilon)

        def build(stretch: Fraction) -> Self:
            return cls(tuple(math.ceil(stretch * base * weight) for weight in sensitivity.relative_scales))

        return least_noise(build, budget, sensitivity)

    def event(self, sensitivity: Sensitivity) -> LaplaceEvent:
        """A Laplace event of epsilon = l1 / base, base = min_i s_i / w_i, on a lattice of min_i s_i points a scale."""
        return LaplaceEvent(sensitivity.l1 / base_scale(self.scales, sensitivity), min(self.scales))

    def sample(self, size: int, entropy: Entropy) -> Any:
        """Return a ``(size, entries)`` integer array, exactly from the law of `log_pmf`."""
        from tacit.noise.laplace_draws import propose_laplace
        from tacit.noise.proposals import fill

        return fill(self.scales, size, lambda scale: propose_laplace(scale, entropy))

    def log_pmf(self, values: Any) -> Any:
        """log tanh(1 / (2 s)) - |k| / s."""
        import numpy as np

        scale = np.asarray(self.scales, dtype=np.float64)
        return np.log(np.tanh(0.5 / scale)) - np.abs(np.asarray(values, dtype=np.float64)) / scale

    def log_density(self, values: Any, xp: Any) -> Any:
        """-log(2 s) - |v| / s, the continuous Laplace law."""
        scale = xp.asarray([float(scale) for scale in self.scales])
        return -xp.abs(values) / scale - xp.log(2.0 * scale)

    @property
    def sd(self) -> tuple[float, ...]:
        """1 / (sqrt(2) sinh(1 / (2 s))), which tends to sqrt(2) s."""
        return tuple(math.sqrt(0.5) / math.sinh(0.5 / scale) for scale in self.scales)

    def reach(self, drop: float) -> tuple[float, ...]:
        """s * drop."""
        return tuple(scale * drop for scale in self.scales)
