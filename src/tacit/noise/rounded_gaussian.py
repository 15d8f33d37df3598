"""Rounded Gaussian noise: Gaussian differential privacy on integers, with no slack at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.noise.calibration import base_scale, calibrate_gaussian
from tacit.noise.entropy import Entropy
from tacit.noise.gaussian_limit import normal_log_density, normal_reach
from tacit.noise.noise import Noise
from tacit.privacy.events import GaussianEvent
from tacit.privacy.guarantees import Guarantee
from tacit.privacy.sensitivity import Sensitivity


@dataclass(frozen=True)
class RoundedGaussian(Noise):
    """Entry i is an exact draw of the normal distribution N(0, s^2), s = ``scales[i]``, rounded to the nearest integer.

    Proof: of the privacy of an integer statistic plus this noise, for replace-one neighbours and the weighted L2 norm
    of `Sensitivity`. For an integer vector t and a real vector g, t + round(g) = round(t + g). So the output is a
    function of t + g, the Gaussian mechanism on the line, whose distribution moves by sum_i (D_i / s_i)^2 <=
    l2_squared / base^2 = mu^2 squared standard deviations, with D the difference of the two statistics, w the relative
    scales and base = min_i s_i / w_i. Post-processing keeps mu-GDP, and with it (mu^2 / 2)-zCDP, every Renyi bound and
    the exact (epsilon, delta) curve of the Gaussian mechanism (Dong, Roth and Su 2022, Theorem 1 and Corollary 1).
    """

    kind: ClassVar[str] = "rounded-gaussian"
    limit: ClassVar[str] = "normal"

    @classmethod
    def calibrate(cls, budget: Guarantee, sensitivity: Sensitivity) -> Self:
        """The least scales for a GDP, zCDP, Renyi or approximate budget: s_i = ceil(w_i sqrt(l2_squared) / mu)."""
        return calibrate_gaussian(cls, budget, sensitivity)

    def event(self, sensitivity: Sensitivity) -> GaussianEvent:
        """A Gaussian event of mu^2 = l2_squared / base^2, base = min_i s_i / w_i, without slack."""
        return GaussianEvent(sensitivity.l2_squared / base_scale(self.scales, sensitivity) ** 2, Fraction(0))

    def sample(self, size: int, entropy: Entropy) -> Any:
        """Return a ``(size, entries)`` integer array, exactly from the distribution of `log_pmf`."""
        from tacit.noise.gaussian_sampler import propose_gaussian
        from tacit.noise.rejection import fill

        return fill(self.scales, size, lambda scale: propose_gaussian(scale, True, entropy))

    def log_pmf(self, values: Any) -> Any:
        """log(Phi((k + 1/2) / s) - Phi((k - 1/2) / s)), without cancellation.

        Write c = |k| / s^2, how much the log density falls from one integer to the next. If c <= 1 the probability is
        the density at k times the integral of exp(-c t - t^2 / (2 s^2)) over |t| <= 1/2, smooth enough for 12 nodes.
        If c > 1 it is Q(a) - Q(b) for a = (|k| - 1/2) / s, b = (|k| + 1/2) / s and the normal tail
        Q(x) = exp(-x^2 / 2) erfcx(x / sqrt 2) / 2, where Q(b) is smaller than Q(a) by a factor of more than e.
        """
        import numpy as np
        from scipy.special import erfcx

        scale = np.asarray(self.scales, dtype=np.float64)
        size = np.abs(np.asarray(values, dtype=np.float64))
        fall = size / scale**2
        nodes, weights = np.polynomial.legendre.leggauss(12)
        t = nodes / 2
        smooth = np.minimum(fall, 1.0)[..., None]
        integral = np.exp(-smooth * t - t**2 / (2 * scale**2)[..., None]) @ (weights / 2)
        near = -0.5 * (size / scale) ** 2 - np.log(scale * math.sqrt(2 * math.pi)) + np.log(integral)
        # The far branch is evaluated from k = 1 on, where its arguments are positive, and used where c > 1.
        steep = np.maximum(fall, 1.0)
        low, high = (np.maximum(size, 1.0) - 0.5) / scale, (np.maximum(size, 1.0) + 0.5) / scale
        tail = erfcx(low * math.sqrt(0.5))
        ratio = erfcx(high * math.sqrt(0.5)) / tail
        far = -0.5 * low**2 + np.log(0.5 * tail) + np.log1p(-np.exp(-steep) * ratio)
        return np.where(fall <= 1.0, near, far)

    def log_density(self, values: Any, xp: Any) -> Any:
        """-v^2 / (2 s^2) - log(s sqrt(2 pi)), the normal distribution."""
        return normal_log_density(self.scales, values, xp)

    @property
    def sd(self) -> tuple[float, ...]:
        """sqrt(s^2 + 1/12 - (4 s^2 + 1 / pi^2) exp(-2 pi^2 s^2)), from the Fourier series of the rounding error."""
        return tuple(math.sqrt(_variance(scale)) for scale in self.scales)

    def reach(self, drop: float) -> tuple[float, ...]:
        return normal_reach(self.scales, drop)


def _variance(scale: int) -> float:
    square = float(scale) ** 2
    return square + 1 / 12 - (4 * square + 1 / math.pi**2) * math.exp(-2 * math.pi**2 * square)
