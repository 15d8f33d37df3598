"""The coin of probability 1 / (1 + others e^-epsilon) is exact to the last digit, however many are asked for."""

from __future__ import annotations

import os
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from tacit.noise.entropy import OSEntropy
from tacit.protocols import logistic_coin
from tacit.protocols.logistic_coin import leading_bits, truthful

LEVEL = 1e-7


def decimal_floor(others: int, epsilon: Fraction, bits: int) -> int:
    """floor(2^bits p) from Decimal's correctly rounded exponential, with hundreds of digits to spare."""
    with localcontext() as context:
        context.prec = 400 + bits
        exponential = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        return int(2**bits * exponential / (exponential + others))


@given(
    others=st.one_of(st.integers(1, 5), st.integers(1, 2**31)),
    epsilon=st.one_of(st.fractions(Fraction(1, 10**9), 60), st.floats(1e-9, 60).map(Fraction)),
    bits=st.sampled_from([1, 32, 64, 96, 200]),
)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_digits_agree_with_decimal_arithmetic(others: int, epsilon: Fraction, bits: int) -> None:
    assert leading_bits(others, epsilon, bits) == decimal_floor(others, epsilon, bits)


@pytest.mark.parametrize("others", [1, 2, 1000])
def test_digits_near_one_and_past_the_shortcut(others: int) -> None:
    """Where p rounds to 1 the digits are all ones, on both sides of the shortcut; and further digits prolong them."""
    length = others.bit_length()
    for epsilon in (Fraction(32 + length) - Fraction(1, 9), Fraction(32 + length), Fraction(10**6)):
        assert leading_bits(others, epsilon, 32) == 2**32 - 1
    epsilon = Fraction(7, 3)
    assert leading_bits(others, epsilon, 32) == leading_bits(others, epsilon, 256) >> 224


@given(x=st.fractions(Fraction(1, 10**12), 200), precision=st.integers(8, 300))
@settings(derandomize=True, deadline=None, max_examples=150)
def test_bounds_of_the_exponential_hold_and_are_close(x: Fraction, precision: int) -> None:
    low, high = logistic_coin._exponential(x, precision)
    with localcontext() as context:
        context.prec = 500
        exact = 2**precision * (Decimal(x.numerator) / Decimal(x.denominator)).exp()
    assert low <= exact <= high
    if precision >= 100:
        assert (high - low) * 2 ** (precision - 64) <= high


@pytest.mark.parametrize(
    ("others", "epsilon"), [(1, Fraction(1)), (1, Fraction(1, 100)), (4, Fraction(3, 2)), (999, 10)]
)
def test_coins_have_their_probability(others: int, epsilon: Fraction) -> None:
    """Fresh entropy; exact binomial test, false alarms 1e-7. Planted fault: a probability that is 1% off."""
    flips = truthful(others, Fraction(epsilon), 2_000_000, OSEntropy())
    p = leading_bits(others, Fraction(epsilon), 60) / 2**60
    heads = int(flips.sum())
    assert binomtest(heads, flips.size, p).pvalue > LEVEL
    assert binomtest(heads, flips.size, 0.99 * p).pvalue < LEVEL


def test_ties_are_broken_by_further_digits() -> None:
    """No chance: coins whose first digits equal those of p are decided by the next one, above, below or at a tie."""
    others, epsilon = 3, Fraction(5, 7)
    digits = [leading_bits(others, epsilon, 32 * (k + 1)) % 2**32 for k in range(3)]

    class Script:
        def __init__(self, *answers: list[int]) -> None:
            self.answers = [np.array(answer, dtype="<u4").tobytes() for answer in answers]

        def bytes(self, count: int) -> bytes:
            answer = self.answers.pop(0)
            assert len(answer) == count
            return answer

    first = [digits[0] - 1, digits[0] + 1, digits[0], digits[0], digits[0]]
    second = [digits[1] - 1, digits[1] + 1, digits[1]]
    script = Script(first, second, [digits[2] - 1])
    assert truthful(others, epsilon, 5, script).tolist() == [True, False, True, False, True]
    assert not script.answers


def test_coins_ask_the_given_source_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zeros:
        def bytes(self, count: int) -> bytes:
            return bytes(count)

    def shut(*_: object) -> bytes:
        raise AssertionError("a coin asked for randomness elsewhere")

    monkeypatch.setattr(os, "urandom", shut)
    assert truthful(1, Fraction(1), 4, Zeros()).all()
    assert truthful(1, Fraction(1), 0, Zeros()).size == 0
