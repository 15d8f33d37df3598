"""How noise is shared out between blocks of entries: relative scales, and what is the least noise.

Criterion. At a given budget, Gaussian noise on entry i has a standard deviation in proportion to w_i Delta, where w is
`relative_scales` and Delta^2 = l2_squared, which depends on w. The best w is the one with the least sum, over all
entries, of the logs of these standard deviations:

    sum_i log w_i + (entries / 2) log Delta^2

It does not change with the units of any entry. (It is the log volume of the ellipsoid |D_i| / w_i that holds all
differences D of two records.) No privacy claim rests on how w was found: the sensitivity is computed for the w that is
used, whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tacit.privacy.sensitivity import Sensitivity

_ROUNDS = 2_000
_GAP = 1e-3
_BITS = 10  # of a relative scale
_FINE = 2**40


def balanced_scales(differences: Sequence[Sequence[float]], counts: Sequence[int]) -> list[Fraction]:
    """Relative scales of blocks, the first one 1, that have the least criterion, to 0.001 and ten bits of a scale.

    ``differences[p][b]`` is the squared distance of the pair of records p in block b, for pairs among which are the
    worst ones, or nearly, for any scales; ``counts[b]`` is the number of entries of block b. With W_b = 1 / w_b^2 the
    criterion is -1/2 sum_b counts_b log W_b + (entries / 2) log max_p sum_b W_b differences_pb, convex in log W.

    By duality its minimum is, up to a constant, the maximum of 1/2 sum_b counts_b log E[differences_b] over
    distributions on the pairs, with W_b = counts_b / E[differences_b]: in the mean each block has a share of Delta^2
    in proportion to its entries. Probability is moved from the pair with the least sum_b W_b differences_pb to the one
    with the largest, as much as is best, until the largest is at most the number of entries plus 0.001 (vertex
    exchange, Boehning 1986). Only sums, products, quotients and square roots in a fixed order: every machine finds the
    same scales.
    """
    import numpy as np

    table = np.array(differences, np.float64)
    rows: list[list[float]] = table.tolist()
    distribution = np.full(len(rows), 1.0 / len(rows))
    mean = [sum(row[b] for row in rows) / len(rows) for b in range(len(counts))]
    for _ in range(len(rows) + _ROUNDS):
        pull = np.zeros(len(rows))
        for b, count in enumerate(counts):
            pull += count / mean[b] * table[:, b]
        most, least = int(pull.argmax()), int(np.where(distribution > 0, pull, math.inf).argmin())
        if pull[most] <= sum(counts) + _GAP:
            break
        step = [there - here for there, here in zip(rows[most], rows[least], strict=True)]
        moved = _best_move(mean, step, counts, float(distribution[least]))
        distribution[most] += moved
        distribution[least] -= moved
        mean = [value + moved * change for value, change in zip(mean, step, strict=True)]
    scales = [math.sqrt(counts[0] / mean[0] / (count / value)) for count, value in zip(counts, mean, strict=True)]
    return [_short(scale) for scale in scales]


def _best_move(mean: Sequence[float], step: Sequence[float], counts: Sequence[int], most: float) -> float:
    """Where sum_b counts_b log(mean_b + a step_b), concave in a, is largest on [0, most]."""

    def derivative(a: float) -> float:
        if any(value + a * s <= 0 for s, value in zip(step, mean, strict=True)):
            return -math.inf
        return sum(count * s / (value + a * s) for count, s, value in zip(counts, step, mean, strict=True))

    if derivative(most) >= 0:
        return most
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if derivative(middle) > 0 else (low, middle)
    return low


def _short(value: float) -> Fraction:
    """The positive ``value`` with ten bits, which is all that a scale needs."""
    mantissa, exponent = math.frexp(value)
    return Fraction(round(mantissa * 2**_BITS)) * Fraction(2) ** (exponent - _BITS)


def log_volume(sensitivity: Sensitivity) -> float:
    """The criterion."""
    logs = sum(math.log(scale) for scale in sensitivity.relative_scales)
    return logs + sensitivity.entries / 2 * math.log(sensitivity.l2_squared)


def least_volume(candidates: Iterable[Sensitivity]) -> Sensitivity:
    """The candidate of the least criterion; the first of equals, where equal means within what floating point can say.

    Proof: each candidate is a valid claim about the same statistic, so any choice is, too. []
    """
    best, *others = candidates
    for other in others:
        if log_volume(other) < log_volume(best) - 1e-9 * best.entries:
            best = other
    return best


def with_root_bound(l1: Fraction, l2_squared: Fraction, scales: Sequence[Fraction]) -> Sensitivity:
    """A claim in whole lattice units, with an L1 bound that is also at most what the L2 bound implies.

    Proof: with a_i = |D_i| / w_i, by Cauchy and Schwarz (sum a_i)^2 <= entries sum a_i^2 <= entries l2_squared, and
    isqrt(x) + 1 > sqrt(x). Both bounds are rounded up. Narrow bounds may round to one lattice point, and then nothing
    can move: one unit bounds that, too. []
    """
    squared = max(Fraction(math.ceil(l2_squared)), Fraction(1))
    root = math.isqrt(len(scales) * int(squared)) + 1
    return Sensitivity(max(Fraction(min(math.ceil(l1), root)), Fraction(1)), squared, tuple(scales))


def root_above_inverse(multiple: int) -> Fraction:
    """A rational a little above 1 / sqrt(multiple): the scale of an entry whose square counts ``multiple`` times.

    Proof: s = isqrt(ceil(F^2 / multiple) - 1) + 1 is the least whole number with s^2 >= F^2 / multiple, so
    (s / F)^2 >= 1 / multiple, and (D / w)^2 <= multiple D^2 for w = s / F: noise of a scale that was rounded up. []
    """
    square = -(-_FINE * _FINE // multiple)
    return Fraction(math.isqrt(square - 1) + 1, _FINE)


HALF_ROOT = root_above_inverse(2)
