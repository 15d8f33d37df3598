"""A release whose law is only near the one that was priced."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.errors import expected
from tacit.privacy.conversions import Real, approximate_sampler_delta
from tacit.privacy.events import Event
from tacit.privacy.rationals import rational, written
from tacit.privacy.rounding import float_above, float_below


@dataclass(frozen=True, init=False)
class ApproximateEvent(Event):
    """``event`` carried out by a sampler whose law is at most ``distance`` away in total variation.

    Proof: delta' = delta + (1 + e^epsilon) * distance (`approximate_sampler_delta`). A failure counts like a draw that
    is off: both are part of the distance. Total variation says nothing about ratios of densities in the tails, so
    nothing is claimed of pure epsilon, rho, mu or any Renyi divergence.
    """

    kind: ClassVar[str] = "approximate"
    event: Event
    distance: Fraction

    def __init__(self, event: Event, distance: Real) -> None:
        if not isinstance(event, Event):
            raise expected("event", event, "to be an event")
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "distance", rational("distance", distance))
        if self.distance >= 1:
            raise expected("distance", distance, "to be less than 1")

    def _delta(self, epsilon: Fraction) -> float:
        # The exact event's delta may be off by MARGIN relatively, and so may the sum: both terms are positive.
        # It falls with epsilon, so it is asked at one that is not above.
        ideal = self.event.delta(max(0.0, float_below(epsilon)))
        return approximate_sampler_delta(float_above(epsilon), ideal, self.distance)

    def to_plain(self) -> dict[str, Any]:
        """A JSON table."""
        return {"kind": self.kind, "event": self.event.to_plain(), "distance": written(self.distance)}
