"""Calibrated noise keeps its promise: exact sums over the lattice never exceed what the event claims."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from tacit.errors import InputError
from tacit.noise.discrete_gaussian import SLACK, DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.noise import Noise
from tacit.noise.registry import NOISES
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy import gaussian
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.sensitivity import Sensitivity

LATTICE = 2**8

# sigma / sensitivity of the analytic Gaussian condition, computed to 50 digits (Balle and Wang 2018, Theorem 8)
SIGMA_OVER_SENSITIVITY = {
    (0.1, 1e-5): 30.749566132,
    (1.0, 1e-5): 3.7306316348,
    (1.0, 1e-6): 4.2246788893,
    (5.0, 1e-6): 0.98004900031,
}


def one_entry(shift: int) -> Sensitivity:
    return Sensitivity(Fraction(shift), Fraction(shift) ** 2, (Fraction(1),))


def hockey_stick(log_p: np.ndarray, log_q: np.ndarray, epsilon: float) -> float:
    """sum_k max(0, p_k - e^epsilon q_k), the exact delta of one pair of laws."""
    return float(np.sum(np.exp(log_p) * np.maximum(0.0, -np.expm1(epsilon + log_q - log_p))))


def delta_1d(noise: Noise, shift: int, epsilon: float) -> float:
    reach = math.ceil(14 * noise.sd[0]) + shift
    k = np.arange(-reach, reach + 1)[:, None]
    return hockey_stick(noise.log_pmf(k), noise.log_pmf(k - shift), epsilon)


def delta_2d(noise: Noise, shift: tuple[int, int], epsilon: float) -> float:
    """The exact delta for two Gaussian entries: given k_1 the log ratio falls in k_2, so each sum is a tail of k_2."""
    (s1, s2), (d1, d2) = noise.scales, shift
    log_p, log_q = [], []
    for s, d in ((s1, d1), (s2, d2)):
        reach = math.ceil(14 * s) + d
        k = np.arange(-reach, reach + 1)
        log_p.append(type(noise)((s,)).log_pmf(k))
        log_q.append(type(noise)((s,)).log_pmf(k - d))
    fall = log_p[1] - log_q[1]
    assert np.all(np.diff(fall) < 0)
    tail_p = np.concatenate([[0.0], np.cumsum(np.exp(log_p[1]))])
    tail_q = np.concatenate([[0.0], np.cumsum(np.exp(log_q[1]))])
    inside = np.searchsorted(-fall, log_p[0] - log_q[0] - epsilon)
    return float(np.sum(np.exp(log_p[0]) * tail_p[inside] - np.exp(epsilon + log_q[0]) * tail_q[inside]))


@pytest.mark.parametrize(("budget", "wanted"), SIGMA_OVER_SENSITIVITY.items())
@pytest.mark.parametrize("kind", ["discrete-gaussian", "rounded-gaussian"])
def test_gaussian_scale_matches_the_reference(kind: str, budget: tuple[float, float], wanted: float) -> None:
    """On a lattice of 2^40 the slack is below 1e-20: the reference, to its last digit and never below it by more."""
    noise = NOISES[kind].calibrate(ApproxDP(*budget), one_entry(2**40))
    assert noise.scales[0] / 2**40 == pytest.approx(wanted, rel=3e-11)


@pytest.mark.parametrize("budget", SIGMA_OVER_SENSITIVITY)
def test_discrete_gaussian_pays_for_its_slack(budget: tuple[float, float]) -> None:
    """On a coarser lattice the discrete noise is the larger one, by what (1 + e^epsilon) slack takes out of delta."""
    epsilon, delta = budget
    discrete = DiscreteGaussian.calibrate(ApproxDP(epsilon, delta), one_entry(LATTICE))
    rounded = RoundedGaussian.calibrate(ApproxDP(epsilon, delta), one_entry(LATTICE))
    assert discrete.scales[0] >= rounded.scales[0]
    slack = float(discrete.event(one_entry(LATTICE)).slack)
    assert slack == pytest.approx(0.061 / discrete.scales[0] ** 2, rel=1e-9)
    left = delta - (1 + math.exp(epsilon)) * slack
    if left > 0:  # otherwise the price comes from zCDP
        assert discrete.scales[0] <= math.ceil(LATTICE / gaussian.mu_for(epsilon, left)) + 1


@pytest.mark.parametrize("budget", SIGMA_OVER_SENSITIVITY)
@pytest.mark.parametrize("kind", ["discrete-gaussian", "rounded-gaussian"])
def test_exact_delta_in_one_dimension_is_within_the_claim(kind: str, budget: tuple[float, float]) -> None:
    """The largest shift uses most of delta, smaller ones less; noise 2% too small breaks the promise."""
    epsilon, delta = budget
    noise = NOISES[kind].calibrate(ApproxDP(epsilon, delta), one_entry(LATTICE))
    deltas = [delta_1d(noise, shift, epsilon) for shift in (LATTICE, LATTICE - 1, LATTICE // 2, 1)]
    assert max(deltas) <= noise.event(one_entry(LATTICE)).delta(epsilon) <= delta
    assert deltas == sorted(deltas, reverse=True)
    least = RoundedGaussian.calibrate(ApproxDP(epsilon, delta), one_entry(LATTICE))
    assert delta_1d(NOISES[kind]((least.scales[0] * 98 // 100,)), LATTICE, epsilon) > delta


@pytest.mark.parametrize("kind", ["discrete-gaussian", "rounded-gaussian"])
def test_exact_delta_in_two_dimensions_is_within_the_claim(kind: str) -> None:
    """Entries of different scales: shifts on the ellipse of the sensitivity; noise 2% too small breaks the promise."""
    epsilon, delta = 1.0, 1e-5
    weights = (Fraction(1), Fraction(3, 2))
    shifts = [(LATTICE, 0), (0, 3 * LATTICE // 2), (153, 307), (204, 230)]
    square = max(sum((Fraction(d) / w) ** 2 for d, w in zip(shift, weights, strict=True)) for shift in shifts)
    sensitivity = Sensitivity(Fraction(2 * LATTICE), square, weights)
    noise = NOISES[kind].calibrate(ApproxDP(epsilon, delta), sensitivity)
    deltas = [delta_2d(noise, shift, epsilon) for shift in shifts if all(shift)]
    assert max(deltas) <= noise.event(sensitivity).delta(epsilon) <= delta
    assert max(deltas) > 0.9 * delta
    small = NOISES[kind](tuple(scale * 98 // 100 for scale in noise.scales))
    assert max(delta_2d(small, shift, epsilon) for shift in shifts if all(shift)) > delta


def test_two_dimensional_sum_agrees_with_brute_force() -> None:
    noise, shift, epsilon = DiscreteGaussian((3, 5)), (4, 6), 0.7
    k = np.stack(np.meshgrid(np.arange(-60, 61), np.arange(-90, 91), indexing="ij"), axis=-1)
    log_p, log_q = (noise.log_pmf(k - np.array(d)).sum(axis=-1) for d in ((0, 0), shift))
    assert delta_2d(noise, shift, epsilon) == pytest.approx(hockey_stick(log_p, log_q, epsilon), rel=1e-10)


def test_continuous_formula_on_raw_counts_is_caught() -> None:
    """Planted fault: unit counts with the continuous sigma for (1, 1e-5). The true delta is 1.0346e-5, not 1e-5."""
    sigma = SIGMA_OVER_SENSITIVITY[1.0, 1e-5]
    k = np.arange(-100, 101)
    weight = -0.5 * (k / sigma) ** 2
    log_p = weight - math.log(np.exp(weight).sum())
    log_q = -0.5 * ((k - 1) / sigma) ** 2 - math.log(np.exp(weight).sum())
    assert hockey_stick(log_p, log_q, 1.0) == pytest.approx(1.0346e-5, rel=1e-4)
    calibrated = DiscreteGaussian.calibrate(ApproxDP(1.0, 1e-5), one_entry(1))
    assert delta_1d(calibrated, 1, 1.0) <= 1e-5


@pytest.mark.parametrize("scale", [1, 2, 5, 20])
def test_slack_bounds_the_total_variation(scale: int) -> None:
    """Brute force, against a rounded Gaussian from the normal cdf; the bound is within a factor of 4 of the truth."""
    k = np.arange(-40 * scale, 1)
    rounded = ndtr((k + 0.5) / scale) - ndtr((k - 0.5) / scale)
    difference = np.abs(np.exp(DiscreteGaussian((scale,)).log_pmf(k)) - rounded)
    total_variation = float(difference[:-1].sum() + difference[-1] / 2)
    bound = float(SLACK) / scale**2
    assert bound / 4 < total_variation <= bound


def test_slack_of_many_coarse_entries_stays_below_one() -> None:
    sensitivity = Sensitivity(Fraction(100), Fraction(1), (Fraction(1),) * 100)
    event = DiscreteGaussian((1,) * 100).event(sensitivity)
    assert Fraction(9, 10) < event.slack < 1
    assert event.satisfies(ZCDP(0.5))


@pytest.mark.parametrize("scale", [1, 3, 50])
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_rounded_gaussian_never_exceeds_the_continuous_curve(scale: int, shift: int) -> None:
    """Post-processing, checked by exact sums up to their rounding; a scale 5% below breaks it at a fine lattice."""
    for epsilon in (0.0, 0.1, 0.5, 1.0, 3.0, 8.0):
        curve = gaussian.delta(epsilon, shift / scale)
        assert delta_1d(RoundedGaussian((scale,)), shift, epsilon) <= curve * (1 + 1e-9) + 1e-15
    if scale == 50:
        assert delta_1d(RoundedGaussian((47,)), shift, 0.1) > gaussian.delta(0.1, shift / 50)


def test_laplace_ratio_is_within_epsilon_and_reaches_it() -> None:
    """In two dimensions, over the lattice: the largest log ratio is l1 / base; half the noise breaks the promise."""
    sensitivity = Sensitivity(Fraction(30), Fraction(900), (Fraction(1), Fraction(2)))
    noise = DiscreteLaplace.calibrate(PureDP(0.7), sensitivity)
    assert noise.scales == (43, 86)
    k = np.stack(np.meshgrid(np.arange(-60, 61), np.arange(-90, 91), indexing="ij"), axis=-1)
    for shift in ((30, 0), (0, 60), (10, 40), (-17, 26)):
        ratio = (noise.log_pmf(k) - noise.log_pmf(k - np.array(shift))).sum(axis=-1)
        largest = float(np.max(np.abs(ratio)))
        assert largest <= float(noise.event(sensitivity).epsilon()) + 1e-12 <= 0.7 + 1e-12
        assert largest > 0.99 * 0.7
        small = DiscreteLaplace((21, 43))
        assert np.max(np.abs((small.log_pmf(k) - small.log_pmf(k - np.array(shift))).sum(axis=-1))) > 0.7


budgets = {
    "discrete-laplace": st.builds(PureDP, st.floats(1e-6, 50)),
    "discrete-gaussian": st.one_of(
        st.builds(ZCDP, st.floats(1e-9, 100)), st.builds(RenyiDP, st.floats(1.001, 1e4), st.floats(1e-6, 50))
    ),
    "rounded-gaussian": st.one_of(st.builds(GDP, st.floats(1e-6, 50)), st.builds(ZCDP, st.floats(1e-9, 100))),
}
rationals = st.fractions(Fraction(1, 50), 50, max_denominator=1000)


@pytest.mark.parametrize("kind", sorted(NOISES))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_calibrated_scales_are_the_least_whole_numbers(kind: str, data: st.DataObject) -> None:
    """Exact budgets: the event satisfies them, and one less in any entry does not."""
    budget: Guarantee = data.draw(budgets[kind])
    weights = tuple(data.draw(st.lists(rationals, min_size=1, max_size=4)))
    size = data.draw(st.integers(1, 2**40))
    sensitivity = Sensitivity(data.draw(rationals) * size, data.draw(rationals) * size**2, weights)
    noise = NOISES[kind].calibrate(budget, sensitivity)
    assert noise.event(sensitivity).satisfies(budget)
    for entry, scale in enumerate(noise.scales):
        if scale > 1:
            less = NOISES[kind]((*noise.scales[:entry], scale - 1, *noise.scales[entry + 1 :]))
            assert not less.event(sensitivity).satisfies(budget)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 10), st.floats(-15, -1), st.integers(1, 2**30), st.integers(1, 40))
def test_approximate_budgets_are_met(epsilon: float, exponent: float, shift: int, entries: int) -> None:
    """Fine or coarse lattice, few or many entries: the discrete Gaussian always ends up within (epsilon, delta)."""
    budget = ApproxDP(epsilon, 10**exponent)
    sensitivity = Sensitivity(Fraction(shift), Fraction(shift) ** 2, (Fraction(1),) * entries)
    for kind in sorted(NOISES):
        noise = NOISES[kind].calibrate(budget, sensitivity)
        assert noise.event(sensitivity).satisfies(budget)
        assert len(set(noise.scales)) == 1


def test_exact_cases() -> None:
    """Whole answers come out whole: no float is in the way."""
    sensitivity = one_entry(2**50)
    assert DiscreteLaplace.calibrate(PureDP(0.5), sensitivity).scales == (2**51,)
    assert DiscreteLaplace.calibrate(ApproxDP(0.5, 1e-6), sensitivity).scales == (2**51,)
    assert DiscreteGaussian.calibrate(ZCDP(0.125), sensitivity).scales == (2**51,)
    assert DiscreteGaussian.calibrate(RenyiDP(4.0, 0.5), sensitivity).scales == (2**51,)
    assert RoundedGaussian.calibrate(GDP(0.5), sensitivity).scales == (2**51,)
    assert RoundedGaussian.calibrate(GDP(0.5), sensitivity).event(sensitivity).mu() == 0.5
    third = Sensitivity(Fraction(1), Fraction(1, 9), (Fraction(1), Fraction(10)))
    assert RoundedGaussian.calibrate(GDP(1.0), third).scales == (1, 4)


@pytest.mark.parametrize(
    ("kind", "budget", "words"),
    [
        ("discrete-laplace", ZCDP(0.5), "to be PureDP or ApproxDP"),
        ("discrete-laplace", GDP(1.0), "to be PureDP or ApproxDP"),
        ("discrete-gaussian", PureDP(1.0), "to be ApproxDP, ZCDP or RenyiDP for discrete-gaussian noise."),
        ("discrete-gaussian", GDP(1.0), "for GDP use rounded-gaussian"),
        ("rounded-gaussian", PureDP(1.0), "to be ApproxDP, ZCDP, RenyiDP or GDP"),
    ],
)
def test_budgets_out_of_reach_are_refused(kind: str, budget: Guarantee, words: str) -> None:
    with pytest.raises(InputError, match=words):
        NOISES[kind].calibrate(budget, one_entry(10))


def test_noise_past_the_largest_scale_is_refused() -> None:
    with pytest.raises(InputError, match=r"2\^120"):
        DiscreteLaplace.calibrate(PureDP(1e-30), one_entry(2**60))


@pytest.mark.parametrize("kind", sorted(NOISES))
def test_entries_must_match_the_sensitivity(kind: str) -> None:
    with pytest.raises(InputError, match="to have 1 entries"):
        NOISES[kind]((3, 4)).event(one_entry(10))
