"""The profile of a drawn share is never below the truth, also where thresholds are too small for a float64."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import tacit
from tacit.privacy import beta_profile


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


def test_a_prior_too_small_for_the_budget_is_refused():
    schema = tacit.Schema(ill=["no", "yes"])
    with pytest.raises(tacit.InputError, match=r"Expected budget=.* to be met by a draw"):
        tacit.Plan(
            tacit.Bernoulli("ill"),
            schema,
            tacit.ApproxDP(1.0, 1e-6),
            tacit.PosteriorSample(n=1, prior={"a": 0.001, "b": 1.0}),
        )
