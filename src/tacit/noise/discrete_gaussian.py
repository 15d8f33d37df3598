"""Discrete Gaussian noise: concentrated differential privacy on integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.bibliography import CANONNE_2020, Paper
from tacit.errors import expected
from tacit.noise.calibration import base_scale, calibrate_gaussian
from tacit.noise.entropy import Entropy
from tacit.noise.gaussian_limit import normal_log_density, normal_reach
from tacit.noise.noise import Noise
from tacit.privacy.events import GaussianEvent
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, RenyiDP
from tacit.privacy.sensitivity import Sensitivity

SLACK = Fraction(61, 1000)  # total variation to the rounded Gaussian, per entry, times the squared scale


@dataclass(frozen=True)
class DiscreteGaussian(Noise):
    """Entry i is k with probability proportional to exp(-k^2 / (2 s^2)), s = ``scales[i]``.

    Proof: of the privacy of an integer statistic plus this noise, for replace-one neighbours and the weighted L2 norm
    of `Sensitivity`. Let D be the difference of the two statistics, w the relative scales, base = min_i s_i / w_i and
    mu^2 = l2_squared / base^2, so that sum_i (D_i / s_i)^2 <= mu^2.

    1. (mu^2 / 2)-zCDP, with no slack (Canonne, Kamath and Steinke 2020, arXiv 2004.00010). For one entry and an integer
       shift D, completing the square in sum_k p_k^a p_{k-D}^{1-a} gives exp(a (a - 1) D^2 / (2 s^2)) times the ratio of
       sum_k exp(-(k - (1-a) D)^2 / (2 s^2)) to sum_k exp(-k^2 / (2 s^2)). The ratio is at most 1: by Poisson summation
       the upper series has the terms of the lower one times cosines. So the Renyi divergence of order a is at most
       a D^2 / (2 s^2), and it adds up over independent entries.
    2. The law of one entry is within total variation 0.061 / s^2 of a N(0, s^2) draw rounded to the nearest integer
       (below), so the whole vector is within slack = sum_i 0.061 / s_i^2 of such a vector, and that one has the
       (epsilon, delta) curve of the Gaussian mechanism of parameter mu (`RoundedGaussian`).

    Proof: of 2. Write f for the density of N(0, s^2), r_k for its integral over [k - 1/2, k + 1/2], Z = sum_k f(k) and
    p_k = f(k) / Z. The midpoint rule's Peano kernel K(t) = (1/2 - |t - k|)^2 / 2 lies in [0, 1/8], so
    sum_k |r_k - f(k)| = sum_k |int K f''| <= (1/8) int |f''| = (1/8) 4 |f'(s)| = exp(-1/2) / (2 sqrt(2 pi) s^2), below
    0.12099 / s^2. By Poisson summation Z = 1 + 2 sum_{m >= 1} exp(-2 pi^2 s^2 m^2), so Z - 1 lies between 0 and
    2.1 exp(-2 pi^2 s^2), and sum_k |f(k) - p_k| = Z - 1. Half of both sums is a total variation below
    0.060495 / s^2 + 1.05 exp(-2 pi^2 s^2). For s >= 1, s^2 exp(-2 pi^2 s^2) falls in s and is below 3e-9 at s = 1, so
    this is below 0.061 / s^2. Independent entries can be coupled one by one, so vectors whose entries are t_i apart are
    at most 1 - prod_i (1 - t_i) <= sum_i t_i apart.
    """

    kind: ClassVar[str] = "discrete-gaussian"
    papers: ClassVar[tuple[Paper, ...]] = (CANONNE_2020,)
    limit: ClassVar[str] = "normal"

    @classmethod
    def calibrate(cls, budget: Guarantee, sensitivity: Sensitivity) -> Self:
        """The least scales for a zCDP, Renyi or approximate budget: s_i = ceil(w_i sqrt(l2_squared) / mu)."""
        if not isinstance(budget, ApproxDP | ZCDP | RenyiDP):
            also = "; for GDP use rounded-gaussian" if isinstance(budget, GDP) else ""
            raise expected("budget", budget, f"to be ApproxDP, ZCDP or RenyiDP for {cls.kind} noise{also}")
        return calibrate_gaussian(cls, budget, sensitivity)

    def event(self, sensitivity: Sensitivity) -> GaussianEvent:
        """A Gaussian event of mu^2 = l2_squared / base^2, base = min_i s_i / w_i, with slack sum_i 0.061 / s_i^2."""
        return GaussianEvent(sensitivity.l2_squared / base_scale(self.scales, sensitivity) ** 2, _slack(self.scales))

    def sample(self, size: int, entropy: Entropy) -> Any:
        """Return a ``(size, entries)`` integer array, exactly from the law of `log_pmf`."""
        from tacit.noise.gaussian_draws import propose_gaussian
        from tacit.noise.proposals import fill

        return fill(self.scales, size, lambda scale: propose_gaussian(scale, False, entropy))

    def log_pmf(self, values: Any) -> Any:
        """-k^2 / (2 s^2) - log(s sqrt(2 pi)) - log(1 + 2 exp(-2 pi^2 s^2)).

        The normaliser is Poisson's sum without the terms from exp(-8 pi^2 s^2) <= 5e-35 on.
        """
        import numpy as np

        scale = np.asarray(self.scales, dtype=np.float64)
        standard = np.asarray(values, dtype=np.float64) / scale
        normaliser = np.log(scale * math.sqrt(2 * math.pi)) + np.log1p(2 * np.exp(-2 * (math.pi * scale) ** 2))
        return -0.5 * standard**2 - normaliser

    def log_density(self, values: Any, xp: Any) -> Any:
        """-v^2 / (2 s^2) - log(s sqrt(2 pi)), the normal law."""
        return normal_log_density(self.scales, values, xp)

    @property
    def sd(self) -> tuple[float, ...]:
        """s sqrt(1 - 8 pi^2 s^2 q / (1 + 2 q)) with q = exp(-2 pi^2 s^2): the derivative of the log normaliser."""
        return tuple(scale * math.sqrt(1 - _shortfall(scale)) for scale in self.scales)

    def reach(self, drop: float) -> tuple[float, ...]:
        """s sqrt(2 drop)."""
        return normal_reach(self.scales, drop)


def _slack(scales: tuple[int, ...]) -> Fraction:
    """sum_i 0.061 / s_i^2, rounded up to about 32 significant bits; past 1/2, the product that stays below 1."""
    distances = [SLACK / scale**2 for scale in scales]
    total = sum(distances, Fraction(0))
    if total > Fraction(1, 2):
        return 1 - math.prod((1 - distance for distance in distances), start=Fraction(1))
    denominator = 2 ** (32 + math.ceil(1 / total).bit_length())
    return Fraction(math.ceil(total * denominator), denominator)


def _shortfall(scale: int) -> float:
    q = math.exp(-2 * (math.pi * scale) ** 2)
    return 8 * (math.pi * scale) ** 2 * q / (1 + 2 * q)
