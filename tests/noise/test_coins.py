"""Coins and uniform integers are exact: byte by byte where the bytes are scripted, and by tests with known alarms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from tacit.noise import coins
from tacit.noise.entropy import OSEntropy

LEVEL = 1e-7
DRAWS = 200_000


class Script:
    """An entropy source that returns the given answers, one a call, and checks that each is asked for in full."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)

    def bytes(self, count: int) -> bytes:
        answer = self.answers.pop(0)
        assert len(answer) == count
        return answer


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 100, 128, 255, 256])
def test_uniform_below_gives_each_value_the_same_number_of_bytes(bound: int) -> None:
    """No chance at all: of the 256 possible bytes every value gets equally many, and only the rest is drawn again."""
    width = 2 ** (bound - 1).bit_length()
    again = 256 - 256 // width * bound
    script = Script(bytes(range(256)), *([bytes(again)] if again else []))
    values = coins.uniform_below(np.full(256, bound, dtype=np.uint64), script)
    counts = np.bincount(values.astype(int), minlength=bound)
    wanted = np.full(bound, 256 // width)
    wanted[0] += again
    assert counts.tolist() == wanted.tolist()
    assert not script.answers


@pytest.mark.parametrize("dtype", [np.uint64, object])
def test_uniform_below_is_one_algorithm_for_both_kinds_of_arrays(dtype: type) -> None:
    """No chance at all: the same bytes give the same integers as uint64 and as Python integers."""
    script = Script((5).to_bytes(4, "little") + (2**31 + 2).to_bytes(4, "little"), (7).to_bytes(4, "little"))
    bounds = np.array([10, 2**31 + 1], dtype=dtype)
    assert coins.uniform_below(bounds, script).tolist() == [5, 7]


@pytest.mark.parametrize("bound", [3, 10, 1000, 2**32 + 1, 2**62 + 1, 2**70 + 3, 2**130 + 7])
def test_uniform_below_is_uniform(bound: int) -> None:
    """Fresh entropy; chi-square over at most 50 equal parts, false alarms 1e-7.

    Planted fault: the remainder of a number from a range half as long again, which doubles the lower half.
    """
    parts = min(bound, 50)
    bounds = np.broadcast_to(coins.whole_numbers([bound]), DRAWS)
    values = coins.uniform_below(bounds, OSEntropy())
    wide = coins.uniform_below(np.broadcast_to(coins.whole_numbers([bound * 3 // 2]), DRAWS), OSEntropy())
    edges = [bound * part // parts for part in range(parts + 1)]
    widths = np.array([(high - low) / bound for low, high in itertools.pairwise(edges)])

    def p_value(sample: object) -> float:
        place = np.searchsorted(np.array([float(edge) for edge in edges[1:]]), np.asarray(sample, float), "right")
        return float(chisquare(np.bincount(place, minlength=parts)[:parts], DRAWS * widths, sum_check=False).pvalue)

    assert min(values) >= 0
    assert max(values) < bound
    assert p_value(values) > LEVEL
    assert p_value(wide % bound) < LEVEL


def test_fair_uses_every_bit_once() -> None:
    """No chance at all: the flips are the bits of the bytes."""
    assert coins.fair(12, Script(b"\xa5\xf0")).tolist() == [1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1]


WIDE = 2**70
LAWS = {
    "fair": (0.5, lambda n, e: coins.fair(n, e)),
    "ratio": (2 / 7, lambda n, e: coins.ratio(np.full(n, 2, np.uint64), np.full(n, 7, np.uint64), e)),
    "ratio of 0": (0.0, lambda n, e: coins.ratio(np.full(n, 0, np.uint64), np.full(n, 7, np.uint64), e)),
    "ratio of 1": (1.0, lambda n, e: coins.ratio(np.full(n, 7, np.uint64), np.full(n, 7, np.uint64), e)),
    "one in 1": (1.0, lambda n, e: coins.one_in(1, n, e)),
    "one in 5": (0.2, lambda n, e: coins.one_in(5, n, e)),
    "one in 300": (1 / 300, lambda n, e: coins.one_in(300, n, e)),
    "exp(-1)": (math.exp(-1), coins.exp_minus_one),
    "exp(-1/2)": (math.exp(-0.5), coins.exp_minus_half),
    "exp(-0)": (1.0, lambda n, e: coins.exp_minus_ratio(np.full(n, 0, np.uint64), np.full(n, 3, np.uint64), e)),
    "exp(-2/3)": (
        math.exp(-2 / 3),
        lambda n, e: coins.exp_minus_ratio(np.full(n, 2, np.uint64), np.full(n, 3, np.uint64), e),
    ),
    "exp(-2)": (
        math.exp(-2),
        lambda n, e: coins.exp_minus_ratio(np.full(n, 2, np.uint64), np.full(n, 1, np.uint64), e),
    ),
    "exp(-7/2)": (
        math.exp(-3.5),
        lambda n, e: coins.exp_minus_ratio(np.full(n, 7, np.uint64), np.full(n, 2, np.uint64), e),
    ),
    "exp(-4/3), past 64 bits": (
        math.exp(-4 / 3),
        lambda n, e: coins.exp_minus_ratio(np.full(n, 4 * WIDE, object), np.full(n, 3 * WIDE, object), e),
    ),
    "three heads of 2/3": (
        8 / 27,
        lambda n, e: coins.all_heads(
            lambda i: coins.ratio(np.full(i.size, 2, np.uint64), np.full(i.size, 3, np.uint64), e),
            np.full(n, 3, np.uint64),
        ),
    ),
    "at least two in a row": (0.25, lambda n, e: coins.heads_in_a_row(lambda i: coins.fair(i.size, e), n) >= 2),
}


@pytest.mark.parametrize("name", LAWS)
def test_coin_has_its_probability(name: str) -> None:
    """Fresh entropy; exact binomial test, false alarms 1e-7; a probability wrong by 0.02 is caught.

    The planted fault is the same flips tested against a probability 0.02 away, which 200,000 flips tell apart by at
    least 17 standard deviations.
    """
    probability, flip = LAWS[name]
    heads = int(np.count_nonzero(flip(DRAWS, OSEntropy())))
    assert binomtest(heads, DRAWS, probability).pvalue > LEVEL
    wrong = probability + (0.02 if probability < 0.5 else -0.02)
    assert binomtest(heads, DRAWS, wrong).pvalue < LEVEL


def test_parity_fault_is_caught() -> None:
    """Fresh entropy, missed with probability below 1e-7. Planted fault: heads if the first tails is at an even coin."""
    heads = int(np.count_nonzero(~coins.exp_minus_half(DRAWS, OSEntropy())))
    assert binomtest(heads, DRAWS, math.exp(-0.5)).pvalue < LEVEL


def test_each_element_keeps_its_own_probability() -> None:
    """Fresh entropy; three binomial tests at 1e-7. Planted fault: the probabilities in another order."""
    numerators = np.tile(np.array([0, 1, 3], np.uint64), DRAWS // 3)
    flips = coins.exp_minus_ratio(numerators, np.full_like(numerators, 2), OSEntropy()).reshape(-1, 3)
    heads = np.count_nonzero(flips, axis=0)
    wanted = [1.0, math.exp(-0.5), math.exp(-1.5)]
    for count, right, wrong in zip(heads, wanted, wanted[1:] + wanted[:1], strict=True):
        assert binomtest(int(count), flips.shape[0], right).pvalue > LEVEL
        assert binomtest(int(count), flips.shape[0], wrong).pvalue < LEVEL


def test_whole_numbers_are_machine_words_below_two_to_the_63() -> None:
    assert coins.whole_numbers([1, 2**63 - 1]).dtype == np.uint64
    assert coins.whole_numbers([1, 2**63]).dtype == object


def test_nothing_is_drawn_for_no_elements() -> None:
    empty = np.zeros(0, np.uint64)
    assert coins.uniform_below(empty, Script()).size == 0
    assert coins.exp_minus_ratio(empty, empty, Script()).size == 0
