"""Randomized response has its law, its price and no other."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.errors import InputError
from tacit.noise.entropy import OSEntropy
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.protocols.randomized_response import RandomizedResponse

LEVEL = 1e-7
DRAWS = 400_000
CASES = [(2, 1.0), (3, 0.1), (5, Fraction(2, 3)), (7, 3), (300, 2.5), (4, 1e-3)]


def codes(levels: int) -> np.ndarray:
    return np.arange(levels)[:, None]


def p_value(reports: np.ndarray, truth: int, law: RandomizedResponse) -> float:
    wanted = len(reports) * np.exp(law.log_pmf(codes(law.levels), np.array([truth])))
    return float(chisquare(np.bincount(reports[:, 0], minlength=law.levels), wanted).pvalue)


@pytest.mark.parametrize(("levels", "epsilon"), CASES)
def test_reports_follow_the_law(levels: int, epsilon: float) -> None:
    """Fresh entropy; one chi-square for each of three truths, false alarms 3e-7.

    Planted faults: reports of another truth, and an epsilon 10% off either way, where the data can tell (epsilon of at
    least 2/3).
    """
    law = RandomizedResponse(levels, epsilon)
    for truth in (0, levels // 2, levels - 1):
        reports = law.randomize(np.full((DRAWS, 1), truth), OSEntropy())
        assert p_value(reports, truth, law) > LEVEL
        if epsilon >= Fraction(2, 3):
            assert p_value(reports, (truth + 1) % levels, law) < LEVEL
            for fault in (Fraction(9, 10), Fraction(11, 10)):
                assert p_value(reports, truth, RandomizedResponse(levels, law.epsilon * fault)) < LEVEL


@pytest.mark.parametrize(("levels", "epsilon"), CASES)
def test_probabilities_sum_to_one_and_stay_within_epsilon(levels: int, epsilon: float) -> None:
    """The whole alphabet, every pair of truths: no log ratio exceeds epsilon, and one reaches it."""
    law = RandomizedResponse(levels, epsilon)
    table = law.log_pmf(codes(levels)[:, None], codes(levels))
    assert np.exp(table).sum(axis=0) == pytest.approx(np.ones(levels), rel=1e-13)
    largest = float(np.max(table.max(axis=1) - table.min(axis=1)))
    assert largest == pytest.approx(float(epsilon), rel=1e-12)
    keep = math.exp(epsilon) / (math.exp(epsilon) + levels - 1)
    assert float(np.exp(table[0, 0])) == pytest.approx(keep, rel=1e-13)


def test_price_is_exact() -> None:
    event = RandomizedResponse(3, 0.1).event()
    assert event.epsilon() == Fraction(0.1)
    assert event.satisfies(PureDP(0.1))
    assert not event.satisfies(PureDP(math.nextafter(0.1, 0)))


@pytest.mark.parametrize("budget", [PureDP(0.1), ApproxDP(0.5, 1e-3), ZCDP(0.2), GDP(0.5), RenyiDP(8, 0.3), ZCDP(1e-9)])
def test_calibration_takes_the_largest_epsilon(budget: object) -> None:
    """The event meets the budget, and that of the next float does not."""
    law = RandomizedResponse.calibrate(4, budget)
    assert law.event().satisfies(budget)
    more = RandomizedResponse(4, math.nextafter(float(law.epsilon), math.inf))
    assert not more.event().satisfies(budget)
    if isinstance(budget, PureDP):
        assert law.epsilon == Fraction(0.1)


def test_calibration_at_the_ends() -> None:
    assert RandomizedResponse.calibrate(2, ZCDP(1e8)).epsilon == 10**6
    assert RandomizedResponse.calibrate(2, PureDP(1e7)).epsilon == 10**6
    assert RandomizedResponse.calibrate(2, ApproxDP(1e-20, 1e-30)).event().satisfies(ApproxDP(1e-20, 1e-30))


def test_small_integers_do_not_wrap() -> None:
    """At epsilon 1e-9 reports are nearly uniform: 199 must not become -57 because the codes came as 8-bit integers."""
    reports = RandomizedResponse(200, 1e-9).randomize(np.full((2000, 1), 100, dtype=np.int8), OSEntropy())
    assert reports.shape == (2000, 1)
    assert reports.dtype == np.int64
    assert 0 <= reports.min() <= reports.max() <= 199
    assert reports.max() > 127  # missed with probability (128/200)^2000


def test_a_large_epsilon_keeps_every_answer() -> None:
    truth = np.arange(10).repeat(20)[:, None]
    assert RandomizedResponse(10, 1e4).randomize(truth, OSEntropy()).tolist() == truth.tolist()
    assert RandomizedResponse(10, 1e4).randomize(np.zeros((0, 1), int), OSEntropy()).shape == (0, 1)


@pytest.mark.parametrize("byte", [0, 255])
def test_reports_by_hand(byte: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No chance: with every bit 0 the coin says the truth; with every bit 1 it says a lie, the last one offered."""

    class Same:
        def bytes(self, count: int) -> bytes:
            return bytes([byte]) * count

    def shut(*_: object) -> bytes:
        raise AssertionError("a report asked for randomness elsewhere")

    monkeypatch.setattr(os, "urandom", shut)
    reports = RandomizedResponse(5, 1.0).randomize(np.arange(5)[:, None], Same()).ravel().tolist()
    assert reports == ([0, 1, 2, 3, 4] if byte == 0 else [4, 4, 4, 4, 3])


@pytest.mark.parametrize("truth", [[0, 3], [-1, 0], [0.5, 1.0], ["no", "yes"]])
def test_an_error_never_shows_a_code(truth: list[object]) -> None:
    with pytest.raises(InputError) as caught:
        RandomizedResponse(3, 1.0).randomize(np.array(truth)[:, None], OSEntropy())
    assert str(caught.value) == (
        "Expected inputs='...' to be an array of whole numbers of shape (N, 1), each from 0 to 2."
    )


@pytest.mark.parametrize(
    ("levels", "epsilon"),
    [
        (1, 1.0),
        (True, 1.0),
        (2.0, 1.0),
        (2**31 + 1, 1.0),
        (2, 0),
        (2, -1.0),
        (2, math.inf),
        (2, math.nan),
        (2, "1"),
        (2, True),
        (2, 2e6),
        (2, Fraction(10**400)),
    ],
)
def test_impossible_parameters_are_refused(levels: object, epsilon: object) -> None:
    with pytest.raises(InputError):
        RandomizedResponse(levels, epsilon)
