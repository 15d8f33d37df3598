"""The profile of a drawn share is never below the truth, also where thresholds are too small for a float64."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import tacit
from tacit.privacy import beta_integrals, beta_profile


def incomplete(p, q, t):
    """I_x(p, q) at logit x = t, to 40 digits."""
    if t > 0:
        return 1 - incomplete(q, p, -t)
    x = 1 / (1 + mp.e ** (-t))
    return mp.e ** (p * mp.log(x)) / (p * mp.beta(p, q)) * mp.hyp2f1(p, 1 - q, p + 1, x)


def one_way(a, b, r, epsilon):
    a, b, r, epsilon = map(mp.mpf, (a, b, r, epsilon))
    log_ratio = mp.loggamma(a + r) - mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(b + r)
    t = (log_ratio - epsilon) / r
    return incomplete(a, b + r, t) - mp.e**epsilon * incomplete(a + r, b, t)


def truth(a, b, r, n, epsilon):
    pairs = [(a + r * k, b + r * (n - 1 - k)) for k in range(n)]
    return max(max(one_way(low, high, r, epsilon), one_way(high, low, r, epsilon)) for low, high in pairs)


def plain(a, b, r, epsilon):
    """The planted fault: the formula in float64, its threshold trusted."""
    from scipy.special import betainc, expit, gammaln

    x = expit((gammaln(a + r) - gammaln(a) + gammaln(b) - gammaln(b + r) - epsilon) / r)
    return betainc(a, b + r, x) - np.exp(epsilon) * betainc(a + r, b, x)


@pytest.mark.parametrize(
    ("a", "b", "r", "epsilon"), [(0.001, 1.0, 0.00155, 1.0), (0.0012, 6.35, 0.0131, 6.87), (0.005, 1.0, 0.00464, 3.0)]
)
def test_thresholds_beyond_float64(a, b, r, epsilon):
    """The formula in float64 says (nearly) 0 where the truth is between 0.9% and 39%."""
    with mp.workdps(40):
        exact = float(truth(a, b, r, 1, epsilon))
    assert exact > 0.009
    assert beta_profile.delta(Fraction(a), Fraction(b), Fraction(r), 1, epsilon) >= exact
    assert max(plain(a, b, r, epsilon), plain(b, a, r, epsilon)) < 1e-3 * exact


def test_never_below_the_truth_and_near_it():
    """Seed 5: 400 settings with prior numbers from 0.001 to 10. Where a threshold fits a float64 it is near, too."""
    rng, near = np.random.default_rng(5), 0
    with mp.workdps(40):
        for _ in range(400):
            a, b = (float(v) for v in 10 ** rng.uniform(-3, 1, 2))
            r, epsilon, n = float(10 ** rng.uniform(-4, 0)), float(10 ** rng.uniform(-3, 1)), int(rng.integers(1, 4))
            exact = truth(a, b, r, n, epsilon)
            found = beta_profile.delta(Fraction(a), Fraction(b), Fraction(r), n, epsilon)
            assert found >= min(exact, 1) - mp.mpf(10) ** -300
            near += bool(exact > 1e-9 and found <= exact * (1 + mp.mpf(10) ** -6))
    assert near > 100


def by_fraction(a, b, logit):
    """I_x(a, b) at logit x by its continued fraction (DLMF 8.17.22), to 40 digits, at any size."""
    a, b, x, rest = mp.mpf(a), mp.mpf(b), 1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit))
    if x > (a + 1) / (a + b + 2):
        return 1 - by_fraction(b, a, -logit)
    found = c = mp.mpf(10) ** -4000
    d = mp.mpf(0)
    for j in range(10**6):
        i = j // 2
        if j == 0:
            term = mp.mpf(1)
        elif j % 2:
            term = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1))
        else:
            term = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i))
        d = 1 / (1 + term * d)
        c = 1 + term / c
        found *= c * d
        if j > 1 and abs(c * d - 1) < mp.mpf(10) ** -33:
            break
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    # the numerator 1 of the first term is in the fraction
    return mp.exp(a * mp.log(x) + b * mp.log(rest) - log_beta) / a * found


def exactly(a, b, r, epsilon):
    """`one_way`, with continued fractions: at any size."""
    a, b, r, epsilon = map(mp.mpf, (a, b, r, epsilon))
    logit = (mp.loggamma(a + r) - mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(b + r) - epsilon) / r
    return by_fraction(a, b + r, logit) - mp.exp(epsilon) * by_fraction(a + r, b, logit)


def test_large_and_small_coordinates_to_40_digits():
    """Seed 1: 120 pairs with coordinates from 0.001 to 400,000 are never below 40 digits and within 3e-10 of them."""
    rng, nearest = np.random.default_rng(1), 0
    with mp.workdps(60):
        assert (
            abs(by_fraction(2.5, 0.7, mp.log(mp.mpf(3) / 7)) / mp.betainc(2.5, 0.7, 0, 0.3, regularized=True) - 1)
            < 1e-15
        )
        for _ in range(120):
            a, b = (float(v) for v in 10 ** rng.uniform(-3, 5.6, 2))
            r = float(10 ** rng.uniform(-3, 0))
            spread = r * math.sqrt(1 / a + 1 / b)
            epsilon = float(rng.uniform(0.01, 8)) * min(spread, 3.0)
            exact = exactly(a, b, r, epsilon)
            found = float(beta_integrals.hockey_stick(np.array([a]), np.array([b]), r, epsilon)[0])
            assert exact <= found
            assert found <= exact * (1 + mp.mpf(3e-10)) + mp.mpf(10) ** -299
            nearest += bool(exact > 1e-12)
    assert nearest > 60


def test_points_too_far_apart_would_be_seen(monkeypatch):
    """The planted fault: two panels where some thirty are needed. Some delta is off by 1e-8 of itself."""
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def two_panels(curve, first, last, r):
        half = (last - first) / 4
        before = half * (2 * np.arange(2)[:, None] + 1 + nodes)
        psi, error = curve.at(last - before)
        size = np.broadcast_to(half, (2, 1))
        return beta_integrals._Panels(np.zeros(2, int), 1, before, last - before, size, size * weights, psi, error)

    off = 0.0
    for a, b, r, epsilon in ((0.8, 3.0, 0.9, 0.4), (6.0, 12.0, 0.5, 1.0), (40.0, 900.0, 1.0, 0.3)):
        said = np.array([a]), np.array([b]), r, epsilon
        right = float(beta_integrals.hockey_stick(*said)[0])
        with monkeypatch.context() as patch:
            patch.setattr(beta_integrals, "_panels", two_panels)
            off = max(off, abs(float(beta_integrals.hockey_stick(*said)[0]) / right - 1))
    assert off > 1e-8


def test_no_pair_that_is_left_out_has_more():
    """Seed 2: the quick bound is above the delta of 2,000 pairs, and within ten times it for some."""
    rng, near = np.random.default_rng(2), 0
    for _ in range(20):
        a, b = 10 ** rng.uniform(-3, 5, (2, 100))
        r, epsilon = float(10 ** rng.uniform(-4, 0)), float(10 ** rng.uniform(-3, 1))
        true = beta_integrals.hockey_stick(a, b, r, epsilon)
        quick = beta_integrals.quick_bound(a, b, r, epsilon)
        assert np.all(true <= quick * (1 + 1e-9) + 1e-299)
        near += int(np.sum((true > 1e-12) & (quick < 10 * true)))
    assert near > 100
    # The planted fault: with the normal approximation's variance 1/a + 1/b and without the mean, too little.
    a, b, r = np.array([0.01]), np.array([0.01]), 1e-3
    assert r * math.sqrt(1 / 0.01 + 1 / 0.01) < float(beta_integrals.hockey_stick(a, b, r, 0.0)[0])


def test_what_was_charged_before_is_not_less():
    """Seed 6: the formula in float64 with the allowances that were charged before, 2e-11 of each incomplete beta
    function and the same of thresholds, is nowhere below.
    """
    from scipy.special import betainc, expit, gammaln

    rng = np.random.default_rng(6)
    for _ in range(10):
        a, b = 10 ** rng.uniform(0, 4, (2, 50))
        r, epsilon = float(10 ** rng.uniform(-1, 0)), float(10 ** rng.uniform(-2, 0))
        logit = (gammaln(a + r) - gammaln(a) + gammaln(b) - gammaln(b + r) - epsilon) / r
        moved = 1e-14 * ((sum(np.maximum(abs(gammaln(v)), 0.1) for v in (a + r, a, b, b + r)) + epsilon) / r + 1)
        high, low = expit(np.maximum(logit + moved + 1e-14 * abs(logit), -690)), expit(logit - moved)
        before = betainc(a, b + r, high) * (1 + 2e-11) - math.exp(epsilon) * betainc(a + r, b, low) * (1 - 2e-11)
        assert np.all(beta_integrals.hockey_stick(a, b, r, epsilon) <= np.maximum(before, 0) + 1e-299)


def test_a_small_prior_leaves_a_small_weight():
    """A prior of 0.001 lets a row weigh 1e-4, and 40 digits say that it keeps the promise. Without one, refused."""
    schema = tacit.Schema(ill=["no", "yes"])

    def plan(budget):
        mechanism = tacit.PosteriorSample(n=1, prior={"a": 0.001, "b": 1.0})
        return tacit.Plan(tacit.Bernoulli("ill"), schema, budget, mechanism)

    weight = plan(tacit.ApproxDP(1.0, 1e-6)).calibrated_mechanism().noise_parameters.number("weight")
    assert weight == pytest.approx(9.5925e-5, rel=1e-4)
    with mp.workdps(40):
        assert 0.999e-6 < truth(0.001, 1.0, weight, 1, 1.0) <= 1e-6
    with pytest.raises(tacit.InputError, match=r"Expected budget=.* to be met by a draw"):
        plan(tacit.ApproxDP(1e-6, 1e-12))
