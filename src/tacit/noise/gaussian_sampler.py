"""The proposal that both Gaussian noises share: one exact sampler, on the lattice or on the line."""

from __future__ import annotations

import numpy as np

from tacit.noise.coins import (
    Flips,
    Index,
    Whole,
    all_heads,
    exp_minus,
    exp_minus_half,
    exp_minus_one,
    fair,
    heads_in_a_row,
    random_words,
    uniform_below,
)
from tacit.noise.entropy import Entropy
from tacit.noise.rejection import Proposal


class _Position:
    """Points x = (whole + tail) / scale of [0, 1): on the lattice (tail 0) or with a tail uniform on [0, 1).

    Tails are real numbers, written as 64-bit digits after the binary point that are drawn only when a comparison needs
    them: every comparison is decided exactly.
    """

    def __init__(self, scale: Whole, continuous: bool, entropy: Entropy) -> None:
        self.scale = scale
        self.whole = uniform_below(scale, entropy)
        self.continuous = continuous
        self.entropy = entropy
        self.digits: list[Whole] = []

    def digit(self, depth: int) -> Whole:
        """The tails' digits number ``depth``, drawn at the first call."""
        while len(self.digits) <= depth:
            self.digits.append(random_words(self.whole.size, 64, self.entropy))
        return self.digits[depth]

    def coin(self, index: Index) -> Flips:
        """Flips with probability x: is a fresh uniform point of [0, 1), also (whole + tail) / scale, below x?"""
        fresh = uniform_below(self.scale[index], self.entropy)
        mine = self.whole[index]
        below = fresh < mine
        if self.continuous:
            tied = np.flatnonzero(fresh == mine)
            depth = 0
            while tied.size:
                other = random_words(tied.size, 64, self.entropy)
                digit = self.digit(depth)[index[tied]]
                below[tied] = other < digit
                tied = tied[other == digit]
                depth += 1
        return below


def propose_gaussian(scale: Whole, continuous: bool, entropy: Entropy) -> Proposal:
    """Propose sign * (k + x) * scale with density proportional to exp(-(k + x)^2 / 2), then round it to an integer.

    The steps (Karney 2016, Algorithm D, for a whole scale s and mean zero):

    1. k = 0, 1, ... is geometric with ratio exp(-1/2), kept with probability exp(-k (k - 1) / 2): together
       exp(-k^2 / 2) up to a constant.
    2. A fair sign.
    3. x = j / s (``continuous`` False) or x = (j + u) / s (True), with j uniform on 0, ..., s - 1 and u on [0, 1).
    4. Keep it with probability exp(-x (2k + x) / 2), as k + 1 coins of probability exp(-x (2k + x) / (2k + 2)) that
       must all be heads.

    Proof: a triple (sign, k, x) is kept with probability (or density) proportional to exp(-k^2/2) exp(-x (2k + x)/2) =
    exp(-(k + x)^2 / 2). On the lattice, the integer v = sign (k s + j) has |v| = k s + j for exactly one pair (k, j),
    so it is kept with probability proportional to exp(-v^2 / (2 s^2)), except that 0 comes with both signs: dropping
    the negative zero leaves the discrete Gaussian. On the line, sign (k s + j + u) has the density of N(0, s^2) up to
    a constant, hence that distribution, and its rounding to the nearest integer is the rounded Gaussian; here (k, j) =
    (0, 0) is no atom and both signs stay.

    The coins are exact. x (2k + x) / (2k + 2) = x * (2k + x) / (2k + 2) lies in [0, 1) and the second factor is the
    probability that m, uniform below 2k + 2, is below 2k, or is 2k and a coin of probability x is heads.
    """
    steps = heads_in_a_row(lambda index: exp_minus_half(index.size, entropy), scale.size)
    pairs = (steps * steps - steps) // np.uint64(2)
    kept = np.flatnonzero(all_heads(lambda index: exp_minus_one(index.size, entropy), pairs))
    steps = steps[kept]
    negative = fair(kept.size, entropy)
    position = _Position(scale[kept], continuous, entropy)

    def product(index: Index) -> Flips:
        heads = position.coin(index)
        alive = np.flatnonzero(heads)
        twice = steps[index[alive]] * np.uint64(2)
        pick = uniform_below(twice + np.uint64(2), entropy)
        heads[alive] = pick < twice
        undecided = alive[pick == twice]
        heads[undecided] = position.coin(index[undecided])
        return heads

    def factor(index: Index) -> Flips:
        return exp_minus(lambda inner: product(index[inner]), index.size, entropy)

    accepted = all_heads(factor, steps + np.uint64(1))
    rest = position.whole
    if continuous:
        # The nearest integer: up if the tail is at least 1/2, which is its first bit.
        rest = rest + (position.digit(0) >> np.uint64(63))
    else:
        accepted &= ~(negative & (steps == 0) & (rest == 0))
    chosen = np.flatnonzero(accepted)
    return Proposal(kept[chosen], steps[chosen], rest[chosen], negative[chosen])
