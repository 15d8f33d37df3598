"""One step of a subsampled Gaussian mechanism against its worst neighbour: a pair of laws on the line.

    P = (1 - q) N(0, s^2) + q N(1, s^2)        Q = (1 - q) N(0, s^2) + q N(-1, s^2)

with q the ``rate`` and s the ``multiplier``. `SubsampledGaussian` proves that this pair dominates; here are its
numbers.

The privacy loss at x is L(x) = ln(P(x) / Q(x)). Divide both densities by that of N(0, s^2) and put w = e^{x / s^2} and
c = q e^{-1 / (2 s^2)}: e^L = (1 - q + c w) / (1 - q + c / w). L is odd and grows with x, and solving the quadratic
equation in w gives its inverse: with A = (1 - q) / c,

    x(L) = s^2 (L / 2 + asinh(A sinh(L / 2))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.errors import expected

LEAST_MULTIPLIER = 0.05  # below it exponents of 1 / (2 s^2) leave the range of floats, and nothing is protected
_FARTHEST = 12.0  # standard deviations: a normal law has less than 1e-32 beyond


@dataclass(frozen=True)
class AntipodalPair:
    """The pair for a noise ``multiplier`` s of at least `LEAST_MULTIPLIER` and a ``rate`` q in (0, 1]."""

    multiplier: float
    rate: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.multiplier) and self.multiplier >= LEAST_MULTIPLIER):
            raise expected("multiplier", self.multiplier, f"to be a finite number of at least {LEAST_MULTIPLIER}")
        if not 0 < self.rate <= 1:
            raise expected("rate", self.rate, "to lie above 0 and be at most 1")

    @property
    def _log_scale(self) -> float:
        """ln A; -inf at rate 1."""
        if self.rate == 1:
            return -math.inf
        return math.log1p(-self.rate) - math.log(self.rate) + 1 / (2 * self.multiplier**2)

    def loss(self, x: Any) -> Any:
        """L at each of ``x``."""
        import numpy as np

        s, q = self.multiplier, self.rate
        kept = math.log1p(-q) if q < 1 else -math.inf
        up, down = (math.log(q) + (sign * 2 * np.asarray(x, np.float64) - 1) / (2 * s * s) for sign in (1, -1))
        return np.logaddexp(kept, up) - np.logaddexp(kept, down)

    def point(self, loss: Any) -> Any:
        """x(L) at each of ``loss``."""
        import numpy as np

        half = np.abs(np.asarray(loss, np.float64)) / 2
        # ln(A sinh h), without overflow: sinh h = e^h (1 - e^{-2h}) / 2
        with np.errstate(divide="ignore"):
            log_argument = self._log_scale + half + np.log(-np.expm1(-2 * half)) - math.log(2)
        small = np.exp(np.minimum(log_argument, 300.0))
        arc = np.where(log_argument > 300.0, log_argument + math.log(2), np.arcsinh(small))
        return np.sign(loss) * self.multiplier**2 * (half + arc)

    @property
    def largest_loss(self) -> float:
        """L at a point beyond which P has less than 1e-32."""
        return float(self.loss(1 + _FARTHEST * self.multiplier))

    def masses(self, edges: Any) -> tuple[Any, Any, float, float]:
        """P's and Q's mass between neighbouring ``edges`` (rising points x), and P's below the first, above the last.

        Each difference is taken on the side where both tails are below 1/2, so that no digits cancel beyond those of
        the interval itself.
        """
        import numpy as np
        from scipy.special import ndtr

        s, q = self.multiplier, self.rate

        def between(centre: float) -> Any:
            z = (np.asarray(edges, np.float64) - centre) / s
            low, high = z[:-1], z[1:]
            return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))

        middle = (1 - q) * between(0.0)
        first, last = float(edges[0]), float(edges[-1])
        below = (1 - q) * float(ndtr(first / s)) + q * float(ndtr((first - 1) / s))
        above = (1 - q) * float(ndtr(-last / s)) + q * float(ndtr((1 - last) / s))
        return middle + q * between(1.0), middle + q * between(-1.0), below, above

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence of one step: P(x > z) - e^epsilon Q(x > z), z = x(epsilon), as L grows with x."""
        from scipy.special import log_ndtr

        s, q = self.multiplier, self.rate
        x = float(self.point(epsilon))
        gained, kept, lost = (float(log_ndtr((centre - x) / s)) for centre in (1.0, 0.0, -1.0))
        p = q * math.exp(gained) + (1 - q) * math.exp(kept)
        return max(0.0, p - q * math.exp(epsilon + lost) - (1 - q) * math.exp(epsilon + kept))

    def spread(self) -> float:
        """The standard deviation of L under P, to a few digits."""
        import numpy as np

        s, q = self.multiplier, self.rate
        z = np.linspace(-9.0, 9.0, 4001)
        weight = np.exp(-z * z / 2)
        weight /= weight.sum()
        at_zero, at_one = self.loss(s * z), self.loss(1 + s * z)
        mean = (1 - q) * (weight @ at_zero) + q * (weight @ at_one)
        square = (1 - q) * (weight @ at_zero**2) + q * (weight @ at_one**2)
        return math.sqrt(max(square - mean**2, 1e-300))

    def renyi(self, order: float) -> float:
        """D_a(P || Q), a = ``order``: ln(1 + I) / (a - 1) with I the integral of Q ((1 + r)^a - 1 - a r), r = P/Q - 1.

        The integrand is never negative, as Q r integrates to 0 and (1 + r)^a lies above its tangent, so nothing
        cancels however small q is. It is smooth and falls like a Gaussian on both sides (its peak is at most at x = a),
        where the trapezoidal rule with steps of s/16 is exact to all digits. Sums are in logarithms. The result is
        raised by 1e-9 of itself, far more than its rounding errors.
        """
        import numpy as np

        s, q, a = self.multiplier, self.rate, float(order)
        if q == 1:
            return 2 * a / (s * s)
        step = s / 16
        x = np.arange(-_FARTHEST * s - 1, max(a, 1.0) + 1 + 14 * s * math.sqrt(max(a, 1.0)), step)
        log_one = self.loss(x)  # ln(1 + r)
        log_q = np.logaddexp(math.log1p(-q) - x * x / (2 * s * s), math.log(q) - (x + 1) ** 2 / (2 * s * s)) - math.log(
            s * math.sqrt(2 * math.pi)
        )
        log_terms = log_q + _log_excess(log_one, a)
        top = float(log_terms.max())
        log_integral = top + math.log(float(np.exp(log_terms - top).sum()) * step)
        grown = log_integral if log_integral > 36 else math.log1p(math.exp(log_integral))
        return grown / (a - 1) * (1 + 1e-9)


def _log_excess(log_one: Any, a: float) -> Any:
    """ln((1 + r)^a - 1 - a r) from ln(1 + r); 0 where r is 0, as -inf."""
    import numpy as np

    r = np.expm1(np.minimum(log_one, 30.0))
    power = a * log_one
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        plain = np.log(np.expm1(np.minimum(power, 600.0)) - a * r)
        # large: (1 + r)^a (1 - (1 + a r) e^{-power}); the bracket is positive, as a tangent lies below
        large = power + np.log1p(-np.exp(np.minimum(np.logaddexp(0.0, math.log(a) + log_one) - power, -1e-300)))
        # small |r|: the binomial series a (a-1)/2 r^2 (1 + (a-2)/3 r (1 + (a-3)/4 r (1 + ...)))
        tail = np.ones_like(r)
        for k in range(9, 2, -1):
            tail = 1 + (a - k + 1) / k * r * tail
        small = np.log(a * (a - 1) / 2) + 2 * np.log(np.abs(r)) + np.log(np.maximum(tail, 1e-300))
    found = np.where(power > 30.0, large, plain)
    return np.where(np.abs(r) * max(a, 1.0) < 1e-2, small, found)
