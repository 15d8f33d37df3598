"""How much of a guarantee a pair of data sets uses up: 1 is all of it, and more is a violation."""

from __future__ import annotations

import math

from tacit.audit.curve import Curve
from tacit.errors import expected
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP

ROUNDING = 1e-7  # relative: what sums over cells and their differences may be wrong by; a smaller excess is none
_ORDERS = (1.0001, 1.01, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


def used(curve: Curve, promise: Guarantee) -> float:
    """The number that the pair needs, divided by the one that is promised.

    For (epsilon, delta) it is the epsilon that the pair needs at this delta; for zero-concentrated DP the largest of
    D_a / a over a few orders a, as Gaussian noise has the same at all of them; for Gaussian DP the mu of the curve.
    """
    match promise:
        case PureDP(epsilon=epsilon):
            return curve.epsilon / epsilon
        case ApproxDP(epsilon=epsilon, delta=delta):
            return curve.epsilon_at(delta) / epsilon
        case ZCDP(rho=rho):
            return max(curve.renyi(order) / order for order in _ORDERS) / rho
        case GDP(mu=mu):
            return curve.mu() / mu
        case RenyiDP(order=order, epsilon=epsilon):
            return curve.renyi(order) / epsilon
        case _:
            raise expected("guarantee", promise, "to be one of the definitions in tacit.privacy.guarantees")


def exceeds(share: float) -> bool:
    """Whether a share is above 1 by more than rounding."""
    return share > 1 + ROUNDING


def at_point(promise: Guarantee) -> tuple[float, float]:
    """An (epsilon, delta) that the promise implies, for attacks that count errors.

    zCDP, Gaussian and Renyi DP are stated at delta = 1e-2, where a few thousand runs see most: the more errors the
    comparison may rest on, the more it proves.
    """
    from tacit.privacy import gaussian
    from tacit.privacy.conversions import renyi_point_to_delta, zcdp_to_delta

    delta = 1e-2
    match promise:
        case PureDP(epsilon=epsilon):
            return epsilon, 0.0
        case ApproxDP(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case ZCDP(rho=rho):
            return _least(lambda epsilon: zcdp_to_delta(rho, epsilon) <= delta), delta
        case GDP(mu=mu):
            return gaussian.epsilon_for(mu, delta), delta
        case RenyiDP(order=order, epsilon=divergence):
            return _least(lambda epsilon: renyi_point_to_delta(order, divergence, epsilon) <= delta), delta
        case _:
            raise expected("guarantee", promise, "to be one of the definitions in tacit.privacy.guarantees")


def _least(holds: object) -> float:
    """The least epsilon, to one part in a million and from above, that ``holds`` for; it holds from there on."""
    assert callable(holds)
    high = 1e-3
    while not holds(high):
        high *= 2
        if high > 1e9:
            return math.inf
    low = high / 2 if high > 1e-3 else 0.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
