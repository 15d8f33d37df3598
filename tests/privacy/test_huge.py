"""Prices at huge epsilon: right to twelve digits and rounded up, to epsilon = 1e12, and refused beyond."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest

import tacit
from tacit.errors import InputError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy import bounded_range, gaussian
from tacit.privacy.approximate_event import ApproximateEvent
from tacit.privacy.composition import compose
from tacit.privacy.conversions import pure_to_delta, zcdp_to_delta
from tacit.privacy.events import GaussianEvent, ResponseGaussianEvent, rounded_up
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.privacy.repeated_event import RepeatedEvent
from tacit.privacy.sensitivity import Sensitivity

EPSILONS = [10.0**k for k in range(-6, 13)] + [3.7e4, 2.9e7, 7.3e11]
DELTAS = [1e-2, 1e-6, 1e-30, 1e-100, 1e-300]


def exactly(number):
    fraction = Fraction(number)
    return mp.mpf(fraction.numerator) / fraction.denominator


def true_delta(epsilon, mu_squared):
    """Phi(mu/2 - x) - e^epsilon Phi(-mu/2 - x) by its definition, in 100 digits.

    Far out, e^epsilon Phi(-z) is phi(x - mu/2) times Mills' ratio by its continued fraction: erfc has no digits there.
    """
    with mp.workdps(100):
        e, mu = exactly(epsilon), mp.sqrt(exactly(mu_squared))
        low, high = e / mu - mu / 2, e / mu + mu / 2
        if high < 500:
            return mp.erfc(low / mp.sqrt(2)) / 2 - mp.exp(e) * mp.erfc(high / mp.sqrt(2)) / 2
        tail = mp.mpf(0)
        for n in range(100, 0, -1):
            tail = n / (high + tail)
        return mp.erfc(low / mp.sqrt(2)) / 2 - mp.npdf(low) / (high + tail)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_gaussian_curve_has_twelve_digits_and_its_inverses_keep_the_promise(epsilon):
    """Planted fault: x - mu/2 in floats, which exceeds delta by 1e-9 of it at epsilon = 1e12."""
    for delta in DELTAS:
        mu = gaussian.mu_for(epsilon, delta)
        truth = true_delta(epsilon, Fraction(mu) ** 2)
        assert truth <= exactly(delta)
        assert abs(mp.mpf(gaussian.delta(epsilon, mu)) / truth - 1) < 1e-12
        above = Fraction(math.nextafter(mu, math.inf)) ** 2
        assert true_delta(epsilon, above) > exactly(delta) * (1 - mp.mpf("3e-11")), "no float more is given away"
        assert true_delta(gaussian.epsilon_for(mu, delta), Fraction(mu) ** 2) <= exactly(delta)


def test_the_planted_fault_is_seen():
    epsilon, delta = 1e12, 1e-100
    mu = gaussian.mu_for(epsilon, delta)
    x = epsilon / mu
    planted = 0.5 * math.erfc((x - mu / 2) / math.sqrt(2))
    assert abs(planted / float(true_delta(epsilon, Fraction(mu) ** 2)) - 1) > 1e-10


@pytest.mark.parametrize("epsilon", [1.0, 1e5, 1e9, 1e12])
@pytest.mark.parametrize("delta", [1e-6, 1e-100])
def test_events_whose_mu_is_no_float_are_priced_from_above(epsilon, delta):
    """mu^2 = k / 3: the root of a rational, rounded to nearest, was below it half of the time."""
    for k in range(1, 8):
        mu_squared = Fraction(gaussian.mu_for(epsilon, delta)) ** 2 * (1 - Fraction(k, 3 * 10**13))
        one = GaussianEvent(mu_squared, 0)
        truth = true_delta(epsilon, mu_squared)
        assert truth <= exactly(rounded_up(one.delta(epsilon)))
        assert one.delta(epsilon) <= float(truth) * (1 + 1e-12)
        half = GaussianEvent(mu_squared / 4, 0)
        for several in (RepeatedEvent(half, 4), compose([half] * 4), ApproximateEvent(one, Fraction(1, 10**400))):
            assert truth <= exactly(several.delta(epsilon)) * (1 + mp.mpf("1e-12"))
        beside = ResponseGaussianEvent(1, 2, mu_squared, 0)
        assert true_delta(epsilon, mu_squared) / 2 < exactly(beside.delta(epsilon))


@pytest.mark.parametrize("kind", [RoundedGaussian, DiscreteGaussian])
@pytest.mark.parametrize("epsilon", [1.0, 100.0, 1e5, 1e12])
def test_noise_is_calibrated_from_above(kind, epsilon):
    """The noise that a plan would draw, for a sensitivity whose root is no float."""
    if kind is DiscreteGaussian and epsilon > 100:
        return  # (1 + e^epsilon) slack leaves only the bound by zCDP, of which below
    budget = ApproxDP(epsilon, 1e-6)
    sensitivity = Sensitivity(Fraction(3 * 2**30), Fraction(3 * 2**60), (Fraction(1),))
    noise = kind.calibrate(budget, sensitivity)
    assert true_delta(epsilon, noise.event(sensitivity).mu_squared) <= exactly(1e-6)


def best_order(epsilon, rho):
    """Where the derivative of the logarithm of `renyi_to_delta` at tau = order rho is 0."""
    return mp.findroot(lambda a: (2 * a - 1) * rho - epsilon - mp.log(a / (a - 1)), 1 + (epsilon - rho) / (2 * rho))


@pytest.mark.parametrize("epsilon", [1.0, 1e5, 1e9, 1e12])
def test_zcdp_at_a_huge_epsilon(epsilon):
    """Never below the least value over all orders, found in 100 digits, nor below the Gaussian's; and hardly above it.

    Planted fault: order * rho in floats, which at 1e12 moves delta by 1e-9 of it, and the search picks the lowest.
    """
    for delta in (1e-6, 1e-100):
        rho = Fraction(gaussian.mu_for(epsilon, delta)) ** 2 / 2
        found = zcdp_to_delta(rho, epsilon)
        assert true_delta(epsilon, 2 * rho) <= exactly(found)
        with mp.workdps(100):
            e, r = exactly(epsilon), exactly(rho)
            a = best_order(e, r)
            least = mp.exp((a - 1) * (a * r - e)) * (1 - 1 / a) ** a / (a - 1)
            assert -1e-12 < exactly(found) / least - 1 < 1e-9


@pytest.mark.parametrize("epsilon", [1e5, 1e12])
def test_gaps_of_pure_and_bounded_range_prices_are_exact(epsilon):
    pure = Fraction(epsilon) + Fraction(1, 10**6)
    with mp.workdps(60):
        gap = mp.mpf(1) / 10**6
        assert abs(exactly(pure_to_delta(pure, epsilon)) / -mp.expm1(-gap) - 1) < 1e-12
        assert abs(exactly(bounded_range.delta(pure, epsilon)) / mp.expm1(-gap / 2) ** 2 - 1) < 1e-12


@pytest.mark.parametrize(
    ("make", "name", "largest"),
    [
        (PureDP, "epsilon", 1e12),
        (lambda v: ApproxDP(v, 1e-6), "epsilon", 1e12),
        (lambda v: RenyiDP(2, v), "epsilon", 1e12),
        (ZCDP, "rho", 1e12),
        (GDP, "mu", 1.5e6),
    ],
)
def test_a_budget_past_1e12_is_refused_in_one_sentence(make, name, largest):
    assert make(largest).sentence()
    for value in (math.nextafter(largest, math.inf), 1e15, 1e300):
        with pytest.raises(InputError, match=rf"^Expected {name}=\S+ to be at most \S+, far beyond .*\.$"):
            make(value)


def test_the_largest_budget_can_still_be_split():
    for delta in (1e-300, 0.5, 0.999999):
        assert len(tacit.split(ApproxDP(1e12, delta), [1, 2])) == 2


def test_a_plan_refuses_it_too():
    text = '[model]\nfamily = "bernoulli"\ncolumn = "x"\n[schema]\nx = ["no", "yes"]\n[budget]\nepsilon = 2e12\n'
    with pytest.raises(InputError, match=r"epsilon=2000000000000\.0 to be at most 1e\+12"):
        tacit.Plan.from_toml(text)
    assert tacit.Plan.from_toml(text.replace("2e12", "1e12")).event().satisfies(PureDP(1e12))
