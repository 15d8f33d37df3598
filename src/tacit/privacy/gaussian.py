"""The Gaussian trade-off: epsilon, delta and mu of N(0, 1) against N(mu, 1), in logarithms.

mu is sensitivity over standard deviation: for noise N(0, sigma^2) in every entry and L2 sensitivity s (replace-one),
mu = s / sigma. With x = epsilon / mu,

    delta(epsilon, mu) = Phi(mu/2 - x) - e^epsilon Phi(-mu/2 - x)

Proof: the log ratio of N(0, 1) to N(mu, 1) is monotone in the outcome, so sup over S of P(S) - e^epsilon Q(S) is
reached on a half-line, and this is its value; in several dimensions only the direction of the shift matters (Balle and
Wang 2018, Theorem 8). delta(., mu) for all epsilon >= 0 is equivalent to mu-GDP (Dong, Roth, Su 2022, Corollary 1).

The two terms share their exponential factor, phi(x - mu/2) = e^epsilon phi(x + mu/2). So with Mills' ratio
R(z) = Phi(-z) / phi(z), delta = phi(z1) (R(z1) - R(z2)) at z1 = x - mu/2, z2 = x + mu/2: nothing overflows, and where
the two are close their difference is an integral of the positive 1 - z R(z).

Where epsilon is large, x and mu/2 are large and close, and their difference as floats would have few right digits. So
z1 = (epsilon - mu^2/2) / mu, with a numerator in rationals. The relative error of delta is then below 1e-12 up to
epsilon = 1e12 (of ln delta, where delta is below 1e-300).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.errors import expected

# Inversions stay this far (in ln delta) on the safe side, more than `log_delta` can be wrong by.
_SAFE_SIDE = 1e-11

_HOPELESS = 1e100  # of mu: delta is 1 at every epsilon that is not as hopeless, and mu^2 is still a float
_LEAST_SQUARE = Fraction(1e-300)

# Gauss-Legendre on [-1, 1], 8 points: exact for polynomials of degree 15.
_NODES = (0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363)
_WEIGHTS = (0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763)


def log_delta(epsilon: float, mu: float) -> float:
    """ln delta(epsilon, mu), for epsilon >= 0 and mu > 0."""
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise expected("epsilon", epsilon, "to be a finite number of at least 0")
    if not (math.isfinite(mu) and mu > 0):
        raise expected("mu", mu, "to be a finite number above 0")
    gap = float(Fraction(epsilon) - Fraction(mu) ** 2 / 2) if mu < _HOPELESS else -math.inf
    return _log_delta(epsilon, mu, gap)


def delta_exact(epsilon: Fraction, mu_squared: Fraction) -> float:
    """delta at an exact epsilon for an exact mu^2, of which the root as a float would not do."""
    mu_squared = max(mu_squared, _LEAST_SQUARE)  # a larger one only raises the price
    return math.exp(_log_delta(float(epsilon), math.sqrt(mu_squared), float(epsilon - mu_squared / 2)))


def _log_delta(epsilon: float, mu: float, gap: float) -> float:
    """ln delta from epsilon, mu and epsilon - mu^2 / 2, each right to the last digit."""
    x = epsilon / mu
    low, high = gap / mu, x + mu / 2
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
    return _last_not_above(lambda mu: log_delta(epsilon, mu) - target)


def epsilon_for(mu: float, delta: float) -> float:
    """The smallest epsilon >= 0 with delta(epsilon, mu) <= ``delta``, rounded up.

    Proof: delta(., mu) falls with epsilon by its definition. The upper end of the bisection is returned.
    """
    _check_delta(delta)
    target = math.log(delta) - _SAFE_SIDE
    if log_delta(0.0, mu) <= target:
        return 0.0
    return _first_not_above(lambda epsilon: log_delta(epsilon, mu) - target)


def sigma_over_sensitivity(epsilon: float, delta: float) -> float:
    """The standard deviation, in units of the L2 sensitivity, that ``epsilon`` and ``delta`` need: 1 / mu_for."""
    return math.nextafter(1 / mu_for(epsilon, delta), math.inf)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise expected("delta", delta, "to lie strictly between 0 and 1")


def _last_not_above(value: Callable[[float], float]) -> float:
    """The largest positive float where a growing function is not above 0."""
    return _edge(lambda x: value(x) <= 0, value)[0]


def _first_not_above(value: Callable[[float], float]) -> float:
    """The smallest positive float from which on a falling function is not above 0."""
    return _edge(lambda x: value(x) > 0, value)[1]


def _edge(holds: Callable[[float], bool], value: Callable[[float], float]) -> tuple[float, float]:
    """Two neighbouring positive floats, ``holds`` being true at the first and false at the second.

    For a condition that is true below some point. Where that is, is guessed from ``value``, which crosses 0 there; what
    is returned was tried, so a bad guess costs time and nothing else.
    """
    low, high = 1.0, 1.0
    while not holds(low):
        low /= 2
    while holds(high):
        high *= 2
    guess = _crossing(value, low, high)
    step = 2 * math.ulp(guess)
    while low < guess - step:  # widen around the guess until both sides are known
        if holds(guess - step):
            low = guess - step
            break
        high, step = guess - step, 8 * step
    step = 2 * math.ulp(guess)
    while guess + step < high:
        if not holds(guess + step):
            high = guess + step
            break
        low, step = guess + step, 8 * step
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _crossing(value: Callable[[float], float], low: float, high: float) -> float:
    """About where ``value`` crosses 0, by false position in its Illinois form; where it is not finite, by halves."""
    at_low, at_high = value(low), value(high)
    guess, above = low, None
    for _ in range(40):
        slope = at_high - at_low
        last, guess = guess, (low + high) / 2
        if math.isfinite(slope) and slope != 0 and low < (tried := high - at_high * (high - low) / slope) < high:
            guess = tried
        if abs(guess - last) <= 4e-16 * guess:
            break
        at_guess = value(guess)
        before, above = above, (at_guess > 0) == (at_high > 0)
        if above:
            high, at_high, at_low = guess, at_guess, at_low / 2 if before is True else at_low
        else:
            low, at_low, at_high = guess, at_guess, at_high / 2 if before is False else at_high
    return guess


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
