"""The tools that attack: they must be right before what they say counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockey_stick import hockey_stick
from tacit.audit.empirical import Attack, epsilon_lower_bound
from tacit.errors import InputError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy import gaussian

# Clopper-Pearson lower bounds, computed to 20 digits.
REFERENCE = [
    {"fp": 0, "n0": 500, "fn": 0, "n1": 500, "delta": 1e-5, "conf": 0.95, "eps": 4.9055841359327721762},
    {"fp": 100, "n0": 5000, "fn": 120, "n1": 5000, "delta": 0.0, "conf": 0.95, "eps": 3.6893601239808710267},
    {"fp": 30, "n0": 400, "fn": 50, "n1": 600, "delta": 1e-5, "conf": 0.99, "eps": 2.034659165723611851},
]


@pytest.mark.parametrize("case", REFERENCE, ids=str)
def test_lower_bounds_match_the_reference(case):
    attack = Attack(case["fp"], case["n0"], case["fn"], case["n1"])
    bound = epsilon_lower_bound(attack, delta=case["delta"], confidence=case["conf"])
    assert bound == pytest.approx(case["eps"], rel=1e-10, abs=1e-12)


def test_a_perfect_attack_with_500_runs_caps_at_4_9():
    assert epsilon_lower_bound(Attack(0, 500, 0, 500), delta=1e-5, confidence=0.95) == pytest.approx(4.9056, abs=1e-4)


def test_a_guesser_proves_nothing_and_wrong_denominators_would():
    """The published mistake: dividing both error counts by all runs turns guessing into log 3."""
    guess = Attack(250, 500, 250, 500)
    assert epsilon_lower_bound(guess, delta=0.0, confidence=0.95) == 0
    planted = Attack(250, 1000, 250, 1000)
    assert epsilon_lower_bound(planted, delta=0.0, confidence=0.95) > 0.9


def test_the_false_alarm_rate_on_randomized_response():
    """Seed 1: 4,000 attacks on randomized response at epsilon 1. At most 5% may exceed it (binomial alarm at 1e-6)."""
    rng = np.random.default_rng(1)
    keep = math.e / (1 + math.e)
    wrong = rng.binomial(500, 1 - keep, (4000, 2))
    bounds = [epsilon_lower_bound(Attack(int(a), 500, int(b), 500), delta=0.0, confidence=0.95) for a, b in wrong]
    assert np.mean(np.array(bounds) > 1.0) < 0.05 + 5 * math.sqrt(0.05 * 0.95 / 4000)
    assert np.median(bounds) > 0.6, "power: the attack must see most of epsilon"


def test_bad_counts_are_refused():
    with pytest.raises(InputError):
        Attack(3, 2, 0, 5)
    with pytest.raises(InputError):
        epsilon_lower_bound(Attack(0, 5, 0, 5), delta=1.0, confidence=0.95)
    with pytest.raises(InputError):
        epsilon_lower_bound(Attack(0, 5, 0, 5), delta=0.0, confidence=1.0)


def test_the_hockey_stick_of_laplace_ends_at_its_epsilon():
    noise = DiscreteLaplace((64,))
    deltas = hockey_stick(noise, (64,), [0.0, 0.5, 0.999, 1.0, 1.001])
    assert deltas[0] == pytest.approx(1 - math.exp(-0.5), rel=1e-2)  # total variation, continuous limit
    assert np.all(np.diff(deltas) <= 1e-15)
    assert deltas[2] > 1e-5
    assert deltas[3] < 1e-14
    planted = hockey_stick(DiscreteLaplace((32,)), (64,), [1.0])  # half the noise
    assert planted[0] > 0.1


def test_the_hockey_stick_of_a_rounded_gaussian_approaches_the_line():
    """Finer lattices lose less to rounding: the curve rises to the Gaussian mechanism's and never passes it."""
    exact = gaussian.delta(1.0, 1.0)
    coarse = hockey_stick(RoundedGaussian((2,)), (2,), [1.0])[0]
    fine = hockey_stick(RoundedGaussian((256,)), (256,), [1.0])[0]
    assert coarse < fine < exact * (1 + 1e-9)
    assert fine == pytest.approx(exact, rel=1e-4)


def test_two_dimensions_compose():
    """Equal shifts in two entries of a discrete Gaussian are one shift longer by sqrt 2, up to the lattice."""
    two = hockey_stick(DiscreteGaussian((50, 50)), (35, 36), [0.5, 1.0])
    one = [gaussian.delta(e, math.hypot(35, 36) / 50) for e in (0.5, 1.0)]
    np.testing.assert_allclose(two, one, rtol=2e-4)


def test_what_cannot_be_enumerated_is_refused():
    with pytest.raises(InputError, match="enumerate"):
        hockey_stick(DiscreteLaplace((2**40,)), (1,), [1.0])
    with pytest.raises(InputError, match="shift"):
        hockey_stick(DiscreteLaplace((5,)), (1, 1), [1.0])
