"""Several independent uses of one mechanism on the same rows, fixed beforehand, as one event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.errors import expected
from tacit.privacy import bounded_range_draws, gaussian
from tacit.privacy.conversions import pure_to_delta, renyi_to_delta
from tacit.privacy.events import BoundedRangeEvent, Event, Price, rounded_up
from tacit.privacy.rationals import whole
from tacit.privacy.rounding import float_below

_LOG_ORDERS = [-8 + 0.25 * i for i in range(97)]  # of order - 1


@dataclass(frozen=True, init=False)
class RepeatedEvent(Event):
    """``event`` carried out ``times`` times, each with coins of its own: k draws from one posterior.

    Proof: the outputs are independent given the rows, so their log ratios add. Hence pure epsilon, rho, mu^2 (Dong,
    Roth, Su 2022, Corollary 3.3) and the Renyi divergence of each order (Mironov 2017, Proposition 1) are ``times``
    those of one. delta is the least of what these prove: from pure epsilon, from mu, from the Renyi curve at the best
    order of a grid, where any order gives a valid bound (`renyi_to_delta`), and for draws of bounded range the exact
    one (`bounded_range_draws`).
    """

    kind: ClassVar[str] = "repeated"
    event: Event
    times: int

    def __init__(self, event: Event, times: int) -> None:
        if not isinstance(event, Event):
            raise expected("event", event, "to be an event")
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "times", whole("times", times))

    def epsilon(self) -> Price:
        """``times`` that of one."""
        return self._times(self.event.epsilon())

    def rho(self) -> Price:
        """``times`` that of one."""
        return self._times(self.event.rho())

    def _mu_squared(self) -> Price:
        mu = rounded_up(self.event.mu())
        return math.inf if mu == math.inf else self.times * Fraction(mu) ** 2

    def _renyi(self, order: Fraction) -> Price:
        return self._times(self.event.renyi(float(order)))

    def _delta(self, epsilon: Fraction) -> float:
        # delta falls with epsilon, so a smaller one is on the safe side.
        target, pure, mu = max(0.0, float_below(epsilon)), self.epsilon(), self.mu()
        found = [1.0]
        if pure < math.inf:
            found.append(pure_to_delta(Fraction(pure), epsilon))
        if 0 < mu < math.inf:
            found.append(gaussian.delta(target, float(rounded_up(mu))))
        if isinstance(self.event, BoundedRangeEvent) and self.times <= bounded_range_draws.MOST:
            found.append(bounded_range_draws.delta(self.event.pure, self.times, epsilon))
        for t in _LOG_ORDERS:
            order = 1 + math.exp(t)
            found.append(renyi_to_delta(order, float(rounded_up(self.times * self.event.renyi(order))), target))
        return min(found)

    def _times(self, price: Price) -> Price:
        return price if price == math.inf else self.times * price

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "event": self.event.to_plain(), "times": self.times}
