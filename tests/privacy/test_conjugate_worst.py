"""The worst pair of neighbours: against every pair of small data sets, in both directions, and against references."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

import tacit
from tacit.privacy import beta_profile
from tacit.privacy.beta_integrals import hockey_stick
from tacit.privacy.conjugate_event import ConjugateEvent
from tacit.privacy.conjugate_renyi import log_part, shape_divergence
from tacit.privacy.conjugate_worst import largest_order, worst_pairs, worst_renyi
from tacit.privacy.events import event_from_plain

F = Fraction


def dirichlet(p, q, order):
    return math.fsum(shape_divergence(b, a - b, order) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize(
    ("prior", "n", "r", "order", "worst"),
    [
        (("6", "12"), 100, "1", "5", 0.61711064891150452588),
        (("6", "12"), 100, "0.1", "15", 0.018244467097602635248),
        (("1", "1"), 100, "0.02", "15", 0.0068586590271828513943),
        (("0.5", "1.5", "2.5", "9.5"), 1000, "0.1", "4", 0.15944723296596433757),
    ],
)
def test_references(prior, n, r, order, worst):
    family = "beta" if len(prior) == 2 else "dirichlet"
    assert abs(worst_renyi(family, [F(a) for a in prior], F(r), n, F(order)) / worst - 1) < 1e-14


@pytest.mark.parametrize(
    ("family", "prior", "weight", "star"),
    [
        ("beta", ("6", "12"), "1", 7),
        ("beta", ("1", "1"), "1", 2),
        ("beta", ("6", "12"), "0.1", 61),
        ("gamma-shape", ("3",), "0.5", 7),
        ("gamma-rate", ("10", "4"), "1", 5),
    ],
)
def test_the_largest_order(family, prior, weight, star):
    numbers = [F(a) for a in prior]
    assert largest_order(family, numbers, F(weight)) == star
    assert worst_renyi(family, numbers, F(weight), 3, F(star) - F(1, 10**6)) < math.inf
    assert worst_renyi(family, numbers, F(weight), 3, F(star)) == math.inf


def brute(family, prior, r, n, order):
    """The largest divergence over every pair of neighbouring data sets, and over those with P below Q alone."""
    worst, one_way = 0.0, 0.0
    if family in ("beta", "dirichlet"):
        levels = len(prior)
        for rest in itertools.combinations_with_replacement(range(levels), n - 1):
            for x, y in itertools.permutations(range(levels), 2):
                p, q = list(prior), list(prior)
                for k in rest:
                    p[k] += r
                    q[k] += r
                p[x] += r
                q[y] += r
                found = dirichlet(p, q, order)
                worst = max(worst, found)
                one_way = max(one_way, found if x > y else 0.0)
        return worst, one_way
    grid = [F(i, 2) for i in range(3)]  # numbers between the ends as well
    for rest in itertools.combinations_with_replacement(grid, n - 1):
        for x, y in itertools.permutations(grid, 2):
            base = prior[-1] + r * sum(rest)
            p, q = base + r * x, base + r * y
            if family == "gamma-rate":
                found = float(prior[0] + r * n) * log_part((p - q) / q, order)
            elif family == "gamma-shape":
                found = shape_divergence(q, p - q, order)
            else:
                high = prior[0] + r * (n - 1 - sum(rest))
                found = shape_divergence(q, p - q, order) + shape_divergence(high + r * (1 - y), r * (y - x), order)
            worst = max(worst, found)
            one_way = max(one_way, found if x > y else 0.0)
    return worst, one_way


@pytest.mark.parametrize("family", ["beta", "dirichlet", "beta-query", "gamma-shape", "gamma-rate"])
def test_no_pair_of_neighbours_beats_it(family):
    """Seed 2: 24 settings, every lattice data set of n <= 4 rows, both directions; the claim is met to 1e-12.

    The planted fault, to look at one direction only, falls short in more than a quarter of the settings.
    """
    rng = np.random.default_rng(2)
    short = 0
    for _ in range(24):
        n = int(rng.integers(1, 5))
        size = {"beta": 2, "beta-query": 2, "dirichlet": int(rng.integers(3, 5))}.get(family, 1)
        prior = [F(10 ** rng.uniform(-0.5, 1.5)) for _ in range(size)]
        r = F(10 ** rng.uniform(-2, 0))
        if family == "gamma-rate":
            prior = [F(10 ** rng.uniform(-0.5, 1.5)), prior[0]]
        claimed_prior = [prior[0] + r * n, prior[1]] if family == "gamma-rate" else prior
        order = 1 + (largest_order(family, claimed_prior, r) - 1) * F(rng.uniform(0.05, 0.98))
        claimed = worst_renyi(family, claimed_prior, r, n, order)
        found, one_way = brute(family, prior, r, n, order)
        assert found <= claimed * (1 + 1e-12) + 1e-299
        assert found >= claimed * (1 - 1e-12)
        short += one_way < claimed * (1 - 1e-9)
    assert short >= 6


def test_without_n_the_price_holds_for_every_n():
    """n not declared counts as 1, which dominates: the planted fault, a large n, would understate small data sets."""
    prior, r, order = [F(6), F(12)], F(1, 2), F(4)
    unknown = worst_renyi("beta", prior, r, None, order)
    known = [worst_renyi("beta", prior, r, n, order) for n in (1, 2, 5, 50, 5000)]
    assert all(value <= unknown for value in known)
    assert known[0] == unknown > known[-1]


def test_both_directions_are_looked_at():
    pairs = list(worst_pairs("beta", [F(6), F(12)], F(1), 10))
    assert len(pairs) == 4
    assert {(q, p) for p, q in pairs} == set(pairs)


@pytest.mark.parametrize(
    ("prior", "n", "r", "epsilon", "delta", "by_renyi"),
    [
        (("6", "12"), 100, "1", 0.5, 0.037396229439503906087, 0.08820696),
        (("6", "12"), 100, "1", 1.0, 0.0051167273921642979246, 0.017262367),
        (("1", "1"), 10, "0.1", 0.2, 0.0096978778180072571529, 0.030024626),
    ],
)
def test_the_exact_profile_of_a_share(prior, n, r, epsilon, delta, by_renyi):
    """Rounded up by 1e-8 at most; the conversion from Renyi is what a search over orders finds, to 1e-4."""
    event = ConjugateEvent("beta", [F(a) for a in prior], F(r), n, 1)
    assert delta <= event.delta(epsilon) <= delta * (1 + 1e-8)
    assert abs(event.delta_by_renyi(epsilon) / by_renyi - 1) < 1e-4
    assert event.delta(epsilon) < event.delta_by_renyi(epsilon)


def positive_part(x, p, q, factor):
    return max(0.0, p.pdf(x) - factor * q.pdf(x))


def test_the_profile_against_integrals():
    """Seed 3: 6 settings; sup over S of P(S) - e^epsilon Q(S) as an integral of a positive part, over every pair."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        a, b, r = (F(round(v, 3)) for v in (*rng.uniform(1.5, 8, 2), rng.uniform(0.2, 1)))
        n, epsilon = int(rng.integers(1, 6)), float(rng.uniform(0, 1.5))
        worst = 0.0
        for ones in range(n):
            for up in (0, 1):
                others = [float(a + r * ones), float(b + r * (n - 1 - ones))]
                one = stats.beta(others[0] + float(r) * up, others[1] + float(r) * (1 - up))
                two = stats.beta(others[0] + float(r) * (1 - up), others[1] + float(r) * up)
                value, _ = integrate.quad(positive_part, 0, 1, (one, two, math.exp(epsilon)), limit=500)
                worst = max(worst, value)
        assert abs(beta_profile.delta(a, b, r, n, epsilon) - worst) < 1e-6


def test_the_largest_delta_was_at_an_end():
    """Seed 4: in 200 random settings the 2n pairs hold no larger delta than four at the ends. No price relies on it."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        a, b, r = F(10 ** rng.uniform(-0.5, 2)), F(10 ** rng.uniform(-0.5, 2)), F(10 ** rng.uniform(-2, 0))
        n, epsilon = int(rng.integers(2, 300)), float(rng.uniform(0.01, 2))
        everywhere, least, step = beta_profile.delta(a, b, r, n, epsilon), float(r), float(r) * (n - 1)
        low, high = np.array([float(a), float(a) + step]), np.array([float(b) + step, float(b)])
        ends = max(float(hockey_stick(*pair, least, epsilon).max()) for pair in ((low, high), (high, low)))
        assert ends * (1 - 1e-12) <= everywhere <= ends * (1 + 1e-12) + 1e-299


def settings_plan(model, schema, budget, **said):
    return tacit.Plan(model, schema, budget, tacit.PosteriorSample(**said))


@pytest.mark.parametrize(
    ("prior", "n", "order", "epsilon", "r", "m"),
    [
        ((6, 12), 100, 15, 0.1, 0.2278734087408505, 0.05782745246703939),
        ((6, 12), 100, 15, 1.0, 0.4285470070736968, 0.4053389832216796),
        ((6, 12), 100, 2, 0.01, 0.2174707746067767, 0.04377955482020512),
        ((2, 3, 5), 50, 5, 0.2, 0.264484596054394, 0.0932513040515987),
    ],
)
def test_calibration_of_shares(prior, n, order, epsilon, r, m):
    """Against references to 1e-9, from below: the budget is met at the weight that is used."""
    levels = [str(i) for i in range(len(prior))]
    model, schema = tacit.Categorical("x"), tacit.Schema(x=levels)
    for tempering, name, value in (("diffused", "weight", r), ("concentrated", "scale", m)):
        plan = settings_plan(
            model,
            schema,
            tacit.RenyiDP(order=order, epsilon=epsilon),
            n=n,
            tempering=tempering,
            prior={"concentration": prior},
        )
        found = plan.calibrated_mechanism().noise_parameters.number(name)
        assert value * (1 - 1e-9) < found <= value * (1 + 1e-9)
        assert plan.event().renyi(order) <= epsilon
        assert plan.event().renyi(order) > epsilon * (1 - 1e-7)


@pytest.mark.parametrize(
    ("n", "variance", "prior_variance", "clip", "order", "epsilon", "r", "m"),
    [
        (100, 1.0, 1.0, 1, 2, 0.01, 0.25962912017836260078, 0.0033333333333333333333),
        (1000, 4.0, 10.0, 5, 15, 0.1, 0.53373303378249135123, 0.00045714285714285714286),
        (50, 2.0, 4.0, 3, 5, 0.5, 0.56538175790099521268, 0.0125),
    ],
)
def test_calibration_of_a_normal_mean(n, variance, prior_variance, clip, order, epsilon, r, m):
    model, schema = tacit.NormalMean("x", math.sqrt(variance)), tacit.Schema(x=(-clip, clip))
    prior = {"mean": 0.0, "mean_sd": math.sqrt(prior_variance)}
    budget = tacit.RenyiDP(order=order, epsilon=epsilon)
    diffused = settings_plan(model, schema, budget, n=n, prior=prior)
    assert abs(diffused.calibrated_mechanism().noise_parameters.number("weight") / r - 1) < 1e-9
    concentrated = settings_plan(model, schema, budget, n=n, prior=prior, tempering="concentrated")
    assert abs(concentrated.calibrated_mechanism().noise_parameters.number("scale") / m - 1) < 1e-9


@pytest.mark.parametrize(
    "event",
    [
        ConjugateEvent("beta", [F(6), F(12)], F("0.4285470070736968"), 100, 1),
        ConjugateEvent("dirichlet", [F(1), F(2), F(3)], F(1, 3), 0, 4),
        ConjugateEvent("gamma-rate", [F(30), F(2)], F(1, 3), 0, 1),
    ],
)
def test_an_event_survives_being_written(event):
    again = event_from_plain(json.loads(json.dumps(event.to_plain())))
    assert again == event
    assert again.renyi(1.5) == event.renyi(1.5)


def test_what_is_infinite_is_not_claimed():
    """Orders from lambda* on are infinite, so nothing that needs all orders holds."""
    event = ConjugateEvent("beta", [F(6), F(12)], F(1), 100, 1)
    assert event.epsilon() == event.rho() == event.mu() == math.inf
    assert event.renyi(6.999) < event.renyi(7.0) == math.inf
    two = ConjugateEvent("beta", [F(6), F(12)], F(1), 100, 2)
    assert two.renyi(3.0) == 2 * event.renyi(3.0)
    assert two.delta(1.0) > event.delta(1.0)


def test_prices_are_admitted_by_a_ledger_s_filter():
    from tacit.privacy.filter import Filter

    plan = settings_plan(
        tacit.Bernoulli("x"),
        tacit.Schema(x=["no", "yes"]),
        tacit.RenyiDP(order=4, epsilon=0.5),
        n=50,
        prior={"a": 3, "b": 3},
    )
    total = Filter(tacit.RenyiDP(order=4, epsilon=1.0))
    event = plan.event()
    assert total.within([event, event])
    assert not total.within([event, event, event])
    approximate = Filter(tacit.ApproxDP(4.0, 1e-4))
    assert approximate.within([event] * 2)
    assert not approximate.within([event] * 200)
