"""The largest value of a polynomial on an interval, in rationals, never too small."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

_CLOSE = Fraction(1, 2**44)
_MOST_PIECES = 2_000


def largest(coefficients: Sequence[Fraction], low: Fraction, high: Fraction) -> Fraction:
    """An upper bound on the maximum of sum_i coefficients[i] x^i over [low, high], within 2^-44 of it as a rule.

    Proof: on any interval a polynomial is a mean of its Bernstein coefficients there, with weights that depend on x,
    are not negative and add up to 1. So it is nowhere above the largest of them; the first and the last are its values
    at the ends. The interval is halved (de Casteljau) where the bound is largest until that bound is close to a value
    that is attained. Wherever the halving stops, the largest remaining bound holds for all pieces. []
    It is exact where the maximum is at an end and the coefficients show it.
    """
    start = _bernstein(coefficients, low, high)
    attained = max(start[0], start[-1])
    close = _CLOSE * max(abs(value) for value in start)
    pieces = [(-max(start), 0, start)]  # a heap, the largest bound first; the number keeps comparisons off the lists
    for number in range(1, _MOST_PIECES, 2):
        if -pieces[0][0] <= attained + close:
            break
        _, _, piece = heapq.heappop(pieces)
        left, right = _halves(piece)
        attained = max(attained, right[0])
        heapq.heappush(pieces, (-max(left), number, left))
        heapq.heappush(pieces, (-max(right), number + 1, right))
    return -pieces[0][0]


def _bernstein(coefficients: Sequence[Fraction], low: Fraction, high: Fraction) -> list[Fraction]:
    """The coefficients for the Bernstein polynomials of [low, high]."""
    shifted = [Fraction(0)] * len(coefficients)  # of the polynomial in (x - low) / (high - low), by Horner's rule
    for value in reversed(coefficients):
        times = [low * a + (high - low) * b for a, b in zip(shifted, [Fraction(0), *shifted[:-1]], strict=True)]
        shifted = [times[0] + value, *times[1:]]
    n = len(coefficients) - 1
    return [
        sum((Fraction(math.comb(i, j), math.comb(n, j)) * shifted[j] for j in range(i + 1)), Fraction(0))
        for i in range(n + 1)
    ]


def _halves(piece: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    left, right, row = [piece[0]], [piece[-1]], piece
    while len(row) > 1:
        row = [(a + b) / 2 for a, b in pairwise(row)]
        left.append(row[0])
        right.append(row[-1])
    return left, right[::-1]
