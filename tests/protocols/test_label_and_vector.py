"""A label beside a vector: the joint price is exact, and the client keeps it."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import chisquare

from tacit.audit.goodness import goodness_of_fit
from tacit.errors import InputError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.entropy import OSEntropy
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy import gaussian
from tacit.privacy.composition import compose
from tacit.privacy.events import (
    MARGIN,
    Event,
    GaussianEvent,
    PureEvent,
    ResponseGaussianEvent,
    event_from_plain,
)
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.protocols.domain import Block
from tacit.protocols.label_and_vector import LabelAndVector
from tacit.protocols.noisy_vector import GAUSSIANS, NoisyVector

LEVEL = 1e-7
LAWS = sorted(GAUSSIANS)

# epsilon, share: sigma / sensitivity of the vector at delta = 1e-5, jointly and by adding epsilons (40 digits)
JOINT_AND_BASIC = {
    (1.0, 0.5): (6.807654950851807, 7.031826675582492),
    (2.0, 0.5): (3.6597727879791897, 3.730631634815942),
    (0.5, 0.5): (12.718323210618962, 13.285525237082675),
    (1.0, 0.1): (3.9503712073407686, 4.106624331723853),
}
EXAMPLES = [
    ResponseGaussianEvent(Fraction(1, 2), 2, Fraction(1, 9), 0),
    ResponseGaussianEvent(Fraction(7, 3), 5, Fraction(4, 3), Fraction(1, 10**40)),
    ResponseGaussianEvent(3, 2, Fraction(1, 2), Fraction(1, 10**4)),
]


# The event


def responses(c: float, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """The laws of the answer for the truths 0 and 1, by definition."""
    first, second = np.ones(levels), np.ones(levels)
    first[0] = second[1] = math.exp(c)
    return first / first.sum(), second / second.sum()


def integral(c: float, levels: int, mu: float, epsilon: float) -> float:
    """delta of (answer, N(0, 1)) against (answer, N(mu, 1)) by a fine Riemann sum over the line and the answers."""
    grid = np.linspace(-12, 12 + mu, 200_001)
    p, q = responses(c, levels)
    density = [np.exp(-0.5 * (grid - m) ** 2) / math.sqrt(2 * math.pi) for m in (0.0, mu)]
    gap = np.maximum(0.0, np.outer(p, density[0]) - math.exp(epsilon) * np.outer(q, density[1]))
    return float(gap.sum() * (grid[1] - grid[0]))


@pytest.mark.parametrize("levels", [2, 3, 10])
@pytest.mark.parametrize(("c", "mu"), [(0.5, 0.3), (2.0, 1.5), (0.01, 4.0)])
def test_delta_is_that_of_the_integral(c: float, mu: float, levels: int) -> None:
    """Epsilons below, at and above c. The planted fault, the formula of two levels for ten, is too large."""
    event = ResponseGaussianEvent(c, levels, Fraction(mu) ** 2, 0)
    for epsilon in (0.0, 0.3 * c, c, c + 0.5, c + 2.0):
        exact = integral(c, levels, mu, epsilon)
        assert event.delta(epsilon) == pytest.approx(exact, rel=1e-7, abs=1e-12)
        if levels == 10:
            assert ResponseGaussianEvent(c, 2, Fraction(mu) ** 2, 0).delta(epsilon) > exact


def test_delta_of_two_levels_is_the_formula() -> None:
    """p dG(e - c) + (1 - p) dG(e + c), dG(e) = Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m) for e of either sign."""
    c, m = 0.7, 1.1
    p = 1 / (1 + math.exp(-c))

    def dg(e: float) -> float:
        return float(ndtr(m / 2 - e / m) - math.exp(e) * ndtr(-m / 2 - e / m))

    event = ResponseGaussianEvent(c, 2, Fraction(m) ** 2, 0)
    for e in (0.0, 0.2, 0.7, 1.0, 3.0):
        assert event.delta(e) == pytest.approx(p * dg(e - c) + (1 - p) * dg(e + c), rel=1e-11)


def renyi_sum(c: float, levels: int, mu: float, order: float) -> float:
    """D_order of the joint pair: the answers' sum times the exact Gaussian one."""
    p, q = responses(c, levels)
    return math.log(float(np.sum(p**order * q ** (1 - order)))) / (order - 1) + order * mu**2 / 2


@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize(("c", "mu"), [(0.5, 0.3), (2.0, 1.5)])
def test_no_other_price_falls_below_the_truth(c: float, mu: float, levels: int) -> None:
    """Renyi, rho and mu against brute force. The planted faults, the price of either part alone, fall below."""
    event = ResponseGaussianEvent(c, levels, Fraction(mu) ** 2, 0)
    assert event.epsilon() == math.inf
    for order in (1.01, 2.0, 8.0, 64.0):
        truth = renyi_sum(c, levels, mu, order)
        assert truth <= event.renyi(order) * (1 + 1e-12)
        assert truth <= order * event.rho() * (1 + 1e-12)
        if levels == 2:
            assert truth == pytest.approx(event.renyi(order), rel=1e-10)
        assert truth > max(event.response.renyi(order) - c * (levels - 2), event.vector.renyi(order))
    for epsilon in (0.0, 0.1, 1.0, 3.0):
        assert integral(c, levels, mu, epsilon) <= gaussian.delta(epsilon, event.mu()) + 1e-9
    assert integral(c, levels, mu, 0.0) > gaussian.delta(0.0, mu)
    assert event.mu() ** 2 == pytest.approx(PureEvent(c).mu() ** 2 + mu**2, rel=1e-12)


@pytest.mark.parametrize("event", EXAMPLES, ids=str)
def test_prices_are_consistent(event: ResponseGaussianEvent) -> None:
    """Each price implies the looser ones; the joint delta lies between those of the parts and of basic composition."""
    orders = [1.001, 1.5, 2.0, 8.0, 64.0]
    curve = [event.renyi(order) for order in orders]
    assert all(a <= b for a, b in itertools.pairwise(curve))
    assert all(value <= order * event.rho() * (1 + 1e-13) for order, value in zip(orders, curve, strict=True))
    c = float(event.response.pure)
    profile = [event.delta(e) for e in (0.0, c / 4, c, 2 * c, 3 * c)]
    assert all(0 <= b <= a <= 1 for a, b in itertools.pairwise(profile))
    for epsilon in (0.0, c / 2, c, c + 1, c + 3):
        assert event.delta(epsilon) >= event.response.delta(epsilon) * (event.levels == 2)
        assert event.delta(epsilon) >= event.vector.delta(epsilon) * (1 - 1e-9)
        if epsilon >= c:
            assert event.delta(epsilon) <= event.vector.delta(epsilon - c) * (1 + 1e-12)
    assert event.mu() < math.inf if event.vector.slack == 0 else event.mu() == math.inf


@pytest.mark.parametrize("event", EXAMPLES, ids=str)
def test_the_event_round_trips_and_answers_every_definition(event: ResponseGaussianEvent) -> None:
    back = event_from_plain(json.loads(json.dumps(event.to_plain())))
    assert back == event
    assert hash(back) == hash(event)
    for guarantee in (PureDP(700), ApproxDP(2, 1e-3), ZCDP(2), GDP(3), RenyiDP(2, 2)):
        assert event.satisfies(guarantee) in (True, False)
    assert not event.satisfies(PureDP(700))
    for budget in (ApproxDP(2, event.delta(2.0)), RenyiDP(3, event.renyi(3.0)), ZCDP(event.rho())):
        assert not event.satisfies(budget)  # a computed price is rounded up before it is compared
    assert event.satisfies(ApproxDP(2, event.delta(2.0) * (1 + 3 * MARGIN)))


def test_the_plain_form_of_the_event() -> None:
    assert EXAMPLES[0].to_plain() == {
        "kind": "response-gaussian",
        "epsilon": "1/2",
        "levels": 2,
        "mu_squared": "1/9",
        "slack": "0/1",
    }


@pytest.mark.parametrize(
    "parameters",
    [(0, 2, 1, 0), (1, 1, 1, 0), (1, True, 1, 0), (1, 2.0, 1, 0), (1, 2, 0, 0), (1, 2, 1, 1), (math.inf, 2, 1, 0)],
)
def test_impossible_events_are_refused(parameters: tuple[object, ...]) -> None:
    with pytest.raises(InputError, match=r"^Expected "):
        ResponseGaussianEvent(*parameters)


def test_the_event_composes_and_is_filtered() -> None:
    """Ten reports of one person together cost no less than their parts, and a filter admits them while they fit."""
    event: Event = ResponseGaussianEvent(Fraction(1, 10), 2, Fraction(1, 100), 0)
    together = compose([event] * 10)
    apart = compose([PureEvent(Fraction(1, 10))] * 10 + [GaussianEvent(Fraction(1, 100), 0)] * 10)
    for way in ("gaussian", "renyi"):
        assert together.epsilon(1e-5, by=way) == pytest.approx(apart.epsilon(1e-5, by=way), rel=1e-9)
    for total in (ApproxDP(2.0, 1e-5), ZCDP(0.2), GDP(1.0), RenyiDP(4, 1.0)):
        keeper = Filter(total)
        admitted = 0
        while keeper.admits([event] * admitted, event):
            admitted += 1
        assert 5 < admitted < 200


@given(
    c=st.fractions(Fraction(1, 10**6), 10**3),
    levels=st.integers(2, 10**6),
    mu_squared=st.fractions(Fraction(1, 10**12), 10**4),
    slack=st.fractions(0, Fraction(1, 2)),
    epsilon=st.floats(0, 1e3),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_any_event_has_sane_prices(c: object, levels: int, mu_squared: object, slack: object, epsilon: float) -> None:
    event = ResponseGaussianEvent(c, levels, mu_squared, slack)
    assert 0 <= event.delta(epsilon) <= 1
    assert event.renyi(1.5) > 0
    assert event.rho() > 0
    assert event_from_plain(event.to_plain()) == event


# The protocol


@pytest.mark.parametrize(("budget", "wanted"), JOINT_AND_BASIC.items())
def test_scales_match_the_reference(budget: tuple[float, float], wanted: tuple[float, float]) -> None:
    """On a lattice of 2^40, so whole scales are no loss. The noise of basic composition is 1.9 to 4.3% larger."""
    (epsilon, share), (joint, basic) = budget, wanted
    width = 2**40
    protocol = LabelAndVector.calibrate(2, [Block((0,), (width,))], ApproxDP(epsilon, 1e-5), share=share)
    assert protocol.epsilon_label == pytest.approx(epsilon * share, rel=1e-15)
    assert protocol.vector.noise.scales[0] / width == pytest.approx(joint, rel=3e-11)
    apart = NoisyVector.calibrate([Block((0,), (width,))], ApproxDP(epsilon * (1 - share), 1e-5))
    assert apart.noise.scales[0] / width == pytest.approx(basic, rel=3e-11)


def hockey_stick(protocol: LabelAndVector, first: object, second: object, epsilon: float, reach: float) -> float:
    """The exact delta of two records, summed over all labels and the lattice; the mass left out is added."""
    bounds = [(a, b) for block in protocol.vector.blocks for a, b in zip(block.low, block.high, strict=True)]
    radii = [math.ceil(reach * sd) for sd in protocol.vector.noise.sd]
    axes = [np.arange(a - r, b + r + 1) for (a, b), r in zip(bounds, radii, strict=True)]
    grid = np.stack(np.meshgrid(np.arange(protocol.levels), *axes, indexing="ij"), axis=-1)
    p, q = (np.exp(protocol.log_pmf(grid, np.array(v))) for v in (first, second))
    return float(np.maximum(0.0, p - math.exp(epsilon) * q).sum()) + max(0.0, 1.0 - float(p.sum()))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("levels", [2, 4])
def test_delta_in_one_dimension(levels: int, law: str) -> None:
    """Every pair of labels and the ends of the range, exact sums. The worst pair differs in both; it uses all of delta.

    Planted faults, both beyond delta: noise 4% less, and a label whose epsilon is 10% larger.
    """
    epsilon, delta, low, high = 2.0, 1e-4, -30, 34
    blocks = [Block((low,), (high,))]
    protocol = LabelAndVector.calibrate(levels, blocks, ApproxDP(epsilon, delta), share=0.4, law=law)
    records = list(itertools.product(range(levels), (low, 0, high)))
    deltas = {pair: hockey_stick(protocol, *pair, epsilon, 12.0) for pair in itertools.product(records, repeat=2)}
    worst = max(deltas.values())
    assert worst <= protocol.event().delta(epsilon) + 1e-14
    assert protocol.event().delta(epsilon) <= delta
    reached = {pair for pair, value in deltas.items() if value > 0.999 * worst}
    assert reached == {((a, x), (b, y)) for (a, x), (b, y) in deltas if a != b and abs(x - y) == high - low}
    least = LabelAndVector.calibrate(levels, blocks, ApproxDP(epsilon, delta), share=0.4).vector.noise.scales[0]
    pair = ((0, low), (1, high))
    for c, scale in ((protocol.epsilon_label, least * 96 // 100), (protocol.epsilon_label * Fraction(11, 10), least)):
        fault = LabelAndVector(levels, c, NoisyVector(protocol.vector.blocks, GAUSSIANS[law]((scale,))))
        assert hockey_stick(fault, *pair, epsilon, 12.0) > delta


@pytest.mark.parametrize("law", LAWS)
def test_delta_in_two_dimensions(law: str) -> None:
    """A ball of covariates, opposite ends and others. Noise for the radius in place of the diameter breaks it."""
    epsilon, delta = 2.0, 1e-3
    protocol = LabelAndVector.calibrate(2, [Block.ball(2, 65)], ApproxDP(epsilon, delta), share=0.5, law=law)
    pairs = [((0, 8, 1), (1, -8, -1)), ((1, 4, 7), (0, -4, -7)), ((0, 8, 1), (0, -8, -1)), ((0, 8, 1), (1, 8, 1))]
    deltas = [hockey_stick(protocol, *pair, epsilon, 5.0) for pair in pairs]
    tail = 2 * 2 * 3e-7  # beyond 5 standard deviations of either component, which `hockey_stick` adds
    assert max(deltas) <= protocol.event().delta(epsilon) + tail
    assert protocol.event().delta(epsilon) <= delta
    assert min(deltas[:2]) > max(deltas[2:])
    ideal = ResponseGaussianEvent(protocol.epsilon_label, 2, protocol.event().vector.mu_squared, 0).delta(epsilon)
    assert max(deltas) > 0.95 * ideal
    half = tuple(scale // 2 for scale in protocol.vector.noise.scales)
    fault = LabelAndVector(2, protocol.epsilon_label, NoisyVector(protocol.vector.blocks, GAUSSIANS[law](half)))
    assert hockey_stick(fault, *pairs[0], epsilon, 5.0) > 5 * delta


@pytest.mark.parametrize("law", LAWS)
def test_reports_follow_the_law(law: str) -> None:
    """Fresh entropy; a chi-square of the labels and one of the noise for each label reported, false alarms 4e-7.

    Planted faults: a label's epsilon and a scale 10% off either way, and noise that depends on the label.
    """
    protocol = LabelAndVector(3, Fraction(4, 5), NoisyVector((Block((-50, 0), (50, 9)),), GAUSSIANS[law]((40, 3))))
    truth = np.array([2, 50, 0])
    reports = protocol.randomize(np.tile(truth, (300_000, 1)), OSEntropy())

    def labels(law: LabelAndVector) -> float:
        """The label's law, with the vector summed out of the joint one by looking at one place."""
        table = law.log_pmf(np.array([[label, 50, 0] for label in range(3)]), truth)
        chances = np.exp(table) / np.exp(table).sum()
        return float(chisquare(np.bincount(reports[:, 0], minlength=3), len(reports) * chances).pvalue)

    assert labels(protocol) > LEVEL
    for fault in (Fraction(9, 10), Fraction(11, 10)):
        assert labels(LabelAndVector(3, protocol.epsilon_label * fault, protocol.vector)) < LEVEL

    def given_label(label: int, scale: int) -> object:
        other = LabelAndVector(
            3, protocol.epsilon_label, NoisyVector(protocol.vector.blocks, GAUSSIANS[law]((scale, 3)))
        )
        rest = float(other.log_pmf(np.array([label, 50, 0]), truth)) - float(
            GAUSSIANS[law]((scale,)).log_pmf(np.zeros(1))[0]
        )
        return lambda k: other.log_pmf(np.stack([0 * k + label, k + 50, 0 * k], axis=1), truth) - rest

    for label in range(3):
        noise = reports[reports[:, 0] == label, 1] - 50
        assert goodness_of_fit(noise, given_label(label, 40)) > LEVEL
        for wrong in (36, 44):
            assert goodness_of_fit(noise, given_label(label, wrong)) < LEVEL
    shifted = reports[reports[:, 0] == 1, 1] - 50 + 4
    assert goodness_of_fit(shifted, given_label(1, 40)) < LEVEL


@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-5), ZCDP(0.3), GDP(0.8), RenyiDP(6, 0.5)], ids=str)
@pytest.mark.parametrize("share", [0.5, 0.1, Fraction(4, 5)])
def test_calibration_meets_any_budget_with_the_least_noise(budget: object, share: float) -> None:
    blocks = [Block.ball(2, 2**40), Block((0,), (2**20,))]
    protocol = LabelAndVector.calibrate(3, blocks, budget, share=share)
    assert protocol.event().satisfies(budget)
    less = RoundedGaussian(tuple(scale - 1 for scale in protocol.vector.noise.scales))
    fewer = LabelAndVector(3, protocol.epsilon_label, NoisyVector(protocol.vector.blocks, less))
    assert not fewer.event().satisfies(budget)


def test_a_half_is_the_default_and_close_to_the_best() -> None:
    """tanh(c / 2)^2 / s^2, what a report tells, over shares: a half is within 1% of the best up to epsilon = 2."""
    blocks = [Block((0,), (2**30,))]
    for epsilon, best in ((0.5, 0.52), (2.0, 0.48)):
        told = {}
        for share in (0.5, best - 0.1, best, best + 0.1):
            protocol = LabelAndVector.calibrate(2, blocks, ApproxDP(epsilon, 1e-5), share=share)
            told[share] = (math.tanh(protocol.epsilon_label / 2) / protocol.vector.noise.scales[0]) ** 2
        assert max(told, key=told.__getitem__) == best
        assert told[0.5] > 0.99 * told[best]
    assert LabelAndVector.calibrate(2, blocks, ApproxDP(1.0, 1e-5)).epsilon_label == Fraction(1, 2)


def test_discrete_noise_and_shares_are_passed_on() -> None:
    blocks = [Block((0,), (2**30,)), Block((0,), (2**30,))]
    protocol = LabelAndVector.calibrate(2, blocks, ZCDP(0.3), law=DiscreteGaussian.kind, shares=(4, 1))
    scales = protocol.vector.noise.scales
    assert protocol.vector.noise.kind == DiscreteGaussian.kind
    assert scales[1] == pytest.approx(2 * scales[0], rel=1e-8)


VECTOR = NoisyVector((Block((0,), (9,)),), RoundedGaussian((3,)))


def test_refusals() -> None:
    blocks = [Block((0,), (9,))]
    for build, words in (
        (lambda: LabelAndVector(1, 1.0, VECTOR), "Expected levels="),
        (lambda: LabelAndVector(2, 0, VECTOR), "Expected epsilon_label="),
        (lambda: LabelAndVector(2, 1.0, None), "to be a NoisyVector"),
        (lambda: LabelAndVector.calibrate(2, blocks, PureDP(1.0)), "Gaussian noise is never pure"),
        (lambda: LabelAndVector.calibrate(2, blocks, GDP(1.0), law="discrete-gaussian"), "noise can meet"),
        (lambda: LabelAndVector.calibrate(2, blocks, GDP(1.0), share=0.0), "Expected share="),
        (lambda: LabelAndVector.calibrate(2, blocks, GDP(1.0), share=1.0), "Expected share="),
        (lambda: LabelAndVector.calibrate(2, blocks, GDP(1.0), share=math.nan), "Expected share="),
        (lambda: LabelAndVector.calibrate(2, blocks, GDP(1.0), share="1/2"), "Expected share="),
        (lambda: LabelAndVector.calibrate(2, [], GDP(1.0)), "Expected blocks="),
    ):
        with pytest.raises(InputError, match=words):
            build()
    protocol = LabelAndVector(2, 1.0, VECTOR)
    for bad in ([[2, 0]], [[-1, 0]], [[0, 10 + 3 * 2**16]]):
        with pytest.raises(InputError, match=r"^Expected reports="):
            protocol.check_reports(np.array(bad))
    for bad in ([[2, 0]], [[0, 10]], [[0, -1]], [[0]]):
        with pytest.raises(InputError, match=r"^Expected inputs='...' "):
            protocol.randomize(np.array(bad), OSEntropy())
