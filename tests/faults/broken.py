"""What every fault is made of: a mechanism that claims what the right one claims, and does something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.mechanisms.add_noise import AddNoise, NoisySums
from tacit.mechanisms.local import Local
from tacit.privacy.events import PureEvent
from tacit.privacy.guarantees import ApproxDP, PureDP
from tacit.protocols.local_randomizer import LocalRandomizer


@dataclass(frozen=True)
class Fault:
    """One deliberately broken mechanism. ``plan`` builds it; ``caught_by`` names checks one of which must see it."""

    name: str
    words: str
    plan: Callable[[Any], Any]  # takes pytest's monkeypatch
    caught_by: tuple[str, ...]
    runs: int = 1500
    n: int = 5


@dataclass(frozen=True)
class Lying(NoisySums):
    """Noisy sums whose stated price is what the budget asks for, whatever they really cost."""

    said: Any = None

    def event(self):
        """A false claim: no proof."""
        return self.said if self.said is not None else super().event()


@dataclass(frozen=True)
class BrokenNoise(AddNoise):
    """``change`` makes the broken crossing of the right one and the budget."""

    change: Callable[..., NoisySums] = field(default=lambda right, budget: right)

    def calibrated_mechanism(self, request, noise_parameters=None):
        return self.change(super().calibrated_mechanism(request), request.budget)


@dataclass(frozen=True)
class BrokenLocal(Local):
    """``change`` makes the broken protocol of the right one and the budget."""

    change: Callable[..., Any] = field(default=lambda right, budget: right)

    def calibrated(self, request):
        found = super().calibrated(request)
        return LocalRandomizer(found.schema, found.encoder, self.change(found.protocol, request.budget))


def claim(budget):
    """An event that says that the budget is met."""
    assert isinstance(budget, PureDP | ApproxDP)
    return PureEvent(budget.epsilon)


def lying(right, budget, **changes):
    """The right crossing with some parts exchanged, and the price of the right one."""
    parts = {"statistic": right.statistic, "sensitivity": right.sensitivity, "noise": right.noise, **changes}
    return Lying(**parts, said=claim(budget) if isinstance(budget, PureDP | ApproxDP) else None)


def with_scales(noise, factor):
    """The noise with other scales."""
    return replace(noise, scales=tuple(max(1, round(s * factor)) for s in noise.scales))
