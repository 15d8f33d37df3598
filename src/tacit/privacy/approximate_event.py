"""Releases whose distribution is only near the one that was priced: by a proof, or by an assumption."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.errors import expected
from tacit.privacy.basis import Basis
from tacit.privacy.conversions import Real, approximate_sampler_delta
from tacit.privacy.events import Event
from tacit.privacy.rationals import rational, written
from tacit.privacy.rounding import float_above, float_below


@dataclass(frozen=True, init=False)
class NearEvent(Event):
    """``event`` carried out by a sampler whose distribution is at most ``distance`` away in total variation.

    Proof: delta' = delta + (1 + e^epsilon) * distance (`approximate_sampler_delta`). A failure counts like a draw that
    is off: both are part of the distance. Total variation says nothing about ratios of densities in the tails, so
    nothing is claimed of pure epsilon, rho, mu or any Renyi divergence.
    """

    event: Event
    distance: Fraction

    def __init__(self, event: Event, distance: Real) -> None:
        if not isinstance(event, Event):
            raise expected("event", event, "to be an event")
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "distance", rational("distance", distance))
        if self.distance >= 1:
            raise expected("distance", distance, "to be less than 1")

    @property
    @abstractmethod
    def basis(self) -> Basis:
        """Whether the distance is proved or assumed."""

    def _delta(self, epsilon: Fraction) -> float:
        # The exact event's delta may be off by MARGIN relatively, and so may the sum: both terms are positive.
        # It falls with epsilon, so it is asked at one that is not above.
        ideal = self.event.delta(max(0.0, float_below(epsilon)))
        return approximate_sampler_delta(float_above(epsilon), ideal, self.distance)

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "event": self.event.to_plain(), "distance": written(self.distance)}


@dataclass(frozen=True, init=False)
class ApproximateEvent(NearEvent):
    """A `NearEvent` whose ``distance`` is proved for every data set.

    Proof: that of `NearEvent`. []
    """

    kind: ClassVar[str] = "approximate"

    @property
    def basis(self) -> Basis:
        return Basis.PROVED


@dataclass(frozen=True, init=False)
class AssumedEvent(NearEvent):
    """A `NearEvent` whose ``distance`` was declared for a Markov chain, and is bounded by nobody.

    Proof: that of `NearEvent`, if the chain is as near as was declared. The basis says that this is an assumption. []
    """

    kind: ClassVar[str] = "assumed"

    @property
    def basis(self) -> Basis:
        return Basis.ASSUMED
