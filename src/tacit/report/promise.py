"""The promise of a release in numbers: its price under every definition, and the trade-off that an attacker faces.

The trade-off curve says, for each rate of false alarms, how often an attacker must at least miss, who knows all rows
but one and wants to tell from the release which of two rows that one is.

Proof of the curve: let delta(epsilon) be proved for a release, and let a test have false alarm rate a and miss rate b.
With S the set where the test decides for the second row, P(S) = a and Q(S) = 1 - b. The definition, used for S under
(Q, P) and for its complement under (P, Q), gives 1 - b <= e^epsilon a + delta and 1 - a <= e^epsilon b + delta. So
b >= 1 - delta - e^epsilon a and b >= e^-epsilon (1 - delta - a) for every epsilon, and the largest of these bounds over
any set of epsilons is a bound (Dong, Roth and Su 2022, Proposition 3). []
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.pages.svg import Line, Plot
from tacit.privacy.basis import Basis
from tacit.privacy.composition import compose
from tacit.privacy.events import Event
from tacit.privacy.guarantees import ApproxDP, Guarantee
from tacit.privacy.price_sums import written_up

_EPSILONS = (0.0, *(10 ** (-2 + i / 30) for i in range(112)))  # 0, and 0.01 to 50
_STEPS = 100
_DELTA = 1e-6


@dataclass(frozen=True)
class PriceRow:
    """One line of the table of prices."""

    definition: str
    symbol: str
    value: str


def prices(event: Event, budget: Guarantee) -> list[PriceRow]:
    """What the release costs under each definition, rounded up; a dash where nothing finite is proved."""
    delta = budget.delta if isinstance(budget, ApproxDP) else _DELTA
    near = compose([event]).epsilon(delta)
    if isinstance(budget, ApproxDP) and event.satisfies(budget):
        near = min(near, budget.epsilon)
    found = [
        PriceRow("pure differential privacy", "epsilon", _written(float(event.epsilon()))),
        PriceRow(f"approximate, at delta = {delta:g}", "epsilon", _written(near)),
        PriceRow("zero-concentrated", "rho", _written(float(event.rho()))),
        PriceRow("Gaussian", "mu", _written(event.mu())),
    ]
    if budget.basis is Basis.PROVED:
        return found
    return [replace(price, definition=f"assumed, not proved: {price.definition}") for price in found]


def tradeoff(event: Event, alphas: Sequence[float]) -> list[float]:
    """The least miss rate at each rate of false alarms, by all proved pairs (epsilon, delta) on a grid."""
    known = [(e, event.delta(e)) for e in _EPSILONS]
    pure = float(event.epsilon())
    if pure < 50:
        known.append((pure, 0.0))
    return [max(0.0, *(max(1 - d - math.exp(e) * a, math.exp(-e) * (1 - d - a)) for e, d in known)) for a in alphas]


def tradeoff_plot(event: Event) -> Plot:
    """The curve beside the line of a release that tells nothing."""
    alphas = [i / _STEPS for i in range(_STEPS + 1)]
    betas = tradeoff(event, alphas)
    at_five = betas[_STEPS // 20]
    return Plot(
        name="Misses that no attacker can avoid",
        label=(
            "Trade-off curve. An attacker with 5% false alarms must miss at least "
            f"{_floor(at_five)} of the time; without the release it would be 95%."
        ),
        low=0,
        high=1,
        top=1,
        bands=[Line(alphas, betas)],
        lines=[Line([0, 1], [1, 0], "none"), Line(alphas, betas)],
        texts=[f"At {a:.0%} false alarms: at least {_floor(b)} missed" for a, b in zip(alphas, betas, strict=True)],
        across="false alarms",
        up="misses",
    )


def _floor(share: float) -> str:
    """A percentage rounded down: what is said to be at least so much is."""
    return f"{math.floor(1000 * share) / 10:g}%"


def _written(price: float) -> str:
    return written_up(price) if math.isfinite(price) else "–"
