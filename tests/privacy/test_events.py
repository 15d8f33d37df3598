import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InputError
from tacit.privacy import gaussian
from tacit.privacy.approximate_event import ApproximateEvent, AssumedEvent, NearEvent
from tacit.privacy.conjugate_event import ConjugateEvent
from tacit.privacy.conversions import discrete_laplace_renyi, laplace_renyi, pure_to_delta
from tacit.privacy.events import (
    MARGIN,
    BoundedRangeEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    RenyiEvent,
    ResponseGaussianEvent,
    _all_kinds,
    event_from_plain,
    rounded_up,
)
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.loss_distribution import loss_distribution
from tacit.privacy.repeated_event import RepeatedEvent
from tacit.privacy.subsampled_gaussian import SubsampledGaussian

HALF = Fraction(1, 2)
EXAMPLES = [
    LaplaceEvent(HALF, 3),
    LaplaceEvent(Fraction(10, 7), 10**12),
    GaussianEvent(Fraction(1, 9), Fraction(0)),
    GaussianEvent(Fraction(4, 3), Fraction(1, 10**40)),
    PureEvent(Fraction(7, 5)),
    BoundedRangeEvent(Fraction(3, 2)),
    RenyiEvent(Fraction(5, 2), HALF),
    ResponseGaussianEvent(HALF, 3, Fraction(1, 4), Fraction(0)),
    ResponseGaussianEvent(HALF, 2, Fraction(1, 4), Fraction(1, 10**9)),
    RepeatedEvent(LaplaceEvent(HALF, 3), 4),
    RepeatedEvent(GaussianEvent(Fraction(1, 9), Fraction(0)), 2),
    ApproximateEvent(PureEvent(Fraction(7, 5)), Fraction(1, 10**6)),
    AssumedEvent(BoundedRangeEvent(1), Fraction(1, 10**6)),
    ApproximateEvent(RepeatedEvent(BoundedRangeEvent(HALF), 2), Fraction(1, 10**9)),
    ConjugateEvent("beta", (Fraction(3), Fraction(4)), HALF, 50, 1),
    ConjugateEvent("gamma-shape", (Fraction(5),), HALF, 0, 2),
    SubsampledGaussian(Fraction(3, 2), Fraction(1, 50), 200),
    SubsampledGaussian(Fraction(9), 1, 3),
]
ORDERS = [1.001, 1.5, 2.0, 8.0, 64.0]


# Two distributions of integer noise, summed over a box that leaves out less than 1e-15 of them.


def laplace_law(shift, scale, points):
    return np.log(math.tanh(0.5 / scale)) - np.abs(points - shift) / scale


def gaussian_law(shift, sigma, points):
    log_mass = -((points - shift) ** 2) / (2 * sigma**2)
    return log_mass - np.log(np.exp(-((points - points[len(points) // 2]) ** 2) / (2 * sigma**2)).sum())


def joint(distribution, shifts, scales, reach):
    """The log mass of the noise (Q) and of the shifted noise (P) on one grid, all entries together."""
    noise, shifted = np.zeros(()), np.zeros(())
    for shift, scale in zip(shifts, scales, strict=True):
        points = np.arange(-reach * scale, reach * scale + 1, dtype=np.float64)
        noise = np.add.outer(noise, distribution(0, scale, points))
        shifted = np.add.outer(shifted, distribution(shift, scale, points))
    return shifted.ravel(), noise.ravel()


def renyi_sum(log_p, log_q, order):
    return math.log(np.exp(order * log_p + (1 - order) * log_q).sum()) / (order - 1)


def hockey_stick(log_p, log_q, epsilon):
    return float(np.maximum(0.0, np.exp(log_p) - np.exp(epsilon + log_q)).sum())


LAPLACE_CASES = [((1,), (1,)), ((3,), (2,)), ((1, 1), (1, 1)), ((2, 1), (3, 1)), ((1, 3), (1, 5)), ((0, 4), (1, 2))]


@pytest.mark.parametrize(("shifts", "scales"), LAPLACE_CASES)
def test_no_law_of_discrete_laplace_noise_costs_more_than_its_event(shifts, scales):
    """By brute force in one and two dimensions. The planted faults must fall below the truth: the continuous curve, and
    (with unequal scales) the discrete curve at the largest scale."""
    log_p, log_q = joint(laplace_law, shifts, scales, reach=36 if len(scales) == 2 else 80)
    epsilon = sum(Fraction(d, s) for d, s in zip(shifts, scales, strict=True))
    event = LaplaceEvent(epsilon, min(scales))
    assert float(np.max(log_p - log_q)) == pytest.approx(float(epsilon), rel=1e-12)
    for order in ORDERS:
        truth = renyi_sum(log_p, log_q, order)
        slip = 1e-13 / (order - 1)
        assert truth <= event.renyi(order) + slip
        if len(scales) == 1:
            assert truth == pytest.approx(event.renyi(order), rel=1e-12, abs=slip)
            assert laplace_renyi(float(epsilon), order) < truth * (1 - 1e-3)
        assert truth <= order * event.rho() + slip
    for target in np.linspace(0, 1.2 * float(epsilon), 25):
        truth = hockey_stick(log_p, log_q, target)
        assert truth <= event.delta(float(target)) + 1e-13
        assert truth <= gaussian.delta(float(target), event.mu()) + 1e-13


def test_the_largest_scale_or_the_largest_entry_would_underprice():
    """Planted faults that the brute force rejects: A at the largest scale, and the largest entry instead of the sum."""
    log_p, log_q = joint(laplace_law, (2, 0), (1, 3), reach=36)
    assert renyi_sum(log_p, log_q, 2.0) > discrete_laplace_renyi(2.0, 2.0, 3) * 1.001
    log_p, log_q = joint(laplace_law, (1, 1), (1, 1), reach=36)
    assert renyi_sum(log_p, log_q, 8.0) > LaplaceEvent(1, 1).renyi(8.0)
    assert hockey_stick(log_p, log_q, 1.0) > LaplaceEvent(1, 1).delta(1.0)


def test_a_coarse_entry_that_does_not_move_does_not_raise_the_price():
    """epsilon = 1/1000 with grain 1: the discrete curve at the smallest scale is loose there, the pure one is not."""
    event = LaplaceEvent(Fraction(1, 1000), 1)
    assert event.renyi(2.0) == PureEvent(Fraction(1, 1000)).renyi(2.0)


def rounded_gaussian_slack(sigma):
    """The total variation between the discrete Gaussian and the Gaussian rounded to integers."""
    points = np.arange(-40 * math.ceil(sigma), 40 * math.ceil(sigma) + 1, dtype=np.float64)
    exact = np.exp(gaussian_law(0, sigma, points))
    edges = [0.5 * math.erfc(-(k + 0.5) / (sigma * math.sqrt(2))) for k in np.append(points[0] - 1, points)]
    return 0.5 * float(np.abs(exact - np.diff(edges)).sum())


@pytest.mark.parametrize(("shifts", "sigmas"), [((1,), (1,)), ((2,), (3,)), ((1, 1), (1, 2)), ((1, 2), (2, 3))])
def test_no_law_of_discrete_gaussian_noise_costs_more_than_its_event(shifts, sigmas):
    """By brute force. The planted fault, a slack of 0 for coarse noise, must be caught at sigma = 1."""
    log_p, log_q = joint(gaussian_law, shifts, sigmas, reach=12)
    mu_squared = sum(Fraction(d, s) ** 2 for d, s in zip(shifts, sigmas, strict=True))
    event = GaussianEvent(mu_squared, sum(rounded_gaussian_slack(s) for s in sigmas))
    for order in (1.5, 2.0, 8.0):
        assert renyi_sum(log_p, log_q, order) <= event.renyi(order) * (1 + 1e-12)
    for target in np.linspace(0, 3, 25):
        truth = hockey_stick(log_p, log_q, target)
        assert truth <= event.delta(float(target)) + 1e-13
    if sigmas == (1,):
        assert hockey_stick(log_p, log_q, 0.0) > GaussianEvent(mu_squared, 0).delta(0.0)
    assert event.epsilon() == math.inf
    assert event.mu() == math.inf
    assert GaussianEvent(mu_squared, 0).mu() == math.sqrt(mu_squared)


def test_a_large_slack_falls_back_on_the_proof_without_it():
    """(1 + e^epsilon) * slack is useless at a large epsilon; the zCDP proof of the discrete Gaussian has no slack."""
    event = GaussianEvent(Fraction(1, 4), Fraction(1, 10**6))
    assert event.delta(5.0) < 1e-15
    assert event.delta(1.0) == pytest.approx(gaussian.delta(1.0, 0.5) + (1 + math.e) * 1e-6, rel=1e-12)


def test_prices_are_ordered():
    """What is known only to be pure costs most; a bounded range and Laplace noise of the same epsilon cost less."""
    epsilon = Fraction(3, 2)
    pure, laplace, ranged = PureEvent(epsilon), LaplaceEvent(epsilon, 50), BoundedRangeEvent(epsilon)
    for order in ORDERS:
        assert laplace.renyi(order) < pure.renyi(order) < 1.5
        assert ranged.renyi(order) < pure.renyi(order)
    assert ranged.rho() < pure.rho() == laplace.rho() < epsilon**2 / 2
    for target in (0.0, 0.5, 1.4):
        assert ranged.delta(target) < pure.delta(target) == laplace.delta(target)
    assert pure.mu() == laplace.mu() > ranged.mu() == PureEvent(epsilon / 2).mu()


def test_every_kind_of_event_is_among_the_examples():
    assert {event.kind for event in EXAMPLES} == set(_all_kinds())


@pytest.mark.parametrize("event", EXAMPLES)
def test_each_price_implies_the_looser_ones(event):
    """D_a <= a rho; delta falls with epsilon; D_a grows with a and never exceeds epsilon.

    The delta of an approximate event is an upper bound that does not fall: (1 + e^epsilon) * distance grows. What must
    hold of it is that it is never below the delta of the event that it is near.
    """
    curve = [event.renyi(order) for order in ORDERS]
    assert all(a <= b * (1 + 1e-13) for a, b in itertools.pairwise(curve))
    for order, value in zip(ORDERS, curve, strict=True):
        assert value <= order * event.rho() * (1 + 1e-13)
        assert value <= float(event.epsilon()) * (1 + 1e-13)
    profile = [event.delta(e) for e in (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)]
    if isinstance(event, NearEvent):
        assert all(event.event.delta(e) < event.delta(e) < 1 for e in (0.0, 0.1, 0.5, 1.0, 2.0, 5.0))
    else:
        assert all(0 <= b <= a <= 1 for a, b in itertools.pairwise(profile))


def test_one_point_of_a_curve():
    event = RenyiEvent(Fraction(5, 2), HALF)
    assert event.renyi(2.5) == event.renyi(1.1) == 0.5
    assert event.renyi(2.5000001) == math.inf
    assert event.epsilon() == event.rho() == event.mu() == math.inf
    assert 0 < event.delta(3.0) < 0.02


def above(value, parts=15):
    """One part in 10^parts more than a rational."""
    return value * (1 + Fraction(1, 10**parts))


@pytest.mark.parametrize(
    ("build", "guarantee"),
    [
        (lambda f: LaplaceEvent(f(Fraction(0.1)), 7), PureDP(0.1)),
        (lambda f: PureEvent(f(Fraction(0.1))), PureDP(0.1)),
        (lambda f: BoundedRangeEvent(f(Fraction(3))), PureDP(3)),
        (lambda f: PureEvent(f(Fraction(0.1))), ApproxDP(0.1, 1e-300)),
        (lambda f: LaplaceEvent(f(Fraction(0.1)), 7), ApproxDP(0.1, 1e-300)),
        (lambda f: BoundedRangeEvent(f(Fraction(2))), ApproxDP(2, 1e-300)),
        (lambda f: GaussianEvent(f(2 * Fraction(0.3)), 0), ZCDP(0.3)),
        (lambda f: GaussianEvent(f(2 * Fraction(0.3)), Fraction(1, 100)), ZCDP(0.3)),
        (lambda f: GaussianEvent(f(Fraction(0.7) ** 2), 0), GDP(0.7)),
        (lambda f: GaussianEvent(f(Fraction(1, 2)), 0), RenyiDP(4, 1)),
        (lambda f: RenyiEvent(Fraction(4), f(Fraction(0.1))), RenyiDP(4, 0.1)),
        (lambda f: RenyiEvent(Fraction(4), f(Fraction(0.1))), RenyiDP(2, 0.1)),
    ],
)
def test_exact_prices_meet_their_budget_exactly(build, guarantee):
    """Equality passes and one part in 10^15, or even 10^40, too much fails: nothing is decided by rounding."""
    assert build(lambda value: value).satisfies(guarantee)
    assert not build(above).satisfies(guarantee)
    assert not build(lambda value: above(value, 40)).satisfies(guarantee)


def test_a_budget_in_floats_would_have_been_met_by_rounding():
    """The planted fault of the test above: as floats the two sides are equal."""
    assert float(above(Fraction(0.1), 40)) == 0.1


@pytest.mark.parametrize(
    ("event", "budget"),
    [
        (LaplaceEvent(HALF, 3), lambda event, f: ZCDP(event.rho() * f)),
        (LaplaceEvent(HALF, 3), lambda event, f: GDP(event.mu() * f)),
        (LaplaceEvent(HALF, 3), lambda event, f: RenyiDP(3, event.renyi(3) * f)),
        (PureEvent(HALF), lambda event, f: ApproxDP(0.3, event.delta(0.3) * f)),
        (BoundedRangeEvent(HALF), lambda event, f: RenyiDP(3, event.renyi(3) * f)),
        (BoundedRangeEvent(HALF), lambda event, f: ZCDP(event.rho() * f)),
        (BoundedRangeEvent(HALF), lambda event, f: GDP(event.mu() * f)),
        (GaussianEvent(HALF, Fraction(1, 10**9)), lambda event, f: ApproxDP(2, event.delta(2) * f)),
        (RenyiEvent(8, HALF), lambda event, f: ApproxDP(2, event.delta(2) * f)),
    ],
)
def test_computed_prices_are_rounded_up_before_they_are_compared(event, budget):
    assert not event.satisfies(budget(event, 1.0))
    assert not event.satisfies(budget(event, 1 + MARGIN / 4))
    assert event.satisfies(budget(event, 1 + 2 * MARGIN))


def test_rounding_up():
    assert rounded_up(Fraction(1, 3)) == Fraction(1, 3)
    assert rounded_up(1.0) > 1 + MARGIN
    assert rounded_up(0.0) > 0
    assert rounded_up(math.inf) == math.inf


def test_gaussian_noise_calibrated_by_mu_is_accepted():
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-5), (20.0, 1e-9), (500.0, 1e-12)):
        mu = Fraction(gaussian.mu_for(epsilon, delta))
        assert GaussianEvent(mu**2, 0).satisfies(ApproxDP(epsilon, delta))
        assert not GaussianEvent(mu**2 * above(Fraction(1), 9), 0).satisfies(ApproxDP(epsilon, delta))


def test_what_nothing_proves_satisfies_nothing():
    assert not GaussianEvent(Fraction(1, 10**6), 0).satisfies(PureDP(700))
    assert not GaussianEvent(Fraction(1, 10**6), Fraction(1, 10**9)).satisfies(GDP(100))
    point = RenyiEvent(4, HALF)
    for guarantee in (PureDP(700), ZCDP(700), GDP(700), RenyiDP(4.001, 700)):
        assert not point.satisfies(guarantee)
    # A slack too small for a float is a slack all the same.
    assert not GaussianEvent(HALF, Fraction(1, 10**400)).satisfies(GDP(10))


@pytest.mark.parametrize("event", EXAMPLES)
def test_every_event_answers_every_definition(event):
    for guarantee in (PureDP(2), ApproxDP(2, 1e-3), ZCDP(2), GDP(3), RenyiDP(2, 2)):
        assert event.satisfies(guarantee) in (True, False)

    class Other(Guarantee):
        def _check(self) -> None: ...

        def _promise(self) -> str:
            return ""

    with pytest.raises(InputError, match="Expected guarantee="):
        event.satisfies(Other())


@pytest.mark.parametrize("event", EXAMPLES)
def test_round_trip_through_json_is_exact(event):
    text = json.dumps(event.to_plain())
    back = event_from_plain(json.loads(text))
    assert back == event
    assert type(back) is type(event)
    assert hash(back) == hash(event)


rationals = st.fractions(min_value=Fraction(1, 10**30), max_value=10**6)


@given(a=rationals, b=rationals, grain=st.integers(1, 2**120))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_any_event_round_trips_and_has_finite_sane_prices(a, b, grain):
    events = [
        LaplaceEvent(a, grain),
        PureEvent(a),
        BoundedRangeEvent(a),
        RenyiEvent(1 + max(b, Fraction(1, 10**15)), a),
    ]
    for event in [*events, GaussianEvent(a, min(b, 1) / 2)]:
        assert event_from_plain(json.loads(json.dumps(event.to_plain()))) == event
        assert event.renyi(1.5) >= 0
        assert 0 <= event.delta(1.0) <= 1
        assert event.rho() > 0
        assert event.mu() > 0


def test_plain_forms():
    assert LaplaceEvent(HALF, 3).to_plain() == {"kind": "laplace", "epsilon": "1/2", "grain": 3}
    assert GaussianEvent(2, 0).to_plain() == {"kind": "gaussian", "mu_squared": "2/1", "slack": "0/1"}
    assert RenyiEvent(2, HALF).to_plain() == {"kind": "renyi", "order": "2/1", "epsilon": "1/2"}


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"kind": "laplase", "epsilon": "1/2", "grain": 3}, "did you mean 'laplace'"),
        ({"epsilon": "1/2"}, "Expected event kind=None"),
        ({"kind": ["laplace"]}, "Expected event kind="),
        ({"kind": "pure"}, "exactly the entries epsilon"),
        ({"kind": "pure", "epsilon": "1/2", "grain": 3}, "exactly the entries epsilon"),
        ({"kind": "pure", "epsilon": "1/0"}, "finite rational"),
        ({"kind": "pure", "epsilon": "0.5"}, "finite rational"),
        ({"kind": "pure", "epsilon": "-1/2"}, "finite rational"),
        ({"kind": "laplace", "epsilon": "1/2", "grain": "3"}, "whole number"),
        ("pure", "to be a table"),
    ],
)
def test_a_wrong_table_is_refused(plain, message):
    with pytest.raises(InputError, match=message):
        event_from_plain(plain)


@pytest.mark.parametrize("bad", [0, -1, math.inf, math.nan, True, "1", None])
def test_impossible_parameters_are_refused(bad):
    for build in (
        PureEvent,
        BoundedRangeEvent,
        lambda v: LaplaceEvent(v, 1),
        lambda v: LaplaceEvent(1, v),
        lambda v: GaussianEvent(v, 0),
        lambda v: RenyiEvent(v, 1),
        lambda v: RenyiEvent(2, v),
        lambda v: ResponseGaussianEvent(v, 2, 1, 0),
        lambda v: ResponseGaussianEvent(1, v, 1, 0),
        lambda v: ResponseGaussianEvent(1, 2, v, 0),
        lambda v: RepeatedEvent(PureEvent(1), v),
        lambda v: RepeatedEvent(v, 2),
        lambda v: ApproximateEvent(PureEvent(1), v),
        lambda v: ApproximateEvent(v, HALF),
        lambda v: ConjugateEvent(v, (1, 1), 1, 0, 1),
        lambda v: ConjugateEvent("beta", v, 1, 0, 1),
        lambda v: ConjugateEvent("beta", (1, v), 1, 0, 1),
        lambda v: ConjugateEvent("beta", (1, 1), v, 0, 1),
        lambda v: ConjugateEvent("beta", (1, 1), 1, 0, v),
    ):
        with pytest.raises(InputError, match=r"^Expected "):
            build(bad)


def test_more_impossible_parameters_are_refused():
    for build in (
        lambda: GaussianEvent(1, 1),
        lambda: GaussianEvent(1, -0.1),
        lambda: LaplaceEvent(1, 1.5),
        lambda: RenyiEvent(1, 1),
        lambda: PureEvent(1).renyi(1.0),
        lambda: PureEvent(1).renyi(math.inf),
        lambda: PureEvent(1).delta(-0.1),
        lambda: PureEvent(1).delta(math.nan),
    ):
        with pytest.raises(InputError, match=r"^Expected "):
            build()
    with pytest.raises(TypeError):
        Event()


@pytest.mark.parametrize("event", EXAMPLES)
def test_a_loss_distribution_is_that_of_the_event_or_is_refused_in_a_sentence(event):
    """Gaussian noise, sampled or not, and whatever has a pure epsilon have one; the rest is refused by one sentence.

    Where there is one, its delta is that of the pair of distributions that stands for the event, rounded upwards to a
    grid of losses of width 1e-4, which moves no delta here by a thousandth. Slacks are left out of it.
    """
    if not isinstance(event, GaussianEvent | SubsampledGaussian) and event.epsilon() == math.inf:
        with pytest.raises(InputError, match=r"^Expected event=.* to be Gaussian or pure for [^.\n]*\.$"):
            loss_distribution((event,))
        return
    target, pure = 0.3, event.epsilon()
    if isinstance(event, GaussianEvent):
        truth = gaussian.delta(target, math.sqrt(event.mu_squared))
    elif isinstance(event, SubsampledGaussian):
        truth = event.delta(target)  # rounded upwards itself
    elif isinstance(event, LaplaceEvent) and event.grain >= 16:
        truth = -math.expm1((target - float(pure)) / 2)
    else:
        truth = pure_to_delta(pure, Fraction(target))
    found = loss_distribution((event,)).get_delta_for_epsilon(target)
    below = 1e-3 if isinstance(event, SubsampledGaussian) else 1e-9
    assert truth * (1 - below) <= found <= truth * (1 + 1e-3)
