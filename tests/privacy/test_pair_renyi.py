"""The Renyi divergence of the dominating pair, to 40 digits: never below, and a part in 10^9 above at most."""

import math

import mpmath as mp
import numpy as np
import pytest

from tacit.privacy import pair_renyi


def exactly(s, q, a):
    """By the trapezoidal rule with 40 digits and half the step."""
    mp.mp.dps = 40
    s, q, a = mp.mpf(s), mp.mpf(q), mp.mpf(a)
    c = q * mp.exp(-1 / (2 * s * s))

    def term(x):
        w = mp.exp(x / s**2)
        p, other = 1 - q + c * w, 1 - q + c / w
        return mp.exp(-x * x / (2 * s * s)) * (p**a * other ** (1 - a) - other - a * (p - other))

    low, high = -1 - 14 * s, 2 * a + 15 * s
    step = s / (pair_renyi._fineness(float(s), float(a)) / mp.mpf("1.4"))
    total = mp.fsum(term(low + i * step) for i in range(int((high - low) / step)))
    return mp.log1p(total * step / (s * mp.sqrt(2 * mp.pi))) / (a - 1)


@pytest.mark.parametrize(
    ("s", "q"), [(1.0, 0.01), (0.6, 0.3), (5.0, 0.002), (1.0, 1e-8), (2.0, 0.999), (0.2, 0.1), (0.05, 0.01)]
)
def test_against_40_digits(s, q):
    for a in (1 + 1e-5, 1.25, 2.0, 5.5) if s < 0.1 or s > 4 else (1 + 1e-5, 1.25, 2.0, 5.5, 33.0):
        if s < 0.1 and a > 2:
            continue
        found, true = pair_renyi.renyi(s, q, a), exactly(s, q, a)
        assert true <= found <= true * (1 + 1e-9) + 1e-22 / (a - 1)


def test_the_integrand_off_the_line_is_bounded_as_the_proof_says():
    """|F(x + iy)| <= e^{y^2/(2s^2)} cos(t/2)^{-(a-1)} F(x), at 400 places (seed 6); without the cosine it is not."""
    rng = np.random.default_rng(6)
    broken = 0
    for _ in range(400):
        s, q, a = rng.uniform(0.2, 3), rng.uniform(0.001, 0.999), 1 + rng.exponential(5)
        x, t = rng.normal() * 3 * s, rng.uniform(-3, 3)
        y = t * s * s

        def log_f(z, s=s, q=q, a=a):
            w, c = np.exp(z / s**2), q * math.exp(-1 / (2 * s * s))
            return -z * z / (2 * s * s) + a * np.log(1 - q + c * w) + (1 - a) * np.log(1 - q + c / w)

        grown = float(np.real(log_f(complex(x, y))) - np.real(log_f(complex(x, 0))) - y * y / (2 * s * s))
        assert grown <= -(a - 1) * math.log(math.cos(t / 2)) + 1e-9
        broken += grown > 1e-6
    assert broken > 40


def test_the_step_gives_the_error_that_was_asked_for():
    """E at the best v <= 2s is 80 or more, and a step of 1.5 s is seen to be too long (the planted fault)."""
    for s in (0.05, 0.3, 1.0, 30.0):
        for a in (1.0001, 2.0, 50.0, 2048.0):
            n = pair_renyi._fineness(s, a)
            c = 0.5 + 0.154 * (a - 1) / s**2
            best = min(math.pi * n / c, 2 * s)
            assert 2 * math.pi * best * n - c * best**2 >= 80
            true = 2 * math.pi * best * n - best**2 / 2 + (a - 1) * math.log(math.cos(best / (2 * s)))
            assert true >= 80
    s, q, a = 0.3, 0.01, 2.0
    x = np.arange(-1 - 12 * s, a + 13 * s, 1.5 * s)  # a step that does not look at a and s^2
    terms = pair_renyi._log_terms(x, s, q, a, math.log(q) - 1 / (2 * s * s))
    total = float(np.exp(terms).sum() * 1.5 * s)
    assert abs(math.log1p(total) / (a - 1) / pair_renyi.renyi(s, q, a) - 1) > 1e-9


def test_the_two_terms_of_the_bracket():
    """ln(e^z - 1 - z) and ln((1 + r) ln(1 + r) - r), where they cancel, are plain, or large."""
    mp.mp.dps = 60
    for z in (-600.0, -3.0, -0.5, -0.499, -1e-9, 1e-12, 0.3, 0.5, 7.0, 29.9, 30.1, 1e5):
        found = float(pair_renyi._log_second(np.array([z]))[0])
        assert found == pytest.approx(float(mp.log(mp.exp(mp.mpf(z)) - 1 - mp.mpf(z))), rel=1e-14, abs=2e-14)
    for r in (-0.999999, -0.5, -0.1, -0.099, -1e-9, 1e-13, 0.02, 0.11, 3.0, 1e12, 1e14):
        one = mp.log1p(mp.mpf(r))
        found = float(pair_renyi._log_entropy(np.array([float(one)]), np.array([r]))[0])
        assert found == pytest.approx(float(mp.log((1 + mp.mpf(r)) * one - mp.mpf(r))), rel=1e-14, abs=2e-14)


def test_too_many_points_cost_what_whole_rows_do():
    assert pair_renyi.renyi(0.05, 0.5, 2048.0) == 2 * 2048.0 / 0.05**2
    assert pair_renyi.renyi(1.0, 1.0, 3.0) == 6.0
