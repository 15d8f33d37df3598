"""The Gaussian trade-off: epsilon, delta and mu of N(0, 1) against N(mu, 1), in logarithms.

mu is sensitivity over standard deviation: for noise N(0, sigma^2) in every entry and L2 sensitivity s (replace-one),
mu = s / sigma. With x = epsilon / mu,

    delta(epsilon, mu) = Phi(mu/2 - x) - e^epsilon Phi(-mu/2 - x)

Proof: the log ratio of N(0, 1) to N(mu, 1) is monotone in the outcome, so sup over S of P(S) - e^epsilon Q(S) is
reached on a half-line, and this is its value; in several dimensions only the direction of the shift matters (Balle and
Wang 2018, Theorem 8). delta(., mu) for all epsilon >= 0 is equivalent to mu-GDP (Dong, Roth, Su 2022, Corollary 1).

The two terms share their exponential factor, phi(x - mu/2) = e^epsilon phi(x + mu/2). So with Mills' ratio
R(z) = Phi(-z) / phi(z), delta = phi(z1) (R(z1) - R(z2)) at z1 = x - mu/2, z2 = x + mu/2: nothing overflows, and where
the two are close their difference is an integral of the positive 1 - z R(z). The relative error of delta is below 1e-12
(of ln delta, where delta is below 1e-300).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit.errors import expected

# Inversions stay this far (in ln delta) on the safe side, more than `log_delta` can be wrong by.
_SAFE_SIDE = 1e-11

# Gauss-Legendre on [-1, 1], 8 points: exact for polynomials of degree 15.
_NODES = (0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363)
_WEIGHTS = (0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763)


def log_delta(epsilon: float, mu: float) -> float:
    """ln delta(epsilon, mu), for epsilon >= 0 and mu > 0."""
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise expected("epsilon", epsilon, "to be a finite number of at least 0")
    if not (math.isfinite(mu) and mu > 0):
        raise expected("mu", mu, "to be a finite number above 0")
    x = epsilon / mu
    low, high = x - mu / 2, x + mu / 2
    if low > 1e150:
        return -math.inf
    log_density = -low * low / 2 - math.log(2 * math.pi) / 2
    if low < -1:
        # 1 - delta = Phi(z1) + phi(z1) R(z2), both small or moderate here because mu > 2
        return math.log1p(-math.exp(log_density) * (_mills(-low)[0] + _mills(high)[0]))
    if mu > 0.1 * max(1.0, low):
        return log_density + math.log(_mills(low)[0] - _mills(high)[0])
    mean = sum(
        weight * (_mills(x - node * mu / 2)[1] + _mills(x + node * mu / 2)[1])
        for node, weight in zip(_NODES, _WEIGHTS, strict=True)
    )
    return log_density + math.log(mu / 2) + math.log(mean)


def delta(epsilon: float, mu: float) -> float:
    """delta(epsilon, mu)."""
    return math.exp(log_delta(epsilon, mu))


def mu_for(epsilon: float, delta: float) -> float:
    """The largest mu with delta(epsilon, mu) <= ``delta``, rounded down.

    Proof: delta(epsilon, .) grows with mu, since a smaller shift is a post-processing of a larger one (add noise and
    rescale). The lower end of the bisection is returned, so the promise holds there.
    """
    _check_delta(delta)
    target = math.log(delta) - _SAFE_SIDE
    return _last_true(lambda mu: log_delta(epsilon, mu) <= target)


def epsilon_for(mu: float, delta: float) -> float:
    """The smallest epsilon >= 0 with delta(epsilon, mu) <= ``delta``, rounded up.

    Proof: delta(., mu) falls with epsilon by its definition. The upper end of the bisection is returned.
    """
    _check_delta(delta)
    target = math.log(delta) - _SAFE_SIDE
    if log_delta(0.0, mu) <= target:
        return 0.0
    last_broken = _last_true(lambda epsilon: log_delta(epsilon, mu) > target)
    return math.nextafter(last_broken, math.inf)


def sigma_over_sensitivity(epsilon: float, delta: float) -> float:
    """The standard deviation, in units of the L2 sensitivity, that ``epsilon`` and ``delta`` need: 1 / mu_for."""
    return math.nextafter(1 / mu_for(epsilon, delta), math.inf)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise expected("delta", delta, "to lie strictly between 0 and 1")


def _last_true(holds: Callable[[float], bool]) -> float:
    """The largest positive float where ``holds`` is true, for a condition that is true below some point."""
    low, high = 1.0, 1.0
    while not holds(low):
        low /= 2
    while holds(high):
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _mills(z: float) -> tuple[float, float]:
    """R(z) = Phi(-z) / phi(z) and 1 - z R(z) = -R'(z), for z >= -1."""
    if z < 3:
        ratio = math.sqrt(math.pi / 2) * math.exp(z * z / 2) * math.erfc(z / math.sqrt(2))
        return ratio, 1 - z * ratio
    # Laplace's continued fraction R = 1/(z + 1/(z + 2/(z + 3/(z + ...)))) with T = 1/(z + 2/(...)): R = 1/(z + T)
    tail = 0.0
    for n in range(20 + int(700 / (z * z)), 0, -1):
        tail = n / (z + tail)
    return 1 / (z + tail), tail / (z + tail)
