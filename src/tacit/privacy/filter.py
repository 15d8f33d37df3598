"""Admission of releases against a total, when each may be chosen after seeing the ones before it.

A filter looks at events alone, never at data or outputs, and says whether one more fits. If only events that fit are
carried out, the whole sequence keeps the total's promise, however the analyst picked them (the fully adaptive setting
of Rogers, Roth, Ullman, Vadhan 2016).

Proof: fix two neighbouring data sets (replace-one, n public). Given the past, output i has the distributions P_i and
Q_i on them, and event i, chosen from the past, bounds every divergence between them. L is the sum of ln(P_i / Q_i)
under P.

PureDP      |ln(P_i / Q_i)| <= epsilon_i surely, so |L| <= sum epsilon_i <= epsilon surely.
RenyiDP     M = exp((a - 1) (L - sum_i tau_i)), tau_i the price at the total's order a, is a supermartingale that
            starts at 1: tau_i is known before output i, and E[(P_i / Q_i)^(a-1) | past] = e^((a-1) D_a) <=
            e^((a-1) tau_i). As sum tau_i <= epsilon surely, E[e^((a-1) L)] <= e^((a-1) epsilon) E[M] <=
            e^((a-1) epsilon) (also Feldman and Zrnic 2021).
ZCDP        the same at every order a > 1, with tau_i = a rho_i and sum tau_i <= a rho. The rule, sum rho_i <= rho, is
            one rule for all orders, so they all hold at once.
GDP         sum mu_i^2 <= mu^2: the transcript is a randomisation of a Brownian path up to time mu^2. The argument
            stands in `approximate_filter` (also Smith and Thakurta 2022).
ApproxDP    see `approximate_filter`. Epsilons of approximate DP are never added.

Sums are exact up to a rounding that is always upwards: rationals as they are, floats rounded up by more than they can
be wrong, and a denominator of more than 1024 bits rounded up as well (`price_sums`). So a filter needs of the past its
first event and a few sums (`Spent`), which take the same room and time however many events there were. A single event
needs no composition, so a first event is admitted as well if it satisfies the total by its own proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.errors import expected
from tacit.privacy import gaussian
from tacit.privacy.approximate_filter import ideal_gaussian, limits
from tacit.privacy.events import Event, GaussianEvent, Price, PureEvent, RenyiEvent, rounded_up
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.price_sums import as_declared, plus, sum_of, written_down, written_up
from tacit.privacy.rounding import float_below
from tacit.privacy.spent import Spent

Past = Sequence[Event] | Spent


@dataclass(frozen=True)
class Largest:
    """The largest next release that fits, by each definition and rounded down; None: none does, or none is proved to.

    ``epsilon`` is that of any pure release. ``rho``, ``mu`` and ``approximate``, an epsilon at ``delta``, are those of
    Gaussian noise of slack 0, which rounded Gaussian noise has. They are alternatives: one of them, not all.
    """

    epsilon: float | None
    rho: float | None
    mu: float | None
    approximate: float | None
    delta: float | None


@dataclass(frozen=True)
class Filter:
    """Says which events still fit ``total``. What came before is given as all events, or as what `add` kept of them."""

    total: Guarantee

    def __post_init__(self) -> None:
        if not isinstance(self.total, PureDP | ApproxDP | ZCDP | GDP | RenyiDP):
            raise expected("total", self.total, "to be one of the definitions in tacit.privacy.guarantees")

    def spent(self, events: Past = ()) -> Spent:
        """All that this filter needs to remember of ``events``, in their order."""
        if isinstance(events, Spent):
            return events
        known = Spent()
        for event in events:
            known = self.add(known, event)
        return known

    def add(self, spent: Spent, event: Event) -> Spent:
        """``spent`` and one event more."""
        first = event if spent.first is None else spent.first
        prices = limits(self.total, first).prices(event) if isinstance(self.total, ApproxDP) else (self.price(event),)
        sums = spent.sums or (Fraction(0),) * len(prices)
        return Spent(spent.count + 1, first, tuple(plus(*pair) for pair in zip(sums, prices, strict=True)))

    def within(self, events: Sequence[Event]) -> bool:
        """Whether these events, in this order, keep the total. If they do, so does every beginning of the list."""
        return not events or self.admits(events[:-1], events[-1])

    def admits(self, spent: Past, new: Event) -> bool:
        """Whether ``new`` fits after ``spent``."""
        known = self.spent(spent)
        if known.first is None and new.satisfies(self.total):
            return True
        if isinstance(self.total, ApproxDP):
            return limits(self.total, new if known.first is None else known.first).minus(known.sums).hold(new)
        return self.add(known, new).sums[0] <= self._limit()

    def left(self, spent: Past) -> Guarantee | None:
        """What remains, in the total's own definition and rounded down; None if nothing does.

        For a sum it is the total less what was spent. For (epsilon, delta), where there is no such difference, it is
        the largest epsilon at the total's delta that one more release with Gaussian or pure noise may have.
        """
        spent = self.spent(spent)
        if spent.first is None:
            return self.total
        relation = self.total.neighbours
        match self.total:
            case ApproxDP(delta=delta):
                epsilon = max(self._gaussian_epsilon(spent, delta), self._pure_epsilon(spent))
                return ApproxDP(epsilon, delta, neighbours=relation) if epsilon > 0 else None
            case PureDP():
                rest = float_below(self._rest(spent))
                return PureDP(rest, neighbours=relation) if rest > 0 else None
            case ZCDP():
                rest = float_below(self._rest(spent))
                return ZCDP(rest, neighbours=relation) if rest > 0 else None
            case RenyiDP(order=order):
                rest = float_below(self._rest(spent))
                return RenyiDP(order, rest, neighbours=relation) if rest > 0 else None
            case _:
                rest = self._rest(spent)
                mu = math.sqrt(rest) * (1 - 2**-50) if rest > 0 else 0.0
                return GDP(mu, neighbours=relation) if mu > 0 else None

    def largest_fit(self, spent: Past) -> str:
        """What would still be admitted, in words and rounded down: a plan that asks for this is not refused.

        (Gaussian noise on a lattice that is coarse against it has a slack, and may need more than is said here.)
        """
        match self.total:
            case ApproxDP(delta=delta):
                fits = [
                    f"{noise} noise up to epsilon = {written_down(epsilon)}{at}"
                    for noise, epsilon, at in (
                        ("Gaussian", self._gaussian_epsilon(spent, delta), f" at delta = {delta:g}"),
                        ("Laplace", self._pure_epsilon(spent), ""),
                    )
                    if epsilon > 0
                ]
                return f"a plan with {' or with '.join(fits)} would fit" if fits else "no release would fit"
            case RenyiDP(order=order):
                at = f" at order = {order:g}"
            case _:
                at = ""
        rest = self._rest(spent)
        if rest <= 0:
            return "no release would fit"
        return f"a plan with {self._symbol} = {written_down(self._shown(rest))}{at} or less would fit"

    def largest(self, spent: Past, delta: float | None) -> Largest:
        """What fits next under each definition; without a ``delta`` nothing is said of approximate DP."""
        fits = self._fits(spent)
        return Largest(
            epsilon=self._pure_epsilon(spent) or None,
            rho=_largest(lambda rho: fits(GaussianEvent(2 * Fraction(rho), 0))) or None,
            mu=_largest(lambda mu: fits(GaussianEvent(Fraction(mu) ** 2, 0))) or None,
            approximate=None if delta is None else self._gaussian_epsilon(spent, delta) or None,
            delta=delta,
        )

    def why_not(self, spent: Past, new: Event) -> str:
        """Why ``new`` is refused after ``spent``, what is left and what would fit, as the middle of a sentence."""
        total = self.total.symbols
        if isinstance(self.total, ApproxDP):
            return f"it costs more than is left of {total}; {self.largest_fit(spent)}"
        price, rest = self.price(new), self._rest(spent)
        if price == math.inf:
            return f"nothing is proved about its {self._symbol}, and the total is {total}; {self.largest_fit(spent)}"
        cost = f"it costs {self._symbol} = {written_up(self._shown(price))}"
        left = f"{self._symbol} = {written_down(self._shown(rest))}" if rest > 0 else "nothing"
        return f"{cost}, and {left} is left of {total}; {self.largest_fit(spent)}"

    def price(self, event: Event) -> Price:
        """What ``event`` adds to the sum that the total limits: epsilon, rho, mu^2, or the Renyi price at its order."""
        match self.total:
            case PureDP():
                return event.epsilon()
            case ZCDP():
                return event.rho()
            case GDP():
                mu_squared, slack = ideal_gaussian(event)
                return mu_squared if slack == 0 else math.inf
            case RenyiDP(order=order):
                return _renyi_price(event, Fraction(order))
            case _:
                raise expected("total", self.total, "to be a total that limits a sum")

    def _limit(self) -> Fraction:
        match self.total:
            case PureDP(epsilon=limit) | ZCDP(rho=limit) | RenyiDP(epsilon=limit):
                return as_declared(limit)
            case GDP(mu=mu):
                return as_declared(mu) ** 2
            case _:
                raise expected("total", self.total, "to be a total that limits a sum")

    def _rest(self, spent: Past) -> Price:
        return self._limit() - sum_of(self.spent(spent).sums)

    @property
    def _symbol(self) -> str:
        return "rho" if isinstance(self.total, ZCDP) else "mu" if isinstance(self.total, GDP) else "epsilon"

    def _shown(self, price: Price) -> Price:
        """The sum's number as the total spells it: mu where the sum is of mu^2."""
        return math.sqrt(price) if isinstance(self.total, GDP) else price

    def _gaussian_epsilon(self, spent: Past, delta: float) -> float:
        """The largest epsilon at ``delta`` of a release with Gaussian noise that fits; 0 if none does."""
        fits = self._fits(spent)
        return _largest(lambda epsilon: fits(GaussianEvent(Fraction(gaussian.mu_for(epsilon, delta)) ** 2, 0)))

    def _pure_epsilon(self, spent: Past) -> float:
        """The largest epsilon of a pure release that fits; 0 if none does."""
        fits = self._fits(spent)
        return _largest(lambda epsilon: fits(PureEvent(epsilon)))

    def _fits(self, spent: Past) -> Callable[[Event], bool]:
        """`admits` after ``spent``, with the sums over ``spent`` taken once."""
        known = self.spent(spent)
        if known.first is None:
            return lambda event: self.admits((), event)
        if isinstance(self.total, ApproxDP):
            return limits(self.total, known.first).minus(known.sums).hold
        rest = self._rest(known)
        return lambda event: sum_of([self.price(event)]) <= rest


@lru_cache(maxsize=4096)
def _renyi_price(event: Event, order: Fraction) -> Price:
    """The least proved bound on D_order, exact where one is.

    Proof: D_order is at most the largest log ratio, and at most order * rho, besides the event's own bound.
    """
    if isinstance(event, RenyiEvent):
        return event.divergence if order <= event.order else math.inf
    rho = event.rho()
    bounds: list[Price] = [event.epsilon(), event.renyi(float(order))]
    if isinstance(rho, Fraction):
        bounds.append(order * rho)
    return min(bounds, key=rounded_up)


def _largest(fits: Callable[[float], bool]) -> float:
    """The largest number that fits, up to one part in 10^9 and rounded down; 0 if none above 10^-9 does.

    If the limit is a short decimal it is met exactly, so that 0.3 does not read 0.299999.
    """
    low, high = 0.0, 1.0
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
        if high < 1e-9:
            return 0.0
    short = float(f"{high:.8g}")
    return short if short > low and fits(short) else low
