"""Renyi divergences of conjugate posteriors against 20-digit references, and the faults that float64 would make."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.privacy.conjugate_renyi import gaussian_mu_squared, log_part, shape_divergence, trigamma

F = Fraction

# (P, Q, order, D, Kullback-Leibler or None), 20 digits by quadrature in 50-digit arithmetic.
BETA = [
    (("3", "5"), ("4", "4"), "2.5", "0.82603713509088932397", "0.29565126088155240589"),
    (("6", "113"), ("7", "112"), "5", "0.61691480888156164468", "0.090099443281185146796"),
    (("6", "113"), ("7", "112"), "6.9", "1.3923688467008940646", "0.090099443281185146796"),
    (("10", "1000001"), ("11", "1000000"), "2", "0.10536151565732630156", "0.050833003927241243037"),
    (("1000000", "1000000.01"), ("1000000.01", "1000000"), "2", "2.0000009900003234667e-10", "1.0000004950001617e-10"),
    (("2", "3", "6"), ("3", "2", "6"), "2", "1.0986122886681096914", None),
    (("0.5", "1.5", "2.5", "9.5"), ("1.5", "0.5", "2.5", "9.5"), "1.4", "4.4053641763041694128", None),
    (("5", "3", "1"), ("4", "4", "1"), "3", "1.0663430280993241056", None),
]
STRESS = [
    (("1000000", "1000000.01"), ("1000000.01", "1000000"), "2", "2.0000009900003234667e-10"),
    (("1000000", "1000001"), ("1000001", "1000000"), "1.001", "1.001000000000000167e-6"),
    (("10", "100000.001"), ("10.001", "100000"), "1.01", "5.3112208186126235129e-8"),
]


def divergence(p, q, order):
    return math.fsum(shape_divergence(F(b), F(a) - F(b), F(order)) for a, b in zip(p, q, strict=True))


def by_log_gamma(p, q, order):
    """The printed form in float64: the planted fault."""
    a = float(order)
    total = 0.0
    for one, other in zip(map(float, p), map(float, q), strict=True):
        mixed = a * one + (1 - a) * other
        total += (math.lgamma(mixed) - a * math.lgamma(one)) / (a - 1) + math.lgamma(other)
    return total


@pytest.mark.parametrize(("p", "q", "order", "d", "kl"), BETA)
def test_beta_and_dirichlet(p, q, order, d, kl):
    assert abs(divergence(p, q, order) / float(d) - 1) < 1e-14
    if kl is not None:
        assert abs(divergence(p, q, "1") / float(kl) - 1) < 1e-14


@pytest.mark.parametrize(("p", "q", "order", "d"), STRESS)
def test_where_log_gamma_cancels(p, q, order, d):
    """The planted fault, log-gamma in float64, is off by more than a thousandth in every case."""
    assert abs(divergence(p, q, order) / float(d) - 1) < 1e-14
    assert abs(by_log_gamma(p, q, order) / float(d) - 1) > 1e-3


def test_log_gamma_in_float64_would_understate_a_price():
    """At least one stress case comes out too small: a budget would be met that is not."""
    assert min(by_log_gamma(p, q, order) / float(d) for p, q, order, d in STRESS) < 1 - 1e-3


@pytest.mark.parametrize(
    ("p", "q", "order", "d"),
    [
        ("3", "5", "2", "1.7917594692280550008"),
        ("10", "12", "4", "1.0304576955079446913"),
        ("12", "10", "4", "0.63377483562858478683"),
    ],
)
def test_gamma_laws_of_one_rate(p, q, order, d):
    assert abs(shape_divergence(F(q), F(p) - F(q), F(order)) / float(d) - 1) < 1e-14


@pytest.mark.parametrize(
    ("shape", "p", "q", "order", "d"),
    [
        ("12", "4", "5", "2", "0.77446225365085406008"),
        ("12", "5", "4", "2", "0.48986393424306155465"),
        ("53", "2", "2.1", "10", "0.93471697013653537273"),
    ],
)
def test_gamma_laws_of_one_shape(shape, p, q, order, d):
    assert abs(float(shape) * log_part((F(p) - F(q)) / F(q), F(order)) / float(d) - 1) < 1e-14


@pytest.mark.parametrize(
    ("n", "r", "variance", "prior_variance", "clip", "order", "d", "mu", "printed"),
    [
        (10, "0.5", "2", "4", "3", 3, 1.2272727272727272727, 0.90453403373329086794, 0.30681818181818181818),
        (100, "1", "1", "1", "1", 2, 0.03960396039603960396, 0.19900743804199782713, 0.0099009900990099009901),
        (1000, "0.1", "4", "10", "5", 15, 0.018675298804780876494, 0.049900299003487446029, 0.0046688247011952191235),
    ],
)
def test_a_clamped_normal_mean_moves_by_twice_the_bound(n, r, variance, prior_variance, clip, order, d, mu, printed):
    """The planted fault: with B instead of 2B for x in [-B, B], as printed, the price is four times too small."""
    square = gaussian_mu_squared(F(r), 2 * F(clip), F(variance), 1 / F(prior_variance), n)
    assert abs(float(order * square / 2) / d - 1) < 1e-14
    assert abs(math.sqrt(square) / mu - 1) < 1e-14
    wrong = gaussian_mu_squared(F(r), F(clip), F(variance), 1 / F(prior_variance), n)
    assert abs(float(order * wrong / 2) / printed - 1) < 1e-14
    assert wrong * 4 == square


def test_random_pairs_against_thirty_digits():
    """Seed 1: 300 pairs of shapes and orders over twelve decades, with the singularity as near as 1e-9."""
    rng = np.random.default_rng(1)
    with mpmath.workdps(60):
        for _ in range(300):
            q = F(10 ** rng.uniform(-3, 6))
            order = F(1 + 10 ** rng.uniform(-4, 3))
            v = (
                q * F(10 ** rng.uniform(-6, 1))
                if rng.random() < 0.5
                else -q / order * F(1 - 10 ** rng.uniform(-9, -0.1))
            )
            a, x, y = (mpmath.mpf(t.numerator) / t.denominator for t in (order, q + v, q))
            exact = (mpmath.loggamma(a * x + (1 - a) * y) - a * mpmath.loggamma(x)) / (a - 1) + mpmath.loggamma(y)
            assert abs(mpmath.mpf(shape_divergence(q, v, order)) / exact - 1) < 1e-13


def test_infinite_outside_the_domain():
    assert shape_divergence(F(7), F(-1), F(7)) == math.inf
    assert shape_divergence(F(7), F(-1), F(6.99)) < math.inf
    assert log_part(F(-1, 4), F(4)) == math.inf
    assert shape_divergence(F(7), F(0), F(7)) == 0


def test_trigamma():
    x = np.array([1e-3, 0.1, 1.0, 2.5, 11.9, 12.1, 1e3, 1e8])
    exact = [float(mpmath.psi(1, value)) for value in x]
    np.testing.assert_allclose(trigamma(x), exact, rtol=3e-15)


def test_corners_are_not_the_worst_for_a_mean_and_a_variance():
    """Why normal-inverse-gamma posteriors are not offered: the worst pair lies inside, and no proof says where.

    D for natural parameters (kappa, alpha, s1, s2) of posteriors on n rows in [-1, 1], of which n - 1 are at c.
    """

    def nig(n, r, m0, k0, a0, b0, order, c, x, other):
        kappa, alpha = k0 + r * n, a0 + r * n / 2

        def sums(y):
            return k0 * m0 + r * ((n - 1) * c + y), 2 * b0 + k0 * m0**2 + r * ((n - 1) * c**2 + y**2)

        def beta(s):
            return (s[1] - s[0] ** 2 / kappa) / 2

        p, q = sums(x), sums(other)
        mixed = [order * a + (1 - order) * b for a, b in zip(p, q, strict=True)]
        if beta(mixed) <= 0:
            return math.inf
        return alpha * ((order * math.log(beta(p)) - math.log(beta(mixed))) / (order - 1) - math.log(beta(q)))

    setting = (29, 0.2, -0.17, 7.5, 18.0, 0.57, 3.3)
    ends = (-1.0, 1.0)
    corners = max(nig(*setting, c, x, y) for c in ends for x in ends for y in ends)
    assert abs(corners - 0.9317687298182279897) < 1e-9
    inside = nig(*setting, -0.30018441347582314496, -0.30018441347582314496, 1.0)
    assert abs(inside - 3.7084065299099732119) < 1e-9
