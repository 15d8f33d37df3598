"""Optimal unary encoding has its law, its price, and the published likelihood and estimator (as corrected)."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.errors import InputError
from tacit.noise.entropy import OSEntropy
from tacit.privacy.guarantees import GDP, ApproxDP, PureDP
from tacit.protocols.unary_encoding import UnaryEncoding

LEVEL = 1e-7
DRAWS = 300_000
CASES = [(2, 1.0), (3, 0.5), (4, Fraction(3, 2)), (6, 3), (5, 0.1)]

# log p(z | shares), with the category summed out at 50 digits
LIKELIHOODS = [
    ((0.5, 0.2, 0.2, 0.1), 0.8, (1, 0, 1, 0), -2.7870138523379313),
    ((0.5, 0.2, 0.2, 0.1), 0.8, (0, 0, 0, 0), -1.8064491784032786),
    ((0.7, 0.2, 0.1), 0.5, (1, 1, 1), -2.6413011489201588),
    ((0.25, 0.25, 0.25, 0.25), 3.0, (0, 1, 0, 0), -2.0859972821816055),
]
# epsilon, share f of a category, expected share of ones, variance of the estimate of f from 1000 reports
ESTIMATES = [
    (0.5, 0.0, 0.3775406687981454, 0.015670792356131048),
    (0.5, 0.3, 0.4142784681587018, 0.016180792356131048),
    (0.5, 1.0, 0.5, 0.01667079235613105),
    (1.0, 0.3, 0.3382589949589966, 0.004192694376831168),
    (1.0, 1.0, 0.5, 0.004682694376831168),
    (4.0, 0.0, 0.01798620996209156, 7.60218298380711e-05),
    (4.0, 1.0, 0.5, 0.001076021829838071),
]


def alphabet(levels: int) -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=levels)))


def truths(levels: int) -> np.ndarray:
    return np.arange(levels)[:, None]


def p_value(reports: np.ndarray, truth: int, law: UnaryEncoding) -> float:
    """Chi-square over all rows of bits, those with fewer than 20 expected counts put together."""
    words = alphabet(law.levels)
    wanted = len(reports) * np.exp(law.log_pmf(words, np.array([truth])))
    weights = 2 ** np.arange(law.levels - 1, -1, -1)
    counts = np.bincount(reports @ weights, minlength=len(words))
    rare = wanted < 20
    if rare.any():
        wanted = np.append(wanted[~rare], wanted[rare].sum())
        counts = np.append(counts[~rare], counts[rare].sum())
    return float(chisquare(counts, wanted).pvalue)


@pytest.mark.parametrize(("levels", "epsilon"), CASES)
def test_reports_follow_the_law(levels: int, epsilon: float) -> None:
    """Fresh entropy; a chi-square over all 2^levels reports for each of two truths, false alarms 2e-7.

    Planted faults: another truth, an epsilon 10% off either way (from epsilon = 0.5 on), and bits of one report that
    are the same coin.
    """
    law = UnaryEncoding(levels, epsilon)
    for truth in (0, levels - 1):
        reports = law.randomize(np.full((DRAWS, 1), truth), OSEntropy())
        assert p_value(reports, truth, law) > LEVEL
        if epsilon >= 0.5:
            assert p_value(reports, (truth + 1) % levels, law) < LEVEL
            for fault in (Fraction(9, 10), Fraction(11, 10)):
                assert p_value(reports, truth, UnaryEncoding(levels, law.epsilon * fault)) < LEVEL
        if levels > 2:
            tied = reports.copy()
            others = [k for k in range(levels) if k != truth]
            tied[:, others[1]] = tied[:, others[0]]
            assert p_value(tied, truth, law) < LEVEL


@pytest.mark.parametrize(("levels", "epsilon"), CASES)
def test_probabilities_sum_to_one_and_stay_within_epsilon(levels: int, epsilon: float) -> None:
    """The whole alphabet of 2^levels reports, every pair of truths. The planted fault, a true bit that is 1 with
    probability 0.55, exceeds epsilon."""
    law = UnaryEncoding(levels, epsilon)
    words = alphabet(levels)
    table = law.log_pmf(words[:, None], truths(levels))
    assert np.exp(table).sum(axis=0) == pytest.approx(np.ones(levels), rel=1e-13)
    assert float(np.max(table.max(axis=1) - table.min(axis=1))) == pytest.approx(float(epsilon), rel=1e-12)
    own = words[:, None, :] * np.eye(levels, dtype=int)
    fault = table + np.where(own.sum(axis=2), math.log(1.1), math.log(0.9))
    assert np.exp(fault).sum(axis=0) == pytest.approx(np.ones(levels), rel=1e-13)
    assert float(np.max(fault.max(axis=1) - fault.min(axis=1))) > float(epsilon) + 0.19


def test_bits_have_the_stated_chances() -> None:
    """By their definition: a true bit 1/2, another q = 1 / (1 + e^epsilon), all independent."""
    law = UnaryEncoding(3, 0.7)
    q = 1 / (1 + math.exp(0.7))
    for word in alphabet(3):
        for truth in range(3):
            chance = [0.5 if k == truth else (q if bit else 1 - q) for k, bit in enumerate(word)]
            assert float(law.log_pmf(word, np.array([truth]))) == pytest.approx(math.log(math.prod(chance)), rel=1e-13)


@pytest.mark.parametrize(("shares", "epsilon", "report", "wanted"), LIKELIHOODS)
def test_likelihood_of_shares(
    shares: tuple[float, ...], epsilon: float, report: tuple[int, ...], wanted: float
) -> None:
    law = UnaryEncoding(len(shares), epsilon)
    given_truth = law.log_pmf(np.array(report), truths(len(shares)))
    assert float(np.log(np.exp(given_truth) @ np.array(shares))) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(("epsilon", "share", "mean", "variance"), ESTIMATES)
def test_estimator_of_a_share(epsilon: float, share: float, mean: float, variance: float) -> None:
    """Both moments from the exact law; the estimator in the class's docstring has them."""
    law = UnaryEncoding(2, epsilon)
    words = alphabet(2)
    chances = np.exp(law.log_pmf(words[:, None], truths(2))) @ np.array([share, 1 - share])
    ones = float(chances @ words[:, 0])
    assert ones == pytest.approx(mean, rel=1e-14)
    q = 1 / (1 + math.exp(epsilon))
    assert (ones - q) / (0.5 - q) == pytest.approx(share, abs=1e-14)
    assert ones * (1 - ones) / (1000 * (0.5 - q) ** 2) == pytest.approx(variance, rel=1e-12)


def test_calibration_and_price() -> None:
    assert UnaryEncoding.calibrate(4, PureDP(0.3)).epsilon == Fraction(0.3)
    for budget in (ApproxDP(1, 1e-4), GDP(1.0)):
        law = UnaryEncoding.calibrate(4, budget)
        assert law.event().satisfies(budget)
        more = UnaryEncoding(4, math.nextafter(float(law.epsilon), math.inf))
        assert not more.event().satisfies(budget)


def test_bits_at_the_ends() -> None:
    """At epsilon 1e4 no bit but one's own is ever set; many categories fit."""
    reports = UnaryEncoding(1000, 1e4).randomize(np.arange(1000)[:, None], OSEntropy())
    assert reports.shape == (1000, 1000)
    assert reports.sum() == np.trace(reports)
    assert 300 < reports.sum() < 700  # 1000 fair coins: missed with probability below 1e-35


@pytest.mark.parametrize("bits", [[[0, 2, 0]], [[-1, 0, 0]], [[0, 0]], [[0.0, 1.0, 0.0]], [[True, False, True]]])
def test_rows_that_are_not_bits_are_refused(bits: list[list[object]]) -> None:
    with pytest.raises(InputError, match=r"^Expected reports='...' to be an array of whole numbers of shape \(N, 3\)"):
        UnaryEncoding(3, 1.0).check_reports(np.array(bits))


@pytest.mark.parametrize(("levels", "epsilon"), [(1, 1.0), (True, 1.0), (2**16 + 1, 1.0), (2, 0), (2, math.nan)])
def test_impossible_parameters_are_refused(levels: object, epsilon: object) -> None:
    with pytest.raises(InputError):
        UnaryEncoding(levels, epsilon)
