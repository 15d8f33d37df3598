import itertools
import math
import random
from fractions import Fraction

import mpmath as mp
import pytest

from tacit.errors import InputError
from tacit.privacy import bounded_range, bounded_range_draws, gaussian
from tacit.privacy.conversions import pure_to_delta, renyi_to_delta
from tacit.privacy.events import BoundedRangeEvent
from tacit.privacy.repeated_event import RepeatedEvent

# 20-digit values: epsilon, draws, target, delta.
REFERENCE = [
    (1.0, 1, 0.3, 0.13796280335447104054),
    (1.0, 3, 1.0, 0.094895111946344845941),
    (0.5, 5, 1.0, 0.015247217824872616524),
    (1.0, 10, 4.0, 0.016816518535750685285),
    (2.0, 4, 3.0, 0.19124863310525233758),
    (0.2, 50, 2.0, 0.0012645879767658596073),
]


def at_offset(e, k, g, t):
    """delta of the k-fold two-point pair at offset t, to 40 digits, from the binomial distribution itself."""
    e, g, t = mp.mpf(e), mp.mpf(g), mp.mpf(t)
    q = (mp.exp(-t) - mp.exp(-e)) / (1 - mp.exp(-e))
    p = q * mp.exp(t)
    parts = (
        mp.binomial(k, i) * (p ** (k - i) * (1 - p) ** i - mp.exp(g) * q ** (k - i) * (1 - q) ** i)
        for i in range(k + 1)
    )
    return mp.fsum(part for part in parts if part > 0)


@pytest.mark.parametrize(("epsilon", "draws", "target", "delta"), REFERENCE)
def test_agrees_with_the_reference_and_is_above_it(epsilon, draws, target, delta):
    found = bounded_range_draws.delta(epsilon, draws, target)
    assert delta * (1 - 2e-16) <= found <= delta * (1 + 1e-12)


def test_one_draw():
    for epsilon, target in ((0.1, 0.0), (1.0, 0.3), (5.0, 2.0)):
        one = bounded_range_draws.delta(epsilon, 1, target)
        assert abs(one / bounded_range.delta(epsilon, target) - 1) < 1e-12
    assert bounded_range_draws.delta(1.0, 3, 3.0) == 0.0
    assert bounded_range_draws.delta(0.0006850008648413434, 100, 0.0685000628454966) > 0.0  # it is 5.6e-657


@pytest.mark.parametrize(("e", "k", "g"), [(1.0, 2, 0.0), (0.5, 7, 0.8), (3.0, 4, 2.0), (0.2, 20, 1.0), (2.0, 3, 5.9)])
def test_no_offset_costs_more_to_40_digits(e, k, g):
    """A grid of 400 offsets and a search around the best one never exceed the price, and come within 1e-12 of it."""
    mp.mp.dps = 40
    price = bounded_range_draws.delta(e, k, g)
    offsets = [e * (i + 0.5) / 400 for i in range(400)]
    best = max(offsets, key=lambda t: at_offset(e, k, g, t))
    low, high = mp.mpf(best) - mp.mpf(e) / 400, mp.mpf(best) + mp.mpf(e) / 400
    for _ in range(60):  # between two kinks it has one maximum
        thirds = low + (high - low) / 3, high - (high - low) / 3
        values = [at_offset(e, k, g, t) for t in thirds]
        assert max(values) <= price
        low, high = (low, thirds[1]) if values[0] >= values[1] else (thirds[0], high)
    assert max(at_offset(e, k, g, t) for t in offsets) <= price
    assert at_offset(e, k, g, low) >= price * (1 - 1e-12)


def test_planted_faults_are_seen():
    """The middle offset alone, and one candidate left out, give too little."""
    mp.mp.dps = 40
    e, k, g = 1.0, 10, 4.0
    price = bounded_range_draws.delta(e, k, g)
    assert at_offset(e, k, g, e / 2) < 0.99 * price
    candidates = [(g + (i + 1) * e) / (k + 1) for i in range(k)]
    values = sorted(at_offset(e, k, g, t) for t in candidates if t < e)
    assert abs(values[-1] / price - 1) < 1e-12
    assert values[-2] < 0.999 * price


def test_releases_chosen_one_after_the_other_cost_more():
    """Offsets that depend on earlier outcomes, on a lattice of 40 steps: 5% above the price of draws from one
    posterior, which would be the fault; below what a ledger adds up, mu^2 or Renyi prices.
    """
    e, k, g, steps = 1.0, 3, 1.0, 40
    left = {i: max(0.0, -math.expm1(g - e * i / steps)) for i in range(-k * steps, k * steps + 1)}  # i steps are lost
    for _ in range(k):
        further = {}
        for i in left:
            tries = []
            for j in range(steps + 1):
                if i + j in left and i + j - steps in left:
                    t = e * j / steps
                    p = -math.expm1(t - e) / -math.expm1(-e)
                    tries.append(p * left[i + j] + (1 - p) * left[i + j - steps])
            if tries:
                further[i] = max(tries)
        left = further
    one = BoundedRangeEvent(Fraction(e))
    orders = [1 + math.exp(-8 + 0.25 * i) for i in range(97)]
    added = min(renyi_to_delta(a, k * one.renyi(a), g) for a in orders)
    assert 1.05 < left[0] / bounded_range_draws.delta(e, k, g) < 1.06
    assert left[0] < min(added, gaussian.delta(g, math.sqrt(k) * one.mu()))


def test_no_pair_of_distributions_on_few_points_costs_more():
    """Seed 5: 300 pairs on two to five points whose log ratio has range e at most, and all sequences of k outcomes.

    The largest one comes within a third of the price. A price of three quarters of e would be exceeded.
    """
    dice = random.Random(5)
    nearest = broken = 0.0
    for _ in range(300):
        points, k, e = dice.randint(2, 5), dice.randint(1, 4), dice.choice([0.3, 1.0, 2.5])
        logs = [dice.choice([0.0, e, dice.uniform(0, e)]) for _ in range(points)]
        q = [dice.expovariate(1) for _ in range(points)]
        q = [value / sum(q) for value in q]
        p = [value * math.exp(log) for value, log in zip(q, logs, strict=True)]
        p = [value / sum(p) for value in p]
        g = dice.uniform(0, 0.8) * k * e
        found = 0.0
        for outcome in itertools.product(range(points), repeat=k):
            found += max(0.0, math.prod(p[i] for i in outcome) - math.exp(g) * math.prod(q[i] for i in outcome))
        price = bounded_range_draws.delta(e, k, g)
        assert found <= price * (1 + 1e-12)
        nearest = max(nearest, found / price)
        broken = max(broken, found / (bounded_range_draws.delta(0.75 * e, k, g) or math.inf))
    assert nearest > 0.67
    assert broken > 1


def test_the_event_charges_it_and_never_more_than_before():
    """Before, delta came from the Renyi curve, mu and pure epsilon: 2.5 times as much for 20 draws."""
    gains = []
    for e, k, g in [(0.2, 20, 1.0), (0.5, 20, 5.0), (1.0, 2, 0.5), (0.01, 300, 0.4), (3.0, 5, 14.0), (0.3, 1000, 20.0)]:
        one = BoundedRangeEvent(Fraction(e))
        orders = [1 + math.exp(-8 + 0.25 * i) for i in range(97)]
        before = min(renyi_to_delta(a, k * one.renyi(a), g) for a in orders)
        before = min(before, pure_to_delta(k * Fraction(e), g))
        now = RepeatedEvent(one, k).delta(g)
        assert now == bounded_range_draws.delta(e, k, g) <= before
        gains.append(before / now)
    assert 2.5 < gains[0] < 2.6
    many = RepeatedEvent(BoundedRangeEvent(Fraction(1, 100)), bounded_range_draws.MOST + 1)
    assert 0 < many.delta(1.0) < 1  # too many for the exact one: from the Renyi curve, as before


def test_a_gap_below_float_resolution_is_not_lost():
    epsilon = Fraction(1, 2) + Fraction(1, 10**20)
    found = bounded_range_draws.delta(epsilon, 2, 1.0)
    gap = 2e-20  # s = 2e - g; at e - t = s / 3 p is s / 3 / (1 - e^{-e}), and 2t - g is s / 3
    assert found == pytest.approx((gap / 3) ** 3 / (1 - math.exp(-0.5)) ** 2, rel=1e-9)
    assert bounded_range_draws.delta(0.5, 2, 1.0) == 0.0


def test_impossible_arguments_are_refused():
    for call in (
        lambda: bounded_range_draws.delta(1.0, 0, 0.5),
        lambda: bounded_range_draws.delta(1.0, True, 0.5),
        lambda: bounded_range_draws.delta(1.0, bounded_range_draws.MOST + 1, 0.5),
        lambda: bounded_range_draws.delta(1.0, 2, -0.5),
        lambda: bounded_range_draws.delta(0.0, 2, 0.5),
    ):
        with pytest.raises(InputError, match=r"^Expected "):
            call()
