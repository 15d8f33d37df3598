"""What was charged before allowances for rounding were proved, as it was computed then: no less than now, but where
docs/proofs.md says that a price rose because its allowance had been too small or unproved.
"""

from __future__ import annotations

import mpmath as mp
import pytest

from tacit.privacy.beta_divergence import AnyDensity, LocationScale, Probabilities, SmoothedProbabilities, gaussian
from tacit.privacy.dominating_pair import DominatingPair
from tacit.privacy.subsampled_gaussian import SubsampledGaussian

# multiplier, rate, steps, epsilon: delta before
STEPS = {
    (1.0, 0.01, 100, 1.0): 3.108868771122792e-06,
    (2.0, 0.1, 50, 0.5): 0.12138040490892109,
    (5.0, 0.5, 20, 0.3): 0.24994034691799707,
    (2.0, 0.1, 50, 6.0): 2.786266561456307e-16,
    (1.12, 0.06545, 5, 2.234): 1.3194495413948692e-07,
}
STEPS_THAT_ROSE = {
    (1.068, 0.01177, 10, 0.351): 1.9362710631044246e-05,
    (1.116, 0.01516, 9, 1.228): 2.661038777499569e-09,
    (1.704, 0.0022, 6, 0.625): 1.7775145949239124e-26,
}
# multiplier, rate, order: Renyi divergence of one step before
RENYI = {
    (1.0, 0.01, 1.5): 0.00034282165307622124,
    (1.0, 0.01, 2.0): 0.0004575543829950967,
    (0.8, 0.1, 8.0): 3.724017525727925,
    (2.0, 0.5, 32.0): 3.97774959407761,
    (5.0, 0.02, 3.7): 0.00011833613818843979,
    (0.5, 0.001, 1.1): 4.518105047786408e-05,
    (1.0, 1e-5, 64.0): 20.30433970673378,
}
# multiplier, rate, epsilon: delta of one step before; the first two were too low
ONE_STEP = {
    (1.414, 0.00019, 0.0023): 2.2774356178375567e-08,
    (5.537, 0.00043, 0.0012): 4.084156823316434e-15,
    (1.0, 0.1, 0.5): 0.003341971791013809,
    (0.5, 0.5, 3.0): 0.09508627559190688,
    (3.0, 0.01, 0.001): 0.0021437679394492593,
}
KINDS = {
    "probabilities": Probabilities(),
    "smoothed": SmoothedProbabilities(0.05, 3),
    "normal": gaussian(0.1),
    "location and scale": LocationScale(2.0),
    "any": AnyDensity(1.5),
}
# range of the loss at beta = 1.01, 2, 11 and 101 before
RANGES = {
    "probabilities": (100.00000000009992, 1.000000000001, 0.10000000000010001, 0.010000000000010001),
    "smoothed": (2.8459999297522756, 0.8500000000008501, 0.034867844010025115, 2.656139888761411e-07),
    "normal": (101.39326325138785, 3.9894228040183166, 102117.61384552046, 1.233123522101577e58),
    "location and scale": (100.69555500577249, 2.000000000002, 102.40000000010241, 1.2676506002294972e28),
    "any": (101.40040989573713, 2.25000000000225, 11.008780184670101, 8090969968778217.0),
}
SMOOTHED_THAT_ROSE = {2001.0: 1.5275269563008574e-95, 3001.0: 1.779946968766492e-141}
LAST_DIGIT = 1e-15


def exact(multiplier, rate, epsilon):
    """The delta of one step, to 60 digits."""
    mp.mp.dps = 60
    s, q, e = mp.mpf(multiplier), mp.mpf(rate), mp.mpf(epsilon)
    x = s**2 * (e / 2 + mp.asinh((1 - q) / q * mp.exp(1 / (2 * s**2)) * mp.sinh(e / 2)))
    gained, kept, lost = (mp.erfc((x - centre) / s / mp.sqrt(2)) / 2 for centre in (1, 0, -1))
    return q * gained + (1 - q) * kept - mp.exp(e) * (q * lost + (1 - q) * kept)


@pytest.mark.parametrize("case", STEPS)
def test_many_steps_cost_no_more_than_before(case):
    """And little less: an allowance of 2 in 10^7, planted, would be seen."""
    *pair, epsilon = case
    now = SubsampledGaussian(*pair).delta(epsilon)
    assert 1 - 2e-7 < now / STEPS[case] <= 1


@pytest.mark.parametrize("case", RENYI)
def test_a_step_s_renyi_curve_costs_no_more_than_before(case):
    *pair, order = case
    assert 1 - 2e-9 < DominatingPair(*pair).renyi(order) / RENYI[case] < 1


@pytest.mark.parametrize("kind", RANGES)
def test_ranges_of_the_beta_divergence_cost_no_more_than_before(kind):
    """Probabilities cost the same for every beta."""
    for beta, before in zip((1.01, 2.0, 11.0, 101.0), RANGES[kind], strict=True):
        assert abs(KINDS[kind].at(beta) / before - 1) <= LAST_DIGIT
    for b in (1e3, 1e6):
        assert Probabilities().at(1 + b) == pytest.approx((1 + 1e-12) / b, rel=LAST_DIGIT)


def test_what_rose_corrected_an_allowance_and_rose_as_far_as_is_said():
    """The delta of one step, which had no allowance, was too low in two of these; ranges for a large beta; small deltas
    of few steps at a small rate.
    """
    under = 0
    for (*pair, epsilon), before in ONE_STEP.items():
        now, truth = DominatingPair(*pair).delta(epsilon), exact(*pair, epsilon)
        assert SubsampledGaussian(*pair, 1).delta(epsilon) == now
        assert truth <= now <= truth * (1 + 3e-8)
        assert 1 < now / before < 1 + 3e-8
        under += before < truth
    assert under == 2
    for beta, before in SMOOTHED_THAT_ROSE.items():
        assert 1 < KINDS["smoothed"].at(beta) / before < 1 + 3e-11
    for (*pair, epsilon), before in STEPS_THAT_ROSE.items():
        now = SubsampledGaussian(*pair).delta(epsilon)
        assert 1 < now / before < (1.2 if before < 1e-20 else 1 + 2e-8)
