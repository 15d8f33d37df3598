"""Faults of posterior draws: too much weight, said or not, a draw that is kept, one direction of a divergence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import tacit
from faults.broken import Fault
from tacit.audit.conjugate_distributions import LineDistribution, pair_cells
from tacit.audit.curve import _renyi
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws, PosteriorSample
from tacit.privacy.events import RenyiEvent

YES_NO = (tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]))
BUDGET = tacit.RenyiDP(2.0, 0.5)


@dataclass(frozen=True)
class LyingDraws(PosteriorDraws):
    """Draws whose stated price is what the budget asks for; ``factor`` multiplies the weight that is really used."""

    factor: float = 1.0
    kept: Any = None

    def event(self):
        """A false claim: no proof."""
        return RenyiEvent(BUDGET.order, BUDGET.epsilon)

    def cross(self, collected, n, entropy):
        if self.kept is not None and self.kept:
            return self.kept[0]
        numbers = dict(self.drawn.numbers)
        numbers["weight"] *= self.factor
        (draw,) = self.loss.draw(numbers, collected, n, entropy)
        found = tuple(round(v * self.unit) for v in draw)
        if self.kept is not None:
            self.kept.append(found)
        return found


@dataclass(frozen=True)
class BrokenSample(PosteriorSample):
    """``change`` makes the broken crossing of the right one."""

    change: Callable[..., PosteriorDraws] = field(default=lambda right: right)

    def calibrated_mechanism(self, request, noise_parameters=None):
        return self.change(super().calibrated_mechanism(request))


def _weighted(right, weight):
    numbers = dict(right.drawn.numbers)
    numbers["weight"] = weight
    return LyingDraws(right.loss, replace(right.drawn, numbers=tuple(sorted(numbers.items()))))


def _twice_and_said(right):
    return _weighted(right, 2 * right.drawn.number("weight"))


def _twice(right):
    return LyingDraws(right.loss, right.drawn, factor=2.0)


@lru_cache(maxsize=1)
def _tame_weight():
    """The largest weight whose divergence is small enough from none of 20 to one of 20, in the tamer direction."""
    low, high = 0.0, 0.9
    for _ in range(20):
        weight = (low + high) / 2
        none, one = (1.0, 1.0 + 20 * weight), (1.0 + weight, 1.0 + 19 * weight)
        pair = pair_cells(LineDistribution("beta", none), LineDistribution("beta", one))
        small = _renyi(pair.log_q, pair.log_p, BUDGET.order) <= BUDGET.epsilon
        low, high = (weight, high) if small else (low, weight)
    return low


def _one_direction(right):
    return _weighted(right, _tame_weight())


def plan_of(change):
    return tacit.Plan(*YES_NO, BUDGET, BrokenSample(change=change))


FAULTS = [
    Fault(
        "a posterior draw of twice the weight, said",
        "the data count twice, and the price is that of once",
        lambda m: plan_of(_twice_and_said),
        ("exact curve",),
        runs=0,
    ),
    Fault(
        "a posterior draw of twice the weight, not said",
        "the density that is drawn from is not the stated one",
        lambda m: plan_of(_twice),
        ("outcomes",),
        runs=4000,
        n=40,
    ),
    Fault(
        "a posterior draw that is kept",
        "the second release of other rows is the first one again",
        lambda m: plan_of(lambda right: LyingDraws(right.loss, right.drawn, kept=[])),
        ("outcomes",),
    ),
    Fault(
        "a divergence of posteriors in one direction",
        "calibrated from the data set whose draws are the tamer ones",
        lambda m: plan_of(_one_direction),
        ("exact curve",),
        runs=0,
    ),
]
