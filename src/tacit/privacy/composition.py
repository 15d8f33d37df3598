"""What a list of events costs together, when the list was fixed before the first release; and how to plan such a list.

For releases chosen one after the other, each in view of those before it, use `Filter`. Nothing here is ever charged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.errors import InputError, expected
from tacit.privacy import gaussian
from tacit.privacy.approximate_filter import gaussian_mu, ideal_gaussian
from tacit.privacy.conversions import pure_to_delta, renyi_to_delta, renyi_to_epsilon
from tacit.privacy.events import MARGIN, Event, GaussianEvent, LaplaceEvent, RenyiEvent
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.sums import float_below, sum_of

PROVED = ("gaussian", "renyi", "pure")
WAYS = (*PROVED, "pld")


@dataclass(frozen=True)
class Composition:
    """Several events, fixed beforehand, as one: its curve of epsilon against delta.

    ``by`` names the way it is bounded; left out, the least of the first three is taken.

    gaussian   sqrt(sum mu_i^2)-GDP (Dong, Roth, Su 2022, Corollary 3.3), exact where all events are Gaussian with slack 0;
               slacks add delta (1 + e^epsilon) sum slack_i, as in `approximate_sampler_delta`
    renyi      Renyi divergences add at each order (Mironov 2017, Proposition 1), then `renyi_to_epsilon` at the order
               that is best; any order is valid, so the search for it may end anywhere
    pure       epsilons add (Dwork, McSherry, Nissim, Smith 2006)
    pld        the distribution of the privacy loss, convolved numerically by the package dp-accounting (extra
               ``accounting``): the tightest, but its digits rest on that package; shown, never charged

    Proof: of ``pld``. Each event is replaced by a pair of laws that dominates its own: N(0, 1) against N(mu, 1) for a
    Gaussian one (its definition; slacks as above), Laplace noise shifted by `laplace_shift` for discrete Laplace noise, and
    randomised response for all that is known to be pure. Domination survives composition (Dong, Roth, Su 2022, Lemma C.2).
    The pairs are given to the package with sensitivity 1 under add-or-remove, where it takes exactly these two laws;
    doubling a sensitivity for replace-one is left to our own sensitivities, which have done it.
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        if not self.events:
            raise expected("events", (), "to name at least one event")

    def epsilon(self, delta: float, *, by: str | None = None) -> float:
        """The least epsilon at ``delta``; inf where this way gives none."""
        if not 0 < delta < 1:
            raise expected("delta", delta, "to lie strictly between 0 and 1")
        match _way(by):
            case "gaussian":
                mu = self._mu
                return self._with_slack(delta, lambda d: gaussian.epsilon_for(mu, d)) if mu < math.inf else math.inf
            case "renyi":
                return _least(lambda order: renyi_to_epsilon(order, self._renyi(order), delta), self._largest_order)
            case "pure":
                pure = self._pure
                # The inverse of `pure_to_delta`.
                whole = delta * (1 + math.exp(-pure))
                return max(0.0, pure + math.log1p(-whole)) if pure < math.inf and whole < 1 else pure and 0.0 * pure
            case "pld":
                return self._with_slack(delta, self._loss.get_epsilon_for_delta)
            case _:
                return min(self.epsilon(delta, by=way) for way in PROVED)

    def delta(self, epsilon: float, *, by: str | None = None) -> float:
        """The least delta at ``epsilon``; 1 where this way gives none."""
        if not (math.isfinite(epsilon) and epsilon >= 0):
            raise expected("epsilon", epsilon, "to be a finite number of at least 0")
        match _way(by):
            case "gaussian":
                return self._add_slack(epsilon, gaussian.delta(epsilon, self._mu)) if self._mu < math.inf else 1.0
            case "renyi":
                return _least(lambda order: renyi_to_delta(order, self._renyi(order), epsilon), self._largest_order)
            case "pure":
                return pure_to_delta(self._pure, epsilon) if self._pure < math.inf else 1.0
            case "pld":
                return self._add_slack(epsilon, self._loss.get_delta_for_epsilon(epsilon))
            case _:
                return min(self.delta(epsilon, by=way) for way in PROVED)
