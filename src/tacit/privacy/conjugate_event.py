"""Draws from the posterior of a conjugate family: what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from tacit.errors import expected
from tacit.privacy import beta_profile
from tacit.privacy.conjugate_worst import FAMILIES, largest_order, pair_renyi, worst_pairs, worst_renyi
from tacit.privacy.conversions import Real, renyi_to_delta
from tacit.privacy.events import Event, Price, rounded_up
from tacit.privacy.rationals import rational, whole, written
from tacit.privacy.rounding import float_below

_SIZES = {"beta": 2, "beta-query": 2, "gamma-shape": 1, "gamma-rate": 2}


@dataclass(frozen=True, init=False)
class ConjugateEvent(Event):
    """``draws`` independent draws from a posterior of ``family``, one record adding at most ``weight`` to a coordinate.

    ``prior`` holds the coordinates before any row (`worst_renyi`); ``n`` is the number of rows, 0 if not declared.
    A "beta" is about rows that are 0 or 1, a "beta-query" about rows anywhere between.

    Proof: `conjugate_worst` bounds D_order over all neighbours, in both directions, exactly; independent draws add.
    delta: with one draw, rows that are 0 or 1 and n declared it is the exact profile (`beta_profile`); otherwise what
    the Renyi curve proves at the best order, any order giving a valid bound (`renyi_to_delta`). From lambda* on the
    divergence is infinite, so there is no pure epsilon and no rho; and no mu is proved.
    """

    kind: ClassVar[str] = "conjugate"
    family: str
    prior: tuple[Fraction, ...]
    weight: Fraction
    n: int
    draws: int

    def __init__(self, family: str, prior: Sequence[Real], weight: Real, n: int, draws: int) -> None:
        if family not in FAMILIES:
            raise expected("family", family, f"to be one of {', '.join(FAMILIES)}")
        if not isinstance(prior, list | tuple) or len(prior) != _SIZES.get(family, max(2, len(prior))):
            raise expected("prior", prior, f"to hold the coordinates of a {family} prior")
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "prior", tuple(rational("prior", value) for value in prior))
        object.__setattr__(self, "weight", rational("weight", weight))
        object.__setattr__(self, "n", whole("n", n, least=0))
        object.__setattr__(self, "draws", whole("draws", draws))
        if family == "dirichlet" and len(self.prior) < 3:
            raise expected("prior", prior, "to have three levels or more; two are a beta")

    @property
    def largest_order(self) -> Fraction:
        """lambda*: below this order every price is finite."""
        return largest_order(self.family, self.prior, self.weight)

    def _renyi(self, order: Fraction) -> Price:
        if order >= self.largest_order:
            return math.inf
        return self.draws * _worst(self.family, self.prior, self.weight, self.n or None, order)

    def _delta(self, epsilon: Fraction) -> float:
        target = max(0.0, float_below(epsilon))  # delta falls with epsilon
        largest = sum(self.prior) + self.weight * self.n
        few = 1 <= self.n <= beta_profile.MOST_ROWS and largest <= beta_profile.LARGEST
        few = few and self.weight <= 1 and min(self.prior) >= beta_profile.SMALLEST
        if self.family == "beta" and self.draws == 1 and few:
            return beta_profile.delta(self.prior[0], self.prior[1], self.weight, self.n, target)
        return self.delta_by_renyi(target)

    def delta_by_renyi(self, epsilon: float) -> float:
        """The least delta at ``epsilon`` that the Renyi curve proves: the search over orders may end anywhere.

        The order is looked for with the pair that is the worst at one order; the price there is that of all pairs.
        """
        top = float(self.largest_order) - 1
        pairs = list(worst_pairs(self.family, self.prior, self.weight, self.n or None))
        middle = 1 + Fraction(top / 2)
        pair = max(pairs, key=lambda found: pair_renyi(self.family, self.prior, found, middle))

        def order_at(t: float) -> float:
            return 1 + top / (1 + math.exp(-t))

        def at(t: float) -> float:
            order = order_at(t)
            if not 1 < order < float(self.largest_order):
                return 1.0
            found = self.draws * pair_renyi(self.family, self.prior, pair, Fraction(order))
            return renyi_to_delta(order, found, epsilon)

        order = order_at(_best(at))
        if not 1 < order < float(self.largest_order):
            return 1.0
        return renyi_to_delta(order, float(rounded_up(self.renyi(order))), epsilon)

    def to_plain(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "family": self.family,
            "prior": [written(value) for value in self.prior],
            "weight": written(self.weight),
            "n": self.n,
            "draws": self.draws,
        }


@lru_cache(maxsize=8192)
def _worst(family: str, prior: tuple[Fraction, ...], weight: Fraction, n: int | None, order: Fraction) -> float:
    return worst_renyi(family, prior, weight, n, order)


def _best(at: Callable[[float], float]) -> float:
    """Where the value is least, on a grid of logits of the order's share of lambda* that is refined around its best."""
    grid = [-12 + 1.5 * i for i in range(15)]
    values = [at(t) for t in grid]
    best = min(range(len(grid)), key=values.__getitem__)
    found, centre, step = values[best], grid[best], 0.75
    while step > 1e-3:
        around = {centre + step: at(centre + step), centre - step: at(centre - step)}
        nearer = min(around, key=around.__getitem__)
        if around[nearer] < found:
            found, centre = around[nearer], nearer
        else:
            step /= 2
    return centre
