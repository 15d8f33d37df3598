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
from tacit.privacy.guarantees import PureDP
from tacit.protocols.randomized_response import RandomizedResponse

LEVEL = 1e-7
DRAWS = 100_000
CASES = [(2, 1.0), (3, 0.1), (5, Fraction(1, 3)), (7, 3), (300, 2.5), (4, 1e-3)]


def p_value(reports: np.ndarray, truth: int, law: RandomizedResponse) -> float:
    wanted = reports.size * np.exp(law.log_pmf(np.arange(law.levels), truth))
    return float(chisquare(np.bincount(reports, minlength=law.levels), wanted).pvalue)


@pytest.mark.parametrize(("levels", "epsilon"), CASES)
def test_reports_follow_the_law(levels: int, epsilon: float) -> None:
    """Fresh entropy; one chi-square for each of two truths, false alarms 2e-7.

    Planted faults: reports of another truth, and an epsilon 30% off, where the data can tell (epsilon of at least 1/3).
    """
    law = RandomizedResponse(levels, epsilon)
    truth = np.tile([0, levels - 1], DRAWS)
    reports = law.draw(truth, OSEntropy()).reshape(-1, 2)
    for entry, code in enumerate((0, levels - 1)):
        assert p_value(reports[:, entry], code, law) > LEVEL
    if epsilon >= Fraction(1, 3):
        assert p_value(reports[:, 0], levels - 1, law) < LEVEL
        wrong = RandomizedResponse(levels, law.epsilon * Fraction(13, 10))
        assert p_value(reports[:, 0], 0, wrong) < LEVEL


@pytest.mark.parametrize(("levels", "epsilon"), CASES)
def test_probabilities_sum_to_one_and_stay_within_epsilon(levels: int, epsilon: float) -> None:
    law = RandomizedResponse(levels, epsilon)
    table = law.log_pmf(np.arange(levels)[:, None], np.arange(levels))
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


def test_shape_is_kept_and_small_integers_do_not_wrap() -> None:
    """At epsilon 1e-9 reports are nearly uniform: 199 must not become -57 because the codes came as 8-bit integers."""
    reports = RandomizedResponse(200, 1e-9).draw(np.full((40, 50), 100, dtype=np.int8), OSEntropy())
    assert reports.shape == (40, 50)
    assert reports.dtype == np.int64
    assert 0 <= reports.min() <= reports.max() <= 199
    assert reports.max() > 127  # missed with probability (128/200)^2000


def test_a_large_epsilon_keeps_every_answer() -> None:
    codes = np.arange(10).repeat(20)
    assert RandomizedResponse(10, 1e4).draw(codes, OSEntropy()).tolist() == codes.tolist()
    assert RandomizedResponse(10, 1e4).draw(np.zeros(0, int), OSEntropy()).size == 0


def test_reports_depend_on_nothing_but_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No chance: with every byte 0 category 0 is proposed, and it is accepted at once where it is the truth."""

    class Zeros:
        def bytes(self, count: int) -> bytes:
            return bytes(count)

    def shut(*_: object) -> bytes:
        raise AssertionError("a report asked for randomness elsewhere")

    monkeypatch.setattr(os, "urandom", shut)
    assert RandomizedResponse(4, 1.0).draw(np.zeros(3, int), Zeros()).tolist() == [0, 0, 0]


@pytest.mark.parametrize("codes", [[0, 3], [-1, 0], [0.5, 1.0], ["no", "yes"]])
def test_an_error_never_shows_a_code(codes: list[object]) -> None:
    with pytest.raises(InputError) as caught:
        RandomizedResponse(3, 1.0).draw(np.array(codes), OSEntropy())
    assert str(caught.value) == "Expected codes='...' to be an array of integers from 0 to 2."


@pytest.mark.parametrize(
    ("levels", "epsilon"),
    [(1, 1.0), (True, 1.0), (2.0, 1.0), (2, 0), (2, -1.0), (2, math.inf), (2, math.nan), (2, "1")],
)
def test_impossible_parameters_are_refused(levels: object, epsilon: object) -> None:
    with pytest.raises(InputError):
        RandomizedResponse(levels, epsilon)
