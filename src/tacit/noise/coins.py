"""Exact coins and uniform integers, many at a time, from an `Entropy` source's bytes alone.

Every decision is a comparison of whole numbers: no floating-point value decides an outcome. Arrays of whole numbers
are uint64 while every value lies below 2^63 and hold Python integers (dtype object) otherwise; the code is the same.

A *coin* is a function that takes an array of element numbers and returns, for each, True (heads) with that element's
own probability, independently of all other flips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.noise.entropy import Entropy

Whole = NDArray[Any]
Index = NDArray[np.intp]
Flips = NDArray[np.bool_]
Coin = Callable[[Index], Flips]

_WORDS = ((8, "u1"), (16, "<u2"), (32, "<u4"), (64, "<u8"))


def whole_numbers(values: Sequence[int]) -> Whole:
    """The array of ``values`` (none negative): uint64 if each lies below 2^63, Python integers otherwise."""
    return np.array(values, dtype=np.uint64 if max(values) < 2**63 else object)


def fair(size: int, entropy: Entropy) -> Flips:
    """Fair coins: one bit each."""
    packed = np.frombuffer(entropy.bytes((size + 7) // 8), dtype=np.uint8)
    return np.unpackbits(packed, count=size).view(np.bool_)


def random_words(size: int, bits: int, entropy: Entropy) -> Whole:
    """Uniform whole numbers of at least ``bits`` random low bits: one machine word each, or Python integers past 64."""
    for width, word in _WORDS:
        if bits <= width:
            return np.frombuffer(entropy.bytes(size * width // 8), dtype=word)
    count = -(-bits // 64)
    words = np.frombuffer(entropy.bytes(8 * count * size), dtype="<u8").reshape(count, size).astype(object)
    value = words[0]
    for word in words[1:]:
        value = (value << 64) | word
    return value


def uniform_below(bounds: Whole, entropy: Entropy) -> Whole:
    """Independent uniform integers, element i from {0, ..., bounds[i] - 1}, every bound at least 1.

    Random bits are masked to the bit length of (bound - 1) and drawn again while they exceed it, so each is accepted
    with probability above 1/2 and every accepted value is equally likely.
    """
    if not bounds.size:
        return bounds.copy()
    largest = bounds - 1
    bits = int(largest.max()).bit_length()
    masks = largest.copy()
    shift = 1
    while shift < bits:
        masks |= masks >> shift
        shift *= 2
    values = random_words(bounds.size, bits, entropy) & masks
    again = np.flatnonzero(values > largest)
    while again.size:
        values[again] = random_words(again.size, bits, entropy) & masks[again]
        again = again[values[again] > largest[again]]
    return values


def ratio(numerators: Whole, denominators: Whole, entropy: Entropy) -> Flips:
    """Flips with probability numerators[i] / denominators[i], which lies in [0, 1]."""
    return uniform_below(denominators, entropy) < numerators


def one_in(count: int, size: int, entropy: Entropy) -> Flips:
    """Flips with probability 1 / ``count``."""
    if count == 1:
        return np.ones(size, dtype=np.bool_)
    if count == 2:
        return fair(size, entropy)
    return uniform_below(np.full(size, count, dtype=np.min_scalar_type(count)), entropy) == 0


def exp_minus(coin: Coin, size: int, entropy: Entropy) -> Flips:
    """Flips with probability exp(-g_i), from a ``coin`` with probability g_i in [0, 1].

    Flip coins of probability g/1, g/2, g/3, ... until the first tails, at the K-th coin; heads if K is odd. Since
    P(K > k) = g^k / k!, P(K odd) = (1 - g) + (g^2/2! - g^3/3!) + ... = exp(-g) (von Neumann 1951; Canonne, Kamath and
    Steinke 2020, arXiv 2004.00010, Algorithm 1). A coin of probability g/k is heads when a coin of probability g and
    one of probability 1/k both are.
    """
    heads = np.empty(size, dtype=np.bool_)
    active = np.arange(size)
    k = 0
    while active.size:
        k += 1
        heads[active] = k % 2 == 1
        active = active[one_in(k, active.size, entropy)]
        active = active[coin(active)]
    return heads


def exp_minus_one(size: int, entropy: Entropy) -> Flips:
    """Flips with probability exp(-1)."""
    return exp_minus(lambda index: np.ones(index.size, dtype=np.bool_), size, entropy)


def exp_minus_half(size: int, entropy: Entropy) -> Flips:
    """Flips with probability exp(-1/2)."""
    return exp_minus(lambda index: fair(index.size, entropy), size, entropy)


def exp_minus_ratio(numerators: Whole, denominators: Whole, entropy: Entropy) -> Flips:
    """Flips with probability exp(-numerators[i] / denominators[i]), for any ratio from 0 up.

    exp(-(w + f)) is the product of w factors exp(-1) and one exp(-f), so all of these coins must be heads.
    """
    heads = all_heads(lambda index: exp_minus_one(index.size, entropy), numerators // denominators)
    alive = np.flatnonzero(heads)
    parts, limits = (numerators % denominators)[alive], denominators[alive]
    heads[alive] = exp_minus(lambda index: ratio(parts[index], limits[index], entropy), alive.size, entropy)
    return heads


def all_heads(coin: Coin, counts: Whole) -> Flips:
    """Whether ``counts[i]`` flips of element i's coin are all heads; flipping stops at the first tails."""
    heads = np.ones(counts.size, dtype=np.bool_)
    active = np.flatnonzero(counts > 0)
    flipped = 0
    while active.size:
        flipped += 1
        won = coin(active)
        heads[active[~won]] = False
        active = active[won]
        active = active[counts[active] > flipped]
    return heads


def heads_in_a_row(coin: Coin, size: int) -> Whole:
    """How many heads precede the first tails: k with probability g_i^k (1 - g_i)."""
    runs = np.zeros(size, dtype=np.uint64)
    active = np.arange(size)
    while active.size:
        active = active[coin(active)]
        runs[active] += np.uint64(1)
    return runs
