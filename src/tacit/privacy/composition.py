"""What a list of events costs together, when the list was fixed before the first release; and how to plan such a list.

For releases chosen one after the other, each in view of those before it, use `Filter`. Nothing here is ever charged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.errors import expected
from tacit.privacy import gaussian
from tacit.privacy.approximate_filter import gaussian_mu, ideal_gaussian
from tacit.privacy.conversions import (
    approximate_sampler_delta,
    pure_to_delta,
    renyi_to_delta,
    renyi_to_epsilon,
)
from tacit.privacy.events import Event, RenyiEvent, rounded_up
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.loss_distribution import loss_distribution
from tacit.privacy.price_sums import sum_of
from tacit.privacy.rounding import float_below

_PROVED = ("gaussian", "renyi", "pure")


@dataclass(frozen=True)
class Composition:
    """Several events, fixed beforehand, seen as one: its epsilon for each delta, and its delta for each epsilon.

    ``by`` names the way to bound it; left out, the least of the first three is taken.

    gaussian   sqrt(sum mu_i^2)-GDP (Dong, Roth, Su 2022, Corollary 3.3), exact if all events are Gaussian with slack 0;
               slacks add (1 + e^epsilon) sum slack_i to delta (`approximate_sampler_delta`)
    renyi      Renyi divergences add at every order (Mironov 2017, Proposition 1), then the conversion at the best one;
               it is valid at any order, so the search for the best one may end anywhere
    pure       epsilons add (Dwork, McSherry, Nissim, Smith 2006)
    pld        privacy loss distributions (`loss_distribution`), slacks added as above: the tightest, but its digits
               rest on the package dp-accounting; to be shown, never charged
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        if not self.events:
            raise expected("events", self.events, "to hold at least one event")

    def epsilon(self, delta: float, *, by: str | None = None) -> float:
        """The least epsilon at ``delta``; inf where this way proves none."""
        if not 0 < delta < 1:
            raise expected("delta", delta, "to lie strictly between 0 and 1")
        match _known(by):
            case "gaussian":
                mu = self._mu()
                return math.inf if mu == math.inf else self._with_slack(delta, lambda d: gaussian.epsilon_for(mu, d))
            case "renyi":
                return self._best(lambda order, tau: renyi_to_epsilon(order, tau, delta))
            case "pure":
                return _pure_epsilon(self._pure(), delta)
            case "pld":
                return self._with_slack(delta, loss_distribution(self.events).get_epsilon_for_delta)
            case _:
                return min(self.epsilon(delta, by=way) for way in _PROVED)

    def delta(self, epsilon: float, *, by: str | None = None) -> float:
        """The least delta at ``epsilon``; 1 where this way proves none."""
        if not (math.isfinite(epsilon) and epsilon >= 0):
            raise expected("epsilon", epsilon, "to be a finite number of at least 0")
        match _known(by):
            case "gaussian":
                mu = self._mu()
                ideal = 1.0 if mu == math.inf else gaussian.delta(epsilon, mu)
                return approximate_sampler_delta(epsilon, ideal, self._slack())
            case "renyi":
                return min(1.0, self._best(lambda order, tau: renyi_to_delta(order, tau, epsilon)))
            case "pure":
                pure = self._pure()
                return pure_to_delta(pure, epsilon) if isinstance(pure, Fraction) else 1.0
            case "pld":
                ideal = min(1.0, float(loss_distribution(self.events).get_delta_for_epsilon(epsilon)))
                return approximate_sampler_delta(epsilon, ideal, self._slack())
            case _:
                return min(self.delta(epsilon, by=way) for way in _PROVED)

    def _mu(self) -> float:
        total = sum_of(ideal_gaussian(event)[0] for event in self.events)
        return math.nextafter(math.sqrt(total), math.inf)

    def _slack(self) -> Fraction:
        return min(Fraction(1), sum((ideal_gaussian(event)[1] for event in self.events), Fraction(0)))

    def _pure(self) -> Fraction | float:
        return sum_of(event.epsilon() for event in self.events)

    def _with_slack(self, delta: float, epsilon_for: Callable[[float], float]) -> float:
        """The least epsilon with ideal delta(epsilon) + (1 + e^epsilon) slack <= ``delta``, approached from below."""
        slack = self._slack()
        epsilon = float(epsilon_for(delta))
        for _ in range(100 if slack else 0):
            ideal = delta - approximate_sampler_delta(epsilon, 0.0, slack) * (1 + 1e-12)
            if ideal <= 0:
                return math.inf
            following = float(epsilon_for(ideal))
            if following <= epsilon * (1 + 1e-12):
                return following * (1 + 1e-9)
            epsilon = following
        return epsilon if not slack else math.inf

    def _best(self, convert: Callable[[float, float], float]) -> float:
        """The least of ``convert(order, tau)`` over the orders, tau the sum of the events' Renyi prices."""
        points = [event.order for event in self.events if isinstance(event, RenyiEvent)]
        largest = float_below(min(points)) if points else math.inf

        counts = Counter(self.events)

        def at(t: float) -> float:
            order = min(largest, 1 + math.exp(t))
            return convert(order, math.fsum(n * rounded_up(event.renyi(order)) for event, n in counts.items()))

        grid = [-12 + 0.5 * i for i in range(60)]
        values = [at(t) for t in grid]
        best = min(range(len(grid)), key=values.__getitem__)
        found, centre, step = values[best], grid[best], 0.25
        while step > 1e-5:  # a quadratic minimum: the value is then right to about 1e-10
            around = {centre + step: at(centre + step), centre - step: at(centre - step)}
            nearer = min(around, key=around.__getitem__)
            if around[nearer] < found:
                found, centre = around[nearer], nearer
            else:
                step /= 2
        return found


def compose(events: Sequence[Event]) -> Composition:
    """The composition of ``events``, a list that was fixed beforehand."""
    return Composition(tuple(events))


def split(total: Guarantee, shares: Sequence[float]) -> list[Guarantee]:
    """Guarantees for several planned releases that keep ``total`` together, in proportion to ``shares``.

    Pure and zCDP parts share epsilon and rho, Renyi parts epsilon at the total's order. Gaussian DP parts share mu^2:
    mu_i = mu sqrt(share_i). An (epsilon, delta) total is split into Gaussian DP parts: mu is the largest one that the
    filter lets Gaussian releases have together under this total, so that a ledger admits all the parts; it is 0.3 to 1
    percent of mu^2 below the mu of the Gaussian curve. All parts are under the total's neighbour relation.

    Proof: each part is rounded down, so the sums of epsilon, rho or mu^2 do not exceed the total's, and these sums are
    what `Filter` limits.

    ```pycon
    >>> [one.symbols for one in tacit.split(tacit.PureDP(epsilon=1.0), [0.5, 0.5])]
    ['epsilon = 0.5', 'epsilon = 0.5']

    ```
    """
    weights = [_weight(share) for share in shares]
    if not weights:
        raise expected("shares", list(shares), "to hold at least one number")
    parts = [weight / sum(weights) for weight in weights]
    return [replace(one, neighbours=total.neighbours) for one in _parts(total, parts)]


def _parts(total: Guarantee, parts: Sequence[Fraction]) -> Sequence[Guarantee]:
    match total:
        case PureDP(epsilon=epsilon):
            return [PureDP(float_below(Fraction(epsilon) * part)) for part in parts]
        case ZCDP(rho=rho):
            return [ZCDP(float_below(Fraction(rho) * part)) for part in parts]
        case RenyiDP(order=order, epsilon=epsilon):
            return [RenyiDP(order, float_below(Fraction(epsilon) * part)) for part in parts]
        case GDP(mu=mu):
            return [GDP(_root_below(Fraction(mu) ** 2 * part)) for part in parts]
        case ApproxDP():
            return _parts(GDP(gaussian_mu(total)), parts)
        case _:
            raise expected("total", total, "to be one of the definitions in tacit.privacy.guarantees")


def _known(way: str | None) -> str | None:
    if way is not None and way not in (*_PROVED, "pld"):
        raise expected("by", way, f"to be one of {', '.join(_PROVED)} and pld")
    return way


def _pure_epsilon(pure: Fraction | float, delta: float) -> float:
    """The inverse of `pure_to_delta`: ln(e^pure - delta (1 + e^pure)), or 0."""
    if pure == math.inf:
        return math.inf
    fall = delta * (1 + math.exp(-float(pure)))
    return max(0.0, float(pure) + math.log1p(-fall)) if fall < 1 else 0.0


def _weight(share: object) -> Fraction:
    if isinstance(share, bool) or not isinstance(share, int | float | Fraction) or not 0 < share < math.inf:
        raise expected("share", share, "to be a finite number above 0")
    return Fraction(share)


def _root_below(square: Fraction) -> float:
    """The largest float whose square is at most ``square``."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0)
    return root
