"""One step of a subsampled Gaussian mechanism against its worst neighbour: a pair of distributions on the line.

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
from tacit.privacy.pair_renyi import renyi

LEAST_MULTIPLIER = 0.05  # below it exponents of 1 / (2 s^2) leave the range of floats, and nothing is protected
_FARTHEST = 12.0  # standard deviations: a normal distribution has less than 1e-32 beyond


@dataclass(frozen=True)
class DominatingPair:
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
    def mass_error(self) -> float:
        """The relative error of `masses` up to `largest_loss`: (8 + z^2) 2^-50 at the farthest z = 12 + 2/s."""
        return (8 + (_FARTHEST + 2 / self.multiplier) ** 2) * 2.0**-50

    @property
    def loss_error(self) -> float:
        """How far L(`point` (L)) may be from L, up to `largest_loss`.

        Proof: let the argument u = A sinh(L/2) be off by d of itself, a few roundings of the sizes of ln A and L. Then
        asinh is off by at most d u / sqrt(1 + u^2), and as dx/dL = s^2 (1 + u coth(L/2) / sqrt(1 + u^2)) / 2, L by at
        most 2 d tanh(L/2) <= 2d. The rounding of x, asinh(u) <= L/2 + ln(1 + A) and dx/dL >= s^2 / 2 give as many
        again.
        """
        return 2.0**-49 * (abs(self._log_scale if self.rate < 1 else 0.0) + self.largest_loss + 4)

    @property
    def largest_loss(self) -> float:
        """L at a point beyond which P has less than 1e-32."""
        return float(self.loss(1 + _FARTHEST * self.multiplier))

    def masses(self, edges: Any) -> tuple[Any, Any, float, float]:
        """P's and Q's mass between neighbouring ``edges`` (rising points x), and P's below the first, above the last,
        rounded up.

        Proof: the first are `_normal_masses`. Phi(-z) <= e^{-z^2/2} / 2 for z >= 0, and where an edge is no tail, 1. []
        """
        import numpy as np

        s, q = self.multiplier, self.rate

        def between(centre: float) -> Any:
            return _normal_masses(np.asarray(edges, np.float64), centre, s)

        def tail(z: float) -> float:
            return math.exp(-z * z / 2) / 2 * (1 + 1e-12) if z >= 0 else 1.0

        middle = (1 - q) * between(0.0)
        first, last = float(edges[0]), float(edges[-1])
        below = (1 - q) * tail(-first / s) + q * tail((1 - first) / s)
        above = (1 - q) * tail(last / s) + q * tail((last - 1) / s)
        return middle + q * between(1.0), middle + q * between(-1.0), below, above

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence of one step, P(x > z) - e^epsilon Q(x > z), z = x(epsilon), as L grows with x;
        raised by 1e-12 of its first term, more than the rounding of the four tails. (A threshold that is off gives less
        by a square of its error.)
        """
        from scipy.special import log_ndtr

        s, q = self.multiplier, self.rate
        x = float(self.point(epsilon))
        gained, kept, lost = (float(log_ndtr((centre - x) / s)) for centre in (1.0, 0.0, -1.0))
        p = q * math.exp(gained) + (1 - q) * math.exp(kept)
        return max(0.0, p - q * math.exp(epsilon + lost) - (1 - q) * math.exp(epsilon + kept)) + 1e-12 * p

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
        """D_a(P || Q), a = ``order``, rounded up: `pair_renyi`."""
        return renyi(self.multiplier, self.rate, float(order))


# Gauss-Legendre on [-1, 1], 8 points, half of them.
_NODES = (0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363)
_WEIGHTS = (0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763)


def _normal_masses(edges: Any, centre: float, s: float) -> Any:
    """The mass of N(``centre``, ``s``^2) between neighbouring, rising ``edges``, right to (8 + z^2) 2^-50 of each,
    z = (edge - centre) / s.

    Proof: eight Gauss points on an interval of width w are off by w^17 (8!)^4 / (17 (16!)^3) times the sixteenth
    derivative of the density at some point, which is He_16 times the density. As He_16(z) is the mean of (z + iX)^16
    over a standard normal X, it is at most (|z| + (15!!)^{1/16})^16 <= (|z| + 2.5)^16 by Minkowski's inequality, and
    the density changes by e^{w |z|} at most. With w (|z| + 2.5) <= 2.4 this is below 3e-16 of the mass. Wider intervals
    are cut into pieces. The rest is the rounding of z and of z^2 / 2. []
    """
    import numpy as np

    z = (edges - centre) / s
    low, width = z[:-1], np.diff(edges) / s  # differences of rounded z would be off in narrow cells
    largest = np.maximum(np.abs(z[:-1]), np.abs(z[1:]))
    pieces = np.maximum(1, np.ceil(width * (largest + 2.5) / 2.4)).astype(int)
    first = np.repeat(np.cumsum(pieces) - pieces, pieces)
    part = np.repeat(width / pieces, pieces)
    middle = np.repeat(low, pieces) + part * (np.arange(len(first)) - first + 0.5)
    density = np.zeros_like(middle)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        for sign in (-1, 1):
            density += weight * np.exp(-((middle + sign * node * part / 2) ** 2) / 2)
    mass = density * part / 2 / math.sqrt(2 * math.pi)
    return np.add.reduceat(mass, np.cumsum(pieces) - pieces) if len(mass) else mass
