"""The delta of many steps, each dominated by the same pair of distributions on the line: an upper bound by a discrete
distribution.

One step (replace-one neighbours, as `SubsampledGaussian` says) has the privacy loss L = ln(P/Q) under P, and T steps
lose a sum of T independent copies: delta(epsilon) = E[(1 - e^{epsilon - sum})_+].

Discretisation. The line of losses is cut at the multiples of a step h. The mass of P and of Q between two cuts l < l'
is replaced by two atoms at the cuts that keep both masses: b = (P - e^l Q) / (1 - e^{-h}) at l', the rest at l. What
lies below the lowest cut is put on it, what lies above the highest counts as an infinite loss.

Proof: of domination. Splitting a cell into two atoms with the same P and Q masses spreads the likelihood ratio and
keeps its mean, so the split pair can be randomised back into the cell (Blackwell; it is the piecewise linear upper
bound of the convex function e^epsilon -> delta(epsilon)). Raising a loss, as an atom b above the exact one, the lowest
cut and an infinite loss do, takes mass from Q only and so raises every delta. A pair that dominates one step dominates,
T-fold, all T of them, chosen adaptively or not (Zhu, Dong, Wang 2022, Theorem 10). []

Convolution. Let p be the discrete distribution and M(t) = E[e^{t L}; L < inf] its moment function. The tilted
distribution p(l) e^{tl} / M(t) is convolved T times by a Fourier transform over a window of length N h, and
P(sum = l) = M(t)^T e^{-tl} (tilted convolution at l). With t >= 0 the saddle point, which puts the tilted mean at
epsilon, an absolute error of the convolution is a relative one of delta.

Proof: of the allowances. Let g be the tilted distribution of the sum. What lies outside the window lands inside it.
Each such mass adds at most M^T e^{-t epsilon} times itself to the sum over l > epsilon, and is missing there by at
most as much, because e^{-tl} <= e^{-t epsilon} there. Its total is bounded by Chernoff's inequality on both sides,
from M alone.
Transforms. They go through levels of radix r = 2, 3, 4 or 5 (N has no other factor), each of which makes every number
of r of the level before. With u = 2^-53, roundings on a path, of operations, of a constant and of a twiddle factor (at
most 3 u), are at most 6, 10, 7 and 11; absolute values along the paths to one real part add up to at most the inputs'
sizes for r = 2 and 4, and sqrt(2) times them for r = 3 and 5. So a level adds at most 8.5 u, 20 u, 9.9 u and 22 u times
the sum of its r inputs to a coefficient, and what is added goes through the other levels exactly, whose factors have
absolute value 1: at most 14 u of the sum of all inputs per factor of two of N. In the Euclidean norm r inputs give
sqrt(r) more, at most 24 u per factor of two (Higham 2002, section 24.1, has radix 2). So with e = 24 u log2(N) each
coefficient is off by at most e times the sum of what is transformed, and the inverse transform by at most e times the
Euclidean norm of its result. Powers are products of complex numbers, T - 1 rounded ones in all on every path, each off
by at most sqrt(5) u of itself (Brent, Percival, Zimmermann 2007); a coefficient that is off by e makes its power off by
T e (|f| + e)^{T-1}. By Parseval these errors are, in the sum over all l, at most the square root of their sum of
squares; those of the inverse transform at most e sqrt(N) times the Euclidean norm of the result. All of it is added to
delta. Masses and cuts: `DominatingPair.mass_error` and `loss_error` move a share of each cell one cell up, and epsilon
down by T times the error of a cut, before anything else. Logarithms of M and of weights are off by what
`DiscreteLoss.blur` says, T times that for T steps, as every number of a T-fold convolution is a sum of products of T
weights. []
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.privacy.dominating_pair import DominatingPair

_CELLS = 64  # cells to a standard deviation of one step's loss: the variance of the sum grows by 1 in 10^4
_MOST = 2**20  # cells of a window; beyond it the cells are made wider, which is valid and less tight
_OUTSIDE = 40.0  # a window leaves out at most e^-40 of the tilted distribution, on each side


@dataclass(frozen=True)
class DiscreteLoss:
    """One step's loss under P: ``mass`` at the multiples of ``step`` from ``lowest`` on; ``infinite`` the rest."""

    step: float
    lowest: int
    mass: Any
    infinite: float

    @property
    def loss(self) -> Any:
        """The losses."""
        import numpy as np

        return self.step * (self.lowest + np.arange(len(self.mass)))

    def log_moment(self, tilt: Any) -> Any:
        """ln M at each of ``tilt``."""
        import numpy as np

        held = self.mass > 0
        exponent = np.log(self.mass[held]) + np.multiply.outer(np.asarray(tilt, np.float64), self.loss[held])
        top = exponent.max(axis=-1, keepdims=True)
        return top[..., 0] + np.log(np.exp(exponent - top).sum(axis=-1))

    def blur(self, tilt: float) -> float:
        """How far `log_moment` and the logarithm of a weight may be off: the rounding of exponents that count."""
        import numpy as np

        held = self.mass > 0
        parts = np.log(self.mass[held]), tilt * self.loss[held]
        counts = parts[0] + parts[1] > (parts[0] + parts[1]).max() - 60
        return 2.0**-50 * (40 + float((np.abs(parts[0]) + np.abs(parts[1]))[counts].max()))

    def tilted(self, tilt: float) -> Any:
        """The masses of the tilted distribution."""
        import numpy as np

        with np.errstate(divide="ignore"):
            return np.exp(np.log(self.mass) + tilt * self.loss - float(self.log_moment(tilt)))

    def saddle(self, mean: float, steps: int = 1) -> float:
        """The tilt, at least 0, at which the tilted mean is about ``mean``; 0 where it is larger already. About is a
        fiftieth of a standard deviation of ``steps`` steps.

        By Newton's method, the derivative of the mean being the variance; it may end anywhere, as every tilt is valid.
        """
        tilt, low, high = 0.0, 0.0, math.inf
        for _ in range(60):
            weights = self.tilted(tilt)
            here = float(weights @ self.loss)
            spread = math.sqrt(max(float(weights @ self.loss**2) - here**2, 1e-300))
            if abs(mean - here) < 0.02 * spread / math.sqrt(steps) or (here > mean and tilt == 0.0):
                break
            low, high = (tilt, high) if here < mean else (low, tilt)
            newton = tilt + (mean - here) / spread**2
            if high == math.inf:  # far below, the spread says little about how far it is
                tilt = min(newton, max(4 * tilt, 8 / spread)) if newton > tilt else 4 * tilt
            else:
                tilt = newton if low < newton < high else (low + high) / 2
            tilt = min(tilt, 1e7)
            if tilt == 1e7 or high - low < 1e-9 * high:
                break
        return tilt


def discrete_loss(pair: DominatingPair, step: float) -> DiscreteLoss:
    """The loss of one step on the multiples of ``step``, a pair that dominates ``pair``."""
    import numpy as np

    reach = math.ceil(pair.largest_loss / step)
    cuts = step * np.arange(-reach, reach + 1)
    p, q, below, above = pair.masses(pair.point(cuts))
    upper = (p - np.exp(np.minimum(cuts[:-1], 700.0)) * q) / -math.expm1(-step)
    # The masses of P and of Q are off by an error each, and the cell's ends by one each: e^l Q is at most P.
    allowance = 2 * (pair.mass_error + pair.loss_error) / -math.expm1(-step) + 1e-13
    upper = np.clip(upper + p * allowance, 0.0, p)
    mass = np.zeros(len(cuts))
    mass[:-1] += p - upper
    mass[1:] += upper
    mass[0] += below
    return DiscreteLoss(step, -reach, mass, above)


@lru_cache(maxsize=32)
def _one_step(pair: DominatingPair, steps: int) -> DiscreteLoss:
    spread = pair.spread()
    width = max(24 * spread * math.sqrt(steps), 2 * pair.largest_loss)
    return discrete_loss(pair, max(spread / _CELLS, width / _MOST))


def composed_delta(pair: DominatingPair, steps: int, epsilon: float) -> float:
    """An upper bound on the delta of ``steps`` adaptive steps at ``epsilon`` >= 0, each dominated by ``pair``."""
    import numpy as np

    one = _one_step(pair, steps)
    epsilon = max(0.0, epsilon - steps * pair.loss_error)
    if epsilon >= steps * float(one.loss[-1]) * (1 + 1e-12):  # no finite sum is above it
        return min(1.0, steps * one.infinite * (1 + 1e-9))
    while True:
        tilt = one.saddle(epsilon / steps, steps)
        log_moment = float(one.log_moment(tilt))
        weights = one.tilted(tilt)
        centre = max(epsilon, steps * float(weights @ one.loss))
        up, down = _window(one, steps, tilt, log_moment, centre)
        first = math.floor((centre - down) / one.step)
        size = _smooth(math.ceil((centre + up) / one.step) - first + 1)
        if size <= 2 * _MOST:
            break
        one = discrete_loss(pair, one.step * size / _MOST)  # wider cells are valid, and less tight
    # The heaviest atom is put at 0 and its transform, a constant, added afterwards: where a step mostly loses nothing
    # the others' sum is small, and with it the error of their transform.
    heaviest = int(np.argmax(weights))
    kept = float(weights[heaviest])
    weights[heaviest] = 0.0
    folded = np.bincount((np.arange(len(weights)) - heaviest) % size, weights=weights, minlength=size)
    transform = np.fft.rfft(folded) + kept
    total = np.fft.irfft(_power(transform, steps), size)
    index = first + np.arange(size)
    loss = one.step * index
    distribution = np.maximum(total[(index - steps * (one.lowest + heaviest)) % size], 0.0)
    beyond = np.maximum(loss - epsilon, 0.0)
    gain = -np.expm1(-beyond) * np.exp(-tilt * beyond)
    error = _transform_error(np.abs(transform), float(weights.sum()), steps, size, total) + 3 * math.exp(-_OUTSIDE)
    log_factor = steps * log_moment - tilt * epsilon
    bound = math.exp(min(1.0, log_factor + math.log(float(distribution @ gain) + error)))
    rounding = steps * (3 * one.blur(tilt) + pair.mass_error) + 2.0**-50 * tilt * (epsilon + centre + up) + 1e-12
    return min(1.0, (bound + steps * one.infinite) * math.exp(min(rounding, 700.0)))


def _window(one: DiscreteLoss, steps: int, tilt: float, log_moment: float, centre: float) -> tuple[float, float]:
    """How far above and below ``centre`` the sum's tilted distribution has at most e^-_OUTSIDE, by Chernoff's
    inequality.
    """
    import numpy as np

    scale = 1 / max(one.step, float(np.sqrt(steps * (one.tilted(tilt) @ (one.loss - centre / steps) ** 2))))
    turns = scale * np.geomspace(0.02, 40.0, 16)
    up = (steps * (one.log_moment(tilt + turns) - log_moment) - turns * centre + _OUTSIDE) / turns
    down = (steps * (one.log_moment(tilt - turns) - log_moment) + turns * centre + _OUTSIDE) / turns
    return max(one.step, float(up.min())), max(one.step, float(down.min()))


def _transform_error(sizes: Any, transformed: float, steps: int, size: int, total: Any) -> float:
    """A bound on the sum of the absolute errors of the convolution: see the module. ``transformed`` is the sum of what
    went through the transform.
    """
    import numpy as np

    unit = 2.0**-53
    level = 24 * unit * math.log2(size)
    each = level * transformed * (1 + 1e-9) + 2 * unit  # and the rounding of the sum with the heaviest atom
    within = steps * (sizes + each) ** (steps - 1) * (each + 2.3 * unit * (sizes + each))
    # A real transform keeps half of the coefficients; the other half are their mirror images.
    power = math.sqrt(2 * float(within @ within))
    return power + level * math.sqrt(size) * (float(np.sqrt(total @ total)) + power)


def _power(values: Any, exponent: int) -> Any:
    """``values`` to a whole power, by squares and products."""
    found = None
    while exponent:
        if exponent & 1:
            found = values if found is None else found * values
        exponent >>= 1
        values = values * values if exponent else values
    return found


def _smooth(size: int) -> int:
    """The least whole number of at least ``size`` with no prime factor above 5: transforms of it are fast."""
    best = 1 << max(1, size - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            two = three << max(0, (-(-size // three) - 1).bit_length())
            if two >= size:
                best = min(best, two)
            three *= 3
        five *= 5
    return best
