"""Private chains keep their posterior: exact starts stay exact, with the privacy noise on and off.

2,000 chains start from exact draws of a logistic posterior with two parameters, known on a grid (`private_toy`). After
some steps their ends must have the same law. Each coordinate's distribution function at the ends is uniform then, and
so is its distance from 1/2; the four Kolmogorov-Smirnov tests have a level of 1e-4 each, so that a right chain fails
with a probability of at most 4e-4 at a new seed; seeds are fixed. Planted faults must fall below 1e-7.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import kstest

from private_toy import Posterior, Prior, Toy
from tacit.noise.entropy import OSEntropy
from tacit.private_samplers.barker_correction import NOISE_SD, correction
from tacit.private_samplers.entropy_arrays import EntropyNumbers
from tacit.private_samplers.private_hamiltonian import hamiltonian_chain
from tacit.private_samplers.private_langevin import langevin_chain, longest_step
from tacit.private_samplers.private_tests import Barker, Penalty
from tacit.private_samplers.private_walk import walk
from tacit.private_samplers.sampled_ratio import SampledRatio

POSTERIOR = Posterior()
CHAINS, LEVEL, FAULT = 2000, 1e-4, 1e-7


def p_value(run, seed=1, chains=CHAINS):
    """The least of the four p-values for ``run(start, rng) -> end``."""
    rng = np.random.default_rng(seed)
    starts = POSTERIOR.draws(chains, rng)
    ends = np.array([run(start, rng) for start in starts])
    assert np.mean(np.any(ends != starts, axis=1)) > 0.9, "most chains must have moved"
    uniform = [POSTERIOR.cdf(j, ends[:, j]) for j in (0, 1)]
    return min(float(kstest(u, "uniform").pvalue) for one in uniform for u in (one, np.abs(2 * one - 1)))


def walked(multiplier, rate, size, test, steps=25):
    return lambda start, rng: walk(
        Toy(multiplier, rate, rng), Prior(), start, steps=steps, size=size, test=test, rng=rng
    )[-1]


class Unpenalised(Penalty):
    """The fault: the noise is not paid for."""

    def accepts(self, log_ratio, sd, rng):
        return super().accepts(log_ratio + sd * sd / 2, sd, rng)


class Uncorrected(Barker):
    """The fault: normal noise alone, where a logistic one is needed."""

    def accepts(self, log_ratio, sd, rng):
        return log_ratio + math.sqrt(max(0.0, NOISE_SD**2 - sd * sd)) * rng.standard_normal() > 0


class BiasedSample(Toy):
    """The fault: a sample's differences over the rate, as if they were all rows' (the usual minibatch shortcut)."""

    def log_ratio(self, theta, proposal):
        from private_toy import Y, losses

        taken = self.rng.random(len(Y)) < self.rate
        d = self.weight * (losses(theta) - losses(proposal))
        return float(d[taken].sum()) / self.rate + self.ratio_sd(theta, proposal) * self.rng.standard_normal()


@pytest.mark.parametrize(
    ("multiplier", "rate", "size", "test"),
    [
        (0.0, 1.0, 0.6, Penalty()),
        (2.5, 1.0, 0.5, Penalty()),
        pytest.param(0.0, 0.6, 0.35, Penalty(), marks=pytest.mark.slow),
        (1.0, 0.6, 0.35, Penalty()),
        pytest.param(0.0, 1.0, 0.6, Barker(), marks=pytest.mark.slow),
        (1.5, 1.0, 0.5, Barker()),
        pytest.param(0.5, 0.6, 0.35, Barker(), marks=pytest.mark.slow),
    ],
    ids=["no noise", "penalty", "fast-mh, no noise", "fast-mh", "barker, no noise", "barker", "barker on a sample"],
)
def test_walks_keep_the_posterior(multiplier, rate, size, test):
    """Seed 1."""
    assert p_value(walked(multiplier, rate, size, test)) > LEVEL


@pytest.mark.parametrize("fault", ["penalty forgotten", "correction forgotten", "sample taken for all rows"])
def test_faults_of_walks_are_seen(fault):
    """Seed 1."""
    if fault == "penalty forgotten":
        run = walked(2.5, 1.0, 0.5, Unpenalised())
    elif fault == "correction forgotten":
        run = walked(1.5, 1.0, 0.5, Uncorrected())
    else:

        def run(start, rng):
            evidence = BiasedSample(0.0, 0.15, rng)
            evidence.ratio_sd = lambda theta, proposal: 0.0  # type: ignore[method-assign]
            return walk(evidence, Prior(), start, steps=25, size=0.5, test=Penalty(), rng=rng)[-1]

    assert p_value(run) < FAULT


def leapt(multiplier, rate, size, fault=False):
    def run(start, rng):
        evidence = Toy(multiplier, rate, rng)
        if fault:  # the test's noise is not told to the penalty
            evidence = Untold(multiplier, rate, rng)
        return hamiltonian_chain(evidence, Prior(), start, steps=8, size=size, leaps=3, rng=rng)[-1]

    return run


class Untold(Toy):
    def ratio_sd(self, theta, proposal):
        return 0.0

    def log_ratio(self, theta, proposal):
        true = super().ratio_sd(theta, proposal)
        return super().log_ratio(theta, proposal) + true * self.rng.standard_normal()


@pytest.mark.parametrize(
    ("multiplier", "rate", "size"),
    [pytest.param(0.0, 1.0, 0.4, marks=pytest.mark.slow), (1.0, 1.0, 0.3), (0.5, 0.8, 0.2)],
)
def test_hamiltonian_chains_keep_the_posterior(multiplier, rate, size):
    """Seed 1. With noise in every gradient, and on samples of rows."""
    assert p_value(leapt(multiplier, rate, size)) > LEVEL


def test_a_hamiltonian_test_that_forgets_its_noise_is_seen():
    """Seed 1."""
    assert p_value(leapt(4.0, 1.0, 0.35, fault=True)) < FAULT


def stepped(multiplier, size, steps, kept=True):
    def run(start, rng):
        evidence = Toy(multiplier, 1.0, rng)
        if not kept:  # the fault: Langevin noise in full on top of the privacy noise
            evidence = Doubled(multiplier, 1.0, rng)
        return langevin_chain(evidence, Prior(), start, steps=steps, size=size, rng=rng)[-1]

    return run


class Doubled(Toy):
    gradient_sd = 0.0

    def gradient(self, theta):
        return super().gradient(theta) + Toy.gradient_sd.fget(self) * self.rng.standard_normal(2)  # type: ignore[attr-defined]


@pytest.mark.parametrize("multiplier", [pytest.param(0.0, marks=pytest.mark.slow), 30.0])
def test_langevin_chains_nearly_keep_the_posterior(multiplier):
    """Seed 1. Steps of 0.01 make variances about 1.5% too large (h times the curvature, 6, over 4), a third of what
    2,000 ends could show at this level. With a multiplier of 30 most of the noise is the privacy noise."""
    size = 0.01
    assert size <= longest_step(Toy(multiplier, 1.0, None).gradient_sd)
    assert p_value(stepped(multiplier, size, 50)) > LEVEL


def test_noise_that_is_counted_twice_is_seen():
    """Seed 1. The planted fault of a Langevin chain."""
    assert p_value(stepped(30.0, 0.01, 50, kept=False)) < FAULT


def test_the_longest_step_needs_no_other_noise():
    evidence = Toy(8.0, 0.5, None)
    size = longest_step(evidence.gradient_sd)
    assert size - (size * evidence.gradient_sd / 2) ** 2 == pytest.approx(0.0, abs=1e-15)
    assert longest_step(0.0) == math.inf


def test_the_correction_makes_normal_noise_logistic():
    """No randomness: the law of the sum on a grid that the program did not use. Without the correction, or with that
    of another standard deviation, it is off by a thousand times more."""
    law = correction(NOISE_SD)
    z = np.linspace(-25, 25, 7919)
    chances = ndtr((z[:, None] - law.points) / NOISE_SD) @ law.weights
    off = float(np.max(np.abs(chances - expit(z))))
    assert off <= law.error < 2.5e-5
    assert law.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(law.weights >= 0)
    assert float(law.weights @ law.points**2) == pytest.approx(math.pi**2 / 3 - NOISE_SD**2, rel=1e-3)
    assert float(np.max(np.abs(ndtr(z / NOISE_SD) - expit(z)))) > 0.05
    other = correction(1.0)
    assert float(np.max(np.abs(ndtr((z[:, None] - other.points) / NOISE_SD) @ other.weights - expit(z)))) > 0.01


def test_numbers_from_the_operating_system():
    """Fresh entropy; false-alarm rate 2e-6. They come one by one and in arrays, each once."""
    numbers = EntropyNumbers(OSEntropy())
    normal = np.concatenate(
        [numbers.standard_normal((700, 3)).ravel(), [numbers.standard_normal() for _ in range(900)]]
    )
    uniform = np.array([numbers.random() for _ in range(3000)])
    assert kstest(normal, "norm").pvalue > 1e-6
    assert kstest(uniform, "uniform").pvalue > 1e-6
    assert len(np.unique(normal)) == 3000
    assert len(np.unique(uniform)) == 3000
    assert numbers.standard_normal(5).shape == (5,)


def test_a_penalty_has_detailed_balance_whatever_the_noise():
    """No randomness: the chance of acceptance by quadrature, a(r) = e^r a(-r)."""
    z, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    for sd in (0.3, 1.0, 2.0):
        for r in (0.4, 1.7):
            there = weights @ np.minimum(1.0, np.exp(r + sd * z - sd**2 / 2))
            back = weights @ np.minimum(1.0, np.exp(-r + sd * z - sd**2 / 2))
            assert there == pytest.approx(math.exp(r) * back, rel=3e-3)
            closed = ndtr((r - sd**2 / 2) / sd) + math.exp(r) * ndtr((-r - sd**2 / 2) / sd)
            assert there == pytest.approx(closed, rel=3e-3)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
def test_a_sampled_ratio_is_exact_on_average_and_bounded(rate):
    """No randomness: for every difference d the mean of exp(term) is exp(d), terms are odd in d, none beats the bound,
    which the largest difference reaches, and no row is kept more often than the rate."""
    ceiling = -math.log1p(-rate)
    ratio = SampledRatio(0.4 * ceiling, rate)
    assert ratio.near
    assert not SampledRatio(0.6 * ceiling, rate).near
    d = np.linspace(-ratio.bound, ratio.bound, 41)
    kept = -np.expm1(-(ceiling - (ratio.bound + d) / 2))
    h = ratio.terms(d, np.zeros(41))
    assert np.all(kept <= rate * (1 + 1e-12))
    assert kept * np.exp(h) + 1 - kept == pytest.approx(np.exp(d), rel=1e-12)
    assert h == pytest.approx(-h[::-1], abs=1e-12)
    assert np.abs(h).max() <= ratio.largest <= np.abs(h).max() * (1 + 1e-9)
    assert np.all(ratio.terms(d, np.full(41, 0.999999)) == np.where(0.999999 * rate < kept, h, 0.0))
    assert np.all(np.abs(ratio.terms(d * 50, np.zeros(41))) <= ratio.largest), "far differences are clipped"
