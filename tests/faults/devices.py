"""Faults of local reports: wrong coins, and noise for half the range."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import tacit
from faults.broken import BrokenLocal, Fault
from tacit.noise.coins import uniform_below
from tacit.protocols import local_randomizer
from tacit.protocols.logistic_coin import truthful
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.unary_encoding import UnaryEncoding

FOUR = (tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c", "d"]))
NUMBER = (tacit.Exponential("x"), tacit.Schema(x=(0, 5)))


@dataclass(frozen=True)
class BinaryCoin(RandomizedResponse):
    """Tells the truth as often as with two levels, whatever their number."""

    def _randomize(self, inputs, entropy):
        others = self.levels - 1
        truth = truthful(1, self.epsilon, len(inputs), entropy)
        lies = uniform_below(np.full(len(inputs), others, dtype=np.uint64), entropy).astype(np.int64)[:, None]
        return np.where(truth[:, None], inputs, lies + (lies >= inputs))


@dataclass(frozen=True)
class EveryBit(UnaryEncoding):
    """Flips every bit with probability 1 / (1 + e^epsilon), the true one too: two bits differ, at epsilon each."""

    def _randomize(self, inputs, entropy):
        kept = truthful(1, self.epsilon, len(inputs) * self.levels, entropy).reshape(len(inputs), self.levels)
        return np.where(kept, np.arange(self.levels) == inputs, np.arange(self.levels) != inputs).astype(np.int8)

    def log_pmf(self, reports, inputs):
        wrong = (np.asarray(reports) != (np.arange(self.levels) == inputs)).sum(axis=-1)
        epsilon = float(self.epsilon)
        return -epsilon * wrong - self.levels * np.log1p(np.exp(-epsilon))


@dataclass(frozen=True)
class HalfRange(NoisyNumber):
    """Scaled for half the distance of the ends, and priced as if that were all."""

    def event(self):
        from tacit.privacy.events import LaplaceEvent

        return LaplaceEvent(Fraction(self.high - self.low, 2 * self.scale), self.scale)


def _half_range(right, budget):
    return HalfRange(right.low, right.high, -(-right.scale // 2))


def _no_clip(monkeypatch):
    """The device does not clamp its own number: reading it fails, or sends it out of range."""

    def encode(self, columns):
        share = (np.asarray(columns[self.column], np.float64) - self.low) / (self.high - self.low) * 2
        return np.rint(self.first + share * (self.last - self.first)).astype(np.int64)[:, None]

    monkeypatch.setattr(local_randomizer.LatticeNumber, "encode", encode)
    return tacit.Plan(*NUMBER, tacit.PureDP(1.0), tacit.Local("noisy-number"))


def plan_of(model, protocol, change):
    return tacit.Plan(*model, tacit.PureDP(1.0), BrokenLocal(protocol, change=change))


FAULTS = [
    Fault(
        "randomized response with the coin of two levels",
        "four levels, truth with probability e^epsilon / (1 + e^epsilon)",
        lambda m: plan_of(FOUR, "randomized-response", lambda right, _: BinaryCoin(right.levels, right.epsilon)),
        ("outcomes", "attack"),
        runs=4000,
    ),
    Fault(
        "unary encoding at epsilon a bit",
        "both bits that differ are flipped at the full epsilon",
        lambda m: plan_of(FOUR, "unary-encoding", lambda right, _: EveryBit(right.levels, right.epsilon)),
        ("exact curve",),
        runs=4000,
    ),
    Fault(
        "noisy number for half the range",
        "the distance of the middle to an end",
        lambda m: plan_of(NUMBER, "noisy-number", _half_range),
        ("exact curve",),
        runs=4000,
    ),
    Fault("a device that does not clamp", "a number beyond its bounds", _no_clip, ("public part", "exact curve")),
]
