"""The exact part of an audit: cells, curves and shares, against numbers that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from hockey_stick import hockey_stick
from tacit.audit.bayesian import epsilon_interval, probability_below
from tacit.audit.cells import density_cells, finite_cells, shifted_cells
from tacit.audit.claims import at_point, used
from tacit.audit.conjugate_laws import LineLaw, pair_cells
from tacit.audit.curve import Curve, curve_of
from tacit.audit.draws import category_test, noise_tests
from tacit.audit.empirical import Attack, epsilon_lower_bound
from tacit.audit.guess import learnt_scores, threshold_attack
from tacit.audit.laws import noise_parts, report_parts
from tacit.errors import InputError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.entropy import OSEntropy
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy import gaussian
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.unary_encoding import UnaryEncoding


def test_one_entry_agrees_with_the_sum_over_the_lattice():
    noise = DiscreteLaplace((300,))
    curve = curve_of(noise_parts(noise, (200,)))
    for epsilon in (0.0, 0.3, 0.6):
        assert curve.delta(epsilon) == pytest.approx(hockey_stick(noise, (200,), [epsilon])[0], rel=1e-9)
    assert curve.epsilon == pytest.approx(200 / 300, rel=1e-12)
    assert curve.delta(0.67) == 0


@pytest.mark.parametrize("kind", [DiscreteGaussian, RoundedGaussian])
def test_a_fine_lattice_reaches_the_line_and_does_not_pass_it(kind):
    """Scales of 2^30: the curve of the Gaussian mechanism, to one part in a million."""
    scale = 2**30
    curve = curve_of(noise_parts(kind((scale,)), (scale,)))
    for epsilon in (0.0, 1.0, 3.0):
        exact = gaussian.delta(epsilon, 1.0)
        assert exact * (1 - 1e-5) < curve.delta(epsilon) < exact * (1 + 1e-7)
    assert curve.mu() == pytest.approx(1.0, rel=1e-6)
    assert curve.renyi(3.0) == pytest.approx(1.5, rel=1e-5)


def test_several_entries_are_one_longer_shift():
    """Entries that move by 3/13, 4/13 and 12/13 of a scale are one that moves by a whole scale.

    Three losses are rounded down to a grid of about 1e-4 each, which takes up to 5e-4 off delta here.
    """
    scale = 13 * 2**26
    shift = tuple(part * 2**26 for part in (3, 4, 12))
    curve = curve_of(noise_parts(RoundedGaussian((scale,) * 3), shift))
    for epsilon in (0.2, 1.0, 2.5):
        assert curve.delta(epsilon) == pytest.approx(gaussian.delta(epsilon, 1.0), rel=5e-4)
        assert curve.delta(epsilon) < gaussian.delta(epsilon, 1.0) * (1 + 1e-9), "rounded down: never above the truth"


def test_two_small_entries_agree_with_the_sum_over_the_lattice():
    noise = DiscreteLaplace((6, 9))
    exact = hockey_stick(noise, (3, 4), [0.1, 0.5, 0.9])
    curve = curve_of(noise_parts(noise, (3, 4)))
    found = [curve.delta(e) for e in (0.1, 0.5, 0.9)]
    np.testing.assert_allclose(found, exact, rtol=2e-3)
    assert all(a <= b * (1 + 1e-12) for a, b in zip(found, exact, strict=True))


def test_both_directions_count():
    """P has an outcome that Q lacks, and not the reverse: seen from Q alone it would be private."""
    one_way = finite_cells(np.log([0.5, 0.5 - 1e-3, 1e-3]), np.log([0.5, 0.5, 1e-300]))
    assert Curve((one_way,)).epsilon > 600
    assert Curve((one_way.swapped,)).epsilon > 600
    assert Curve((one_way,)).delta(1.0) == pytest.approx(Curve((one_way.swapped,)).delta(1.0))
    never = finite_cells(np.log([0.6, 0.4]), np.array([0.0, -np.inf]))
    assert Curve((never,)).epsilon == math.inf
    assert Curve((never,)).delta(5.0) == pytest.approx(0.4)


def test_randomised_reports_use_all_of_their_epsilon():
    for protocol in (RandomizedResponse(5, 1.5), UnaryEncoding(20, 1.5)):
        curve = curve_of(report_parts(protocol, (0,), (3,)))
        assert curve.epsilon == pytest.approx(1.5, rel=1e-12)
        assert curve.delta(1.5) < 1e-12
        assert curve.delta(1.4) > 1e-3


@pytest.mark.parametrize(
    ("promise", "scale"),
    [
        (tacit.PureDP(1.0), None),
        (tacit.ApproxDP(1.0, 1e-5), 1 / gaussian.mu_for(1.0, 1e-5)),
        (tacit.ZCDP(0.5), 1.0),
        (tacit.GDP(1.0), 1.0),
        (tacit.RenyiDP(4.0, 2.0), 1.0),
    ],
    ids=str,
)
def test_noise_that_is_just_enough_uses_all_and_a_percent_less_uses_more(promise, scale):
    """The planted fault: a scale one percent too small, under every definition."""

    def share(factor):
        if scale is None:
            noise = DiscreteLaplace((round(2**30 * factor),))
        else:
            noise = RoundedGaussian((round(scale * 2**30 * factor),))
        return used(curve_of(noise_parts(noise, (2**30,))), promise)

    assert 0.999 < share(1.0) <= 1 + 1e-7
    assert share(0.99) > 1.005
    assert share(2.0) < 0.6


def test_an_unknown_promise_is_refused():
    with pytest.raises(InputError):
        used(curve_of(noise_parts(DiscreteLaplace((5,)), (1,))), None)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        at_point(None)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        finite_cells([0.0], [0.5])
    with pytest.raises(InputError):
        Curve(())


def test_beta_laws_have_the_known_hockey_stick():
    """Beta(6, 12) prior, n = 100, weight 1, epsilon 1: delta 0.005117 at the worst pair, computed to 6 digits."""
    found = Curve((pair_cells(LineLaw("beta", (6.0, 112.0)), LineLaw("beta", (7.0, 111.0))),))
    assert found.delta(1.0) == pytest.approx(0.005117, abs=1e-6)


def test_normal_and_gamma_laws_integrate_to_one():
    for law in (LineLaw("normal", (2.0, 0.3)), LineLaw("gamma", (0.7, 3.0)), LineLaw("beta", (0.2, 5.0))):
        low, high = law.reach()
        cells = density_cells(law.log_density, law.log_density, np.linspace(low, high, 4001))
        assert np.exp(cells.log_p).sum() == pytest.approx(1.0, abs=1e-10)


def test_a_cell_s_integral_is_its_sum():
    """A lattice just too fine to enumerate: the sums of the two ways agree to 1e-8."""
    noise = DiscreteLaplace((20_000,))
    fine = shifted_cells(lambda v: noise.log_pmf(v[:, None])[:, 0], 20_000, noise.reach(45.0)[0])
    small = DiscreteLaplace((10_000,))
    single = shifted_cells(lambda v: small.log_pmf(v[:, None])[:, 0], 10_000, small.reach(45.0)[0])
    assert len(fine.log_p) < len(single.log_p)
    assert np.exp(fine.log_p).sum() == pytest.approx(1.0, abs=1e-8)
    assert Curve((fine,)).delta(0.4) == pytest.approx(Curve((single,)).delta(0.4), rel=1e-4)


# ---------------------------------------------------------------------------------------------------------------------
# Counting


def test_the_credible_interval_of_a_clear_attack():
    """The epsilon of the rates themselves, log(0.9 / 0.05), lies inside; more runs make the interval shorter."""
    truth = math.log(0.9 / 0.05)
    few = epsilon_interval(Attack(10, 100, 5, 100), delta=0.0, probability=0.95)
    many = epsilon_interval(Attack(1000, 10_000, 500, 10_000), delta=0.0, probability=0.95)
    assert few[0] < many[0] < truth < many[1] < few[1]
    assert probability_below(Attack(10, 100, 5, 100), 40.0, delta=0.0) == pytest.approx(1.0, abs=1e-6)


def test_the_credible_interval_holds_the_truth_of_randomised_response():
    """Seed 2: epsilon 1, 400 attacks of 400 runs: the lower end of a 95% interval exceeds it in at most 2.5%, and
    5 standard errors."""
    rng = np.random.default_rng(2)
    wrong = rng.binomial(400, 1 / (1 + math.e), (400, 2))
    below = [probability_below(Attack(int(a), 400, int(b), 400), 1.0, delta=0.0) for a, b in wrong]
    # The shown epsilon is a maximum of two, so the interval leans upwards: too low a truth is the rarer error.
    share = np.mean(np.array(below) < 0.025)
    assert share < 0.025 + 5 * math.sqrt(0.025 / 400)
    with pytest.raises(InputError):
        epsilon_interval(Attack(1, 2, 1, 2), delta=0.0, probability=1.0)
    with pytest.raises(InputError):
        epsilon_interval(Attack(1, 2, 1, 2), delta=-0.1, probability=0.9)


def test_a_threshold_is_chosen_on_one_half_and_judged_on_the_other():
    """Seed 3. Scores without information prove nothing, whichever threshold looks best on the first half."""
    rng = np.random.default_rng(3)
    blind = threshold_attack(rng.normal(size=2000), rng.normal(size=2000), delta=0.0, confidence=0.999)
    assert blind.negatives == 1000
    assert abs(blind.false_positives / 1000 + blind.false_negatives / 1000 - 1) < 0.15
    seeing = threshold_attack(rng.normal(size=2000), 3 + rng.normal(size=2000), delta=0.0, confidence=0.999)
    assert epsilon_lower_bound(seeing, delta=0.0, confidence=0.999) > 3
    assert epsilon_lower_bound(blind, delta=0.0, confidence=0.999) == 0


def test_learnt_scores_see_a_shift_and_a_spread():
    """Seed 4: outputs that differ in the mean of one number, and in the spread of another."""
    rng = np.random.default_rng(4)
    first = rng.normal(size=(2000, 3))
    second = rng.normal(size=(2000, 3)) * [1, 3, 1] + [1.5, 0, 0]
    attack = threshold_attack(*learnt_scores(first, second), delta=0.0, confidence=0.999)
    assert epsilon_lower_bound(attack, delta=0.0, confidence=0.999) > 2


def test_categories_are_counted_and_the_impossible_is_noticed():
    """Seed 5. A right law is accepted and one that is off by a fifth is not; a code without probability settles it."""
    rng = np.random.default_rng(5)
    codes = rng.choice(4, 20_000, p=[0.1, 0.2, 0.3, 0.4])
    assert category_test(codes, [0.1, 0.2, 0.3, 0.4]) > 1e-6
    assert category_test(codes, [0.12, 0.18, 0.3, 0.4]) < 1e-6
    assert category_test(codes, [0.1, 0.2, 0.7, 0.0]) == 0


@pytest.mark.parametrize(
    "noise", [DiscreteLaplace((2**30, 2**20)), RoundedGaussian((2**12, 2**30)), DiscreteGaussian((3,))]
)
def test_real_noise_passes_and_noise_a_tenth_too_small_does_not(noise):
    """Fresh entropy; false-alarm rate below 1e-6 a test of four. The planted fault has power beyond 1 - 1e-6."""
    drawn = noise.sample(12_000, OSEntropy())
    assert min(noise_tests(drawn, noise).values()) > 2.5e-7
    less = type(noise)(tuple(round(s * 0.85) if s > 3 else 2 for s in noise.scales))
    assert noise_tests(less.sample(12_000, OSEntropy()), noise)["fit"] < 1e-6
