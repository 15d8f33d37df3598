"""Noisy sums over a random part of the rows, many times over: the event of DP-SGD and of private chains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from tacit.errors import expected
from tacit.privacy import gaussian
from tacit.privacy.conversions import Real, renyi_to_delta
from tacit.privacy.dominating_pair import LEAST_MULTIPLIER, DominatingPair
from tacit.privacy.events import Event, Price, rounded_up
from tacit.privacy.rationals import rational, whole, written
from tacit.privacy.rounding import float_above, float_below
from tacit.privacy.self_composition import composed_delta

MOST_STEPS = 10**7
_TINY = 1e-9
_LARGEST_ORDER = 2048  # beyond it an integral grows long, and sampling gains little


@dataclass(frozen=True, init=False)
class SubsampledGaussian(Event):
    """``steps`` adaptive noisy sums: each takes every row with probability ``rate`` and adds N(0, multiplier^2 I).

    In one step every row is taken or left by a coin of its own, with probability q = ``rate`` (Poisson sampling); the
    vectors v_i of the rows that are taken, functions of the row and of what was released before with Euclidean norm
    ||v_i|| <= 1, are added up; Gaussian noise of standard deviation s = ``multiplier`` is added to every entry. Which
    rows were taken is not released. Neighbours are replace-one: one row, hence one v_i, is another, and n is the same.

    Proof: (1) One pair. Fix the step's past, and which of the other rows are taken: that has the same distribution for
    both data sets, so by joint convexity of the hockey-stick divergence H_g(P || Q) = integral of (P - g Q)_+ the
    worst case of it will do, and the sum of those rows' vectors shifts both distributions alike. What is left is

        P = (1-q) N(0, s^2 I) + q N(x, s^2 I)     against     Q = (1-q) N(0, s^2 I) + q N(x', s^2 I),

    ||x||, ||x'|| <= 1. (2) The worst x and x'. Let g >= 1. Divide by the density of N(0, s^2 I): H_g = E[(w)_+], w = q
    e^{U - a/2} - (g-1)(1-q) - g q e^{V - b/2}, where (U, V) is Gaussian with mean 0, variances a = ||x||^2 / s^2 and b
    = ||x'||^2 / s^2 and covariance c = <x, x'> / s^2. Take a smooth convex increasing f for the positive part, and let
    it tend to it. Plackett's identity gives dE/dc = E[d^2 f(w) / dU dV] = -E[f''(w) q e^{U-a/2} g q e^{V-b/2}] <= 0. In
    a, the change of the variance gives half of E[d^2 f(w) / dU^2] and the drift -a/2 takes half of E[d f(w) / dU] away:
    dE/da = E[f''(w) (q e^{U-a/2})^2] / 2 >= 0, and dE/db = E[f''(w) (g q e^{V-b/2})^2] / 2 >= 0 likewise. So raise a
    and b to 1/s^2, which keeps the covariance matrix positive semidefinite, then lower c to -1/s^2: no pair has a
    larger H_g than that of opposite unit vectors, x' = -x, and it is one of the pairs. Only the coordinate along x
    matters there: it is `DominatingPair`. For g < 1, H_g(P || Q) = 1 - g + g H_{1/g}(Q || P), and the reflection x ->
    -x swaps the two distributions of that pair, so it is the worst one for every g > 0: it dominates. (3) All steps. A
    pair that dominates each step given its past dominates, T-fold, the whole adaptive sequence (Zhu, Dong, Wang 2022,
    Theorem 10): delta is `composed_delta`. Renyi divergences are integrals of H_g over g with positive weights (Sason
    and Verdu 2016), so that of the pair bounds a step's, and T of them add up (Mironov 2017, Proposition 1), and bound
    delta as well (`renyi_to_delta`). (4) mu and rho. Output y with probability q and a fresh N(0, s^2) otherwise: this
    makes the pair of N(1, s^2) against N(-1, s^2), so it is (2/s)-GDP and 2/s^2-zCDP, and T steps have mu = 2 sqrt(T) /
    s and rho = 2 T / s^2. At rate 1 these are exact, below it they leave the gain of sampling out, as no zCDP bound can
    have it: D_a / a tends to 1 / (2 s^2) as a grows, whatever q is. (5) Rounding. A larger rate or a smaller multiplier
    dominates (keep the output with probability q/q', or add noise), so both may be rounded that way. []
    """

    kind: ClassVar[str] = "subsampled-gaussian"
    multiplier: Fraction
    rate: Fraction
    steps: int

    def __init__(self, multiplier: Real, rate: Real, steps: int) -> None:
        object.__setattr__(self, "multiplier", rational("multiplier", multiplier))
        object.__setattr__(self, "rate", rational("rate", rate))
        object.__setattr__(self, "steps", whole("steps", steps))
        if float_below(self.multiplier) < LEAST_MULTIPLIER:
            raise expected("multiplier", multiplier, f"to be at least {LEAST_MULTIPLIER}: less noise protects nobody")
        if self.rate > 1:
            raise expected("rate", rate, "to be at most 1")
        if steps > MOST_STEPS:
            raise expected("steps", steps, f"to be at most {MOST_STEPS}")

    @property
    def pair(self) -> DominatingPair:
        """The pair that dominates one step, in floats on the safe side."""
        return DominatingPair(float_below(self.multiplier), min(1.0, float_above(self.rate)))

    def rho(self) -> Price:
        """2 steps / multiplier^2, exact."""
        return 2 * self.steps / self.multiplier**2

    def _mu_squared(self) -> Price:
        return 4 * self.steps / self.multiplier**2

    def _renyi(self, order: Fraction) -> Price:
        whole_rows = order * self.rho()
        if self.rate == 1 or order > _LARGEST_ORDER:
            return whole_rows
        return min(whole_rows, self.steps * _renyi_of_one(self.pair, float_above(order)), key=rounded_up)

    def _delta(self, epsilon: Fraction) -> float:
        # delta falls with epsilon, so a smaller one is on the safe side.
        target = max(0.0, float_below(epsilon))
        everyone = gaussian.delta_exact(epsilon, 4 * self.steps / self.multiplier**2)
        return everyone if self.rate == 1 else min(everyone, _delta_of_all(self.pair, self.steps, target))

    def to_plain(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "multiplier": written(self.multiplier),
            "rate": written(self.rate),
            "steps": self.steps,
        }


@lru_cache(maxsize=4096)
def _renyi_of_one(pair: DominatingPair, order: float) -> float:
    return pair.renyi(order)


@lru_cache(maxsize=1024)
def _delta_of_all(pair: DominatingPair, steps: int, epsilon: float) -> float:
    if steps == 1:
        return pair.delta(epsilon)
    found = composed_delta(pair, steps, epsilon)
    if found > _TINY:
        return found
    # Far out the allowances for rounding are what is left of the composition, and the Renyi curve proves less.
    orders = (1 + 2 ** (k / 2) for k in range(21))
    return min(found, *(renyi_to_delta(a, steps * _renyi_of_one(pair, a) * (1 + 1e-12), epsilon) for a in orders))
