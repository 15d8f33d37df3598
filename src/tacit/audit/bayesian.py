"""What an attack makes believable: a credible interval for epsilon from its error counts.

After Zanella-Beguelin et al. 2022 (Bayesian estimation of differential privacy): the two error rates get independent
Jeffreys priors Beta(1/2, 1/2). A pair of rates (x, y) is possible for an (epsilon, delta)-DP mechanism if it lies in

    R(epsilon) = { 1 - delta - e^epsilon y <= x, 1 - delta - e^epsilon x <= y } and the same for the opposite guesses.

R grows with epsilon, so its posterior probability is the distribution function of the least epsilon that allows the
rates. Unlike a Clopper-Pearson bound it weighs both rates together, and its interval is shorter. It describes a belief
about this attack; it is not used to accuse a mechanism.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.audit.empirical import Attack
from tacit.errors import expected

_POINTS = 2000
_LARGEST = 50.0


def epsilon_interval(attack: Attack, *, delta: float, probability: float) -> tuple[float, float]:
    """The central credible interval of this ``probability`` for the epsilon that the attack's error rates show."""
    if not 0 <= delta < 1:
        raise expected("delta", delta, "to be at least 0 and below 1")
    if not 0 < probability < 1:
        raise expected("probability", probability, "to lie between 0 and 1")
    tail = (1 - probability) / 2
    return _quantile(attack, delta, tail), _quantile(attack, delta, 1 - tail)


def probability_below(attack: Attack, epsilon: float, *, delta: float) -> float:
    """The posterior probability of R(epsilon)."""
    from scipy.special import betainc, betaincinv

    # The first rate is put at the middles of equally likely cells; the second is integrated in closed form.
    place = (np.arange(_POINTS) + 0.5) / _POINTS
    x = betaincinv(attack.false_positives + 0.5, attack.negatives - attack.false_positives + 0.5, place)
    growth = math.exp(epsilon)
    low = np.maximum((1 - delta - x) / growth, 1 - delta - growth * x)
    high = np.minimum(delta + growth * (1 - x), 1 - (x - delta) / growth)
    a, b = attack.false_negatives + 0.5, attack.positives - attack.false_negatives + 0.5
    inside = betainc(a, b, np.clip(high, 0, 1)) - betainc(a, b, np.clip(low, 0, 1))
    return float(np.mean(np.maximum(inside, 0.0)))


def _quantile(attack: Attack, delta: float, share: float) -> float:
    low, high = 0.0, _LARGEST
    if probability_below(attack, low, delta=delta) >= share:
        return 0.0
    if probability_below(attack, high, delta=delta) < share:
        return math.inf
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if probability_below(attack, middle, delta=delta) < share else (low, middle)
    return high
