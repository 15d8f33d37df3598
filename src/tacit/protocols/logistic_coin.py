"""An exact coin of probability p = 1 / (1 + others * e^-epsilon), for whole others >= 1 and a rational epsilon > 0.

It decides whether randomized response tells the truth among others + 1 categories. With others = 1 it is a zero bit of
unary encoding that stays zero.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit.noise.coins import Flips, random_words
from tacit.noise.entropy import Entropy

_BITS = 32


def truthful(others: int, epsilon: Fraction, size: int, entropy: Entropy) -> Flips:
    """Flips with probability p.

    Proof: of exactness. A coin is heads if a uniform point U of [0, 1) lies below p, which happens with probability p.
    Both are written in digits of 32 bits. The digits of U are drawn one by one, independent and uniform, until one
    differs from that of p; the first difference says which number is smaller. The digits of p are computed in whole
    numbers (`leading_bits`), as many as are asked for. They do not end, because p is irrational; a further digit is
    needed with probability 2^-32 each time. []

    How long it takes does not depend on anybody's record.
    """
    heads = np.empty(size, dtype=np.bool_)
    tied = np.arange(size)
    bits = 0
    while tied.size:
        bits += _BITS
        digit = leading_bits(others, epsilon, bits) % 2**_BITS
        drawn = random_words(tied.size, _BITS, entropy)
        heads[tied] = drawn < digit
        tied = tied[drawn == digit]
    return heads


def leading_bits(others: int, epsilon: Fraction, bits: int) -> int:
    """floor(2^bits p), in whole numbers alone.

    Proof: p = E / (E + others) grows with E = e^epsilon. If two bounds of E give the same floor, it is the one of p.
    E is transcendental (Lindemann), so 2^bits p is no whole number and close enough bounds agree. If epsilon is at
    least bits plus the length of others in binary, then others / E < 2^-bits, so 1 - 2^-bits < p < 1. []
    """
    if epsilon >= bits + others.bit_length():
        return 2**bits - 1
    precision = bits + 64
    while True:
        below, above = (
            (bound << bits) // (bound + (others << precision)) for bound in _exponential(epsilon, precision)
        )
        if below == above:
            return below
        precision *= 2


def _exponential(x: Fraction, precision: int) -> tuple[int, int]:
    """Whole numbers with low <= 2^precision e^x <= high, x > 0.

    Proof: y = x / 2^halvings <= 1/2. Term n of the series of 2^precision e^y is at most 2 larger than the number
    computed for it: the error of the term before, times y / n <= 1/2, plus 1 for the division. The sum ends where the
    computed term is 0, so that term is at most 2, and it and all that follow add up to at most 4. Together that is at
    most 2 (terms - 1) + 4. Then low is squared and rounded down, high squared and rounded up. []
    """
    halvings = (x.numerator // x.denominator + 1).bit_length() + 4
    y = x / 2**halvings
    term, low, terms = 1 << precision, 0, 0
    while term:
        low += term
        terms += 1
        term = term * y.numerator // (y.denominator * terms)
    high = low + 2 * terms + 2
    for _ in range(halvings):
        low = low * low >> precision
        high = -(-(high * high) >> precision)
    return low, high
