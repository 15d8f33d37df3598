"""The law of many noisy sums over Poisson samples of the rows: its coins, its noise, its price.

Every step takes each row with probability ``chance`` / 2^64, adds up whole vectors of Euclidean norm at most ``radius``
(`tacit.private_samplers.row_sums` makes them of the rows that were taken), and adds rounded Gaussian noise of standard
deviation ``scale`` to every entry. In real units ``radius`` stands for the longest vector that a row may add, whatever
that is in a step: a step may use another lattice, as long as it is fixed by what was released before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.noise.entropy import Entropy
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.dominating_pair import LEAST_MULTIPLIER
from tacit.privacy.guarantees import ApproxDP, Guarantee, PureDP
from tacit.privacy.subsampled_gaussian import SubsampledGaussian

RADIUS = 2**24
"""Lattice units in the longest vector: what rounding loses is a millionth of what noise adds."""

WHOLE = 2**64
_BLOCK = 64
_MOST = 2.0**24  # multipliers: beyond, no budget that anybody would declare


@dataclass(frozen=True)
class NoisySteps:
    """``steps`` noisy sums of whole vectors of norm at most ``radius``, in lattice units."""

    scale: int
    chance: int
    steps: int
    radius: int = RADIUS

    def __post_init__(self) -> None:
        for name, most in (("scale", 2**60), ("chance", WHOLE), ("steps", 10**7), ("radius", 2**30)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise expected(name, value, f"to be a whole number from 1 to {most}")

    @property
    def rate(self) -> Fraction:
        """The probability with which a row is taken, exactly."""
        return Fraction(self.chance, WHOLE)

    @property
    def multiplier(self) -> Fraction:
        """The noise in units of the longest vector, exactly."""
        return Fraction(self.scale, self.radius)

    def event(self) -> SubsampledGaussian:
        """What all steps cost together.

        Proof: for replace-one neighbours and the Euclidean norm. Divide a step's sum by ``radius``: vectors of norm at
        most 1 over a Poisson sample of rate `rate`, plus N(0, multiplier^2) in every entry, is the step that
        `SubsampledGaussian` prices. Rounding the Gaussian number commutes with adding whole numbers, so what leaves is
        the rounded output of that step: post-processing (`RoundedGaussian`). The coins are exact: a uniform word of 64
        bits is below ``chance`` with probability chance / 2^64, the rate that is priced. []
        """
        return SubsampledGaussian(self.multiplier, self.rate, self.steps)

    def taken(self, n: int, entropy: Entropy) -> Any:
        """The numbers of the rows that one step takes, rising: every row by a coin of its own."""
        import numpy as np

        if self.chance == WHOLE:
            return np.arange(n)
        words = np.frombuffer(entropy.bytes(8 * n), dtype="<u8")
        return np.flatnonzero(words < np.uint64(self.chance))

    def noise(self, count: int, entries: int, entropy: Entropy) -> Any:
        """The noise of ``count`` steps: whole numbers (count, entries)."""
        return RoundedGaussian((self.scale,) * entries).sample(count, entropy)


class NoiseStream:
    """The noise of one step after another, each whole numbers (entries,); drawn in blocks, which is ten times faster.

    Numbers of a block are independent of everything, so when they are drawn does not matter.
    """

    def __init__(self, law: NoisySteps, entries: int, entropy: Entropy) -> None:
        self._law, self._entries, self._entropy = law, entries, entropy
        self._block: list[Any] = []

    def next(self) -> Any:
        """Fresh noise: nothing is given out twice."""
        if not self._block:
            self._block = list(self._law.noise(min(_BLOCK, self._law.steps), self._entries, self._entropy))
        return self._block.pop()


def chance_below(rate: float) -> int:
    """The largest number of 2^64ths that is at most ``rate``; the rate that is used, and priced, is this one."""
    if not (math.isfinite(rate) and 0 < rate <= 1):
        raise expected("rate", rate, "to lie above 0 and be at most 1")
    return max(1, math.floor(Fraction(rate) * WHOLE))


@lru_cache(maxsize=256)
def calibrated_steps(budget: Guarantee, chance: int, steps: int) -> NoisySteps:
    """The least noise, to one part in 10^4, with which ``steps`` steps meet the budget.

    Proof: what is returned was priced by its own event and met the budget; nothing rests on the search. []
    """
    if isinstance(budget, PureDP):
        raise expected("budget", budget.symbols, "to have a delta (or rho, mu, an order): Gaussian noise is never pure")
    one = NoisySteps(RADIUS, chance, steps)

    def law(multiplier: float) -> NoisySteps:
        return replace(one, scale=math.ceil(multiplier * RADIUS))

    def short(multiplier: float) -> float:
        """How far the price at this multiplier is from the budget, in logarithms; at most 0 where it is met."""
        event = law(multiplier).event()
        if event.satisfies(budget):
            return min(0.0, _gap(event, budget))
        return max(1e-12, _gap(event, budget))

    low, high = 1.0, 2.0
    while short(high) > 0:
        low, high = high, 2 * high
        if high > _MOST:
            raise expected("budget", budget.symbols, f"to be met by {steps} noisy steps")
    while short(low) <= 0:
        low, high = max(low / 2, LEAST_MULTIPLIER), low
        if high == LEAST_MULTIPLIER:
            return law(high)
    below, above = short(low), short(high)
    while high > low * (1 + 1e-4):
        # Regula falsi in ln(multiplier), kept away from the ends so that the bracket always shrinks.
        share = below / (below - above) if math.isfinite(below) and below > above else 0.5
        share = min(0.98, max(0.02, share))
        middle = math.exp((1 - share) * math.log(low) + share * math.log(high)) * (1 + 2e-5)
        middle = min(middle, high * (1 - 1e-6))
        found = short(middle)
        low, high, below, above = (low, middle, below, found) if found <= 0 else (middle, high, found, above)
    return law(high)


def _gap(event: SubsampledGaussian, budget: Guarantee) -> float:
    """ln of the price over ln of what is allowed: 0 where they meet."""
    if isinstance(budget, ApproxDP):
        return math.log(max(event.delta(budget.epsilon), 1e-300)) - math.log(budget.delta)
    return 1.0 if not event.satisfies(budget) else -1.0
