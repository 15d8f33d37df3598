"""Which events fit an (epsilon, delta) total, when each may be chosen after seeing what the earlier ones gave.

Setting. Fix two neighbouring data sets (replace-one, n public). At each step the analyst picks an event from the past
(earlier outputs, own coins) and gets its output, whose distributions given the past are P_i and Q_i on the two data
sets. L is the sum of ln(P_i / Q_i) over the outputs, under P. The whole transcript is (epsilon, delta)-DP if, for both
orders of the data sets, E[(1 - e^(epsilon - L))_+] <= delta. A refused request adds nothing to L: whether it is
refused follows from events alone, which are public.

The events fit if at least one of three routes holds for them. Every route compares a sum that only grows with a fixed
limit, so a route that holds at the end held at every step. Which route holds at the end may depend on the transcript;
so delta is shared out between the routes, and between the orders of the third, before anything is released:

    pure        sum epsilon_i <= epsilon                                          needs no delta
    Gaussian    sum mu_i^2 <= mu_for(epsilon, delta_G)^2  and
                (1 + e^epsilon) sum slack_i <= delta_S                             needs delta_G + delta_S
    Renyi       sum_i tau_i(a) <= B_a  for some order a of a fixed grid            needs the sum of all delta_a
                B_a = epsilon + (ln delta_a - ln kappa_a) / (a - 1),  kappa_a = (1 - 1/a)^(a-1) / a

with tau_i(a) the Renyi price of event i at order a, and delta_G + delta_S + sum_a delta_a <= delta.

Proof: write W for (1 - e^(epsilon - L))_+ and split E[W] by the route that holds at the end.

Pure: |ln(P_i / Q_i)| <= epsilon_i, so L <= epsilon and W = 0 wherever this route holds.

Gaussian: let the transcript stop before the first event that breaks this route. Stopped and full transcript agree
wherever the route holds at the end, so E[W; route holds] is at most the delta of the stopped one. Suppose first that
all slacks are 0. Take a Brownian motion that has drift 0 under P and drift 1 under Q. Its increment over a time mu_i^2
is N(0, mu_i^2) or N(mu_i^2, mu_i^2), the same experiment as N(0, 1) against N(mu_i, 1), and independent of the past. By
Blackwell's theorem output i is a randomisation of that increment, by a map that may depend on the past. So the stopped
transcript is a randomisation of the path up to the fixed time m^2 = mu_for(epsilon, delta_G)^2. The likelihood ratio of
the path is a function of its end point (Girsanov), so the transcript is m-GDP (the theorem of Smith and Thakurta 2022)
and its delta is at most delta_G. Slacks: replace each output by that of a rounded Gaussian. The two can be coupled to
differ with probability at most slack_i given the past, so both distributions of the stopped transcript move by at most
sum slack_i in total variation, and delta by (1 + e^epsilon) times that (`approximate_sampler_delta`).

Renyi: for each order a let M_a = exp((a - 1) (L - sum_i tau_i(a))), and 0 once a price is infinite. tau_i(a) is known
before output i, and E[(P_i / Q_i)^(a-1) | past] = e^((a-1) D_a) <= e^((a-1) tau_i(a)), so M_a is a supermartingale that
starts at 1: E[M_a] <= 1 at every step. By Canonne, Kamath, Steinke 2020 (Proposition 12; see `renyi_to_delta`)
W <= kappa_a e^((a-1)(L - epsilon)) for every L, and wherever the route holds at order a this is kappa_a M_a
e^((a-1)(sum tau_i(a) - epsilon)) <= delta_a M_a. So the expectation of W there is at most sum_a delta_a E[M_a].

The first event is chosen before any output, so anything may depend on it. The shares of delta do: most of delta goes to
the route that suits it. And a first event that satisfies the total on its own is admitted in any case: if no route
holds for it, none ever will, so it stays the only one, and its own proof is enough.

The grid and the shares are part of this proof. Changing them would void it for totals that have been spent from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.privacy import gaussian
from tacit.privacy.approximate_event import NearEvent
from tacit.privacy.events import MARGIN, Event, GaussianEvent, Price, RenyiEvent, rounded_up
from tacit.privacy.guarantees import ApproxDP
from tacit.privacy.price_sums import as_declared, sum_of
from tacit.privacy.rounding import float_below

# delta_G, delta_S and the sum of all delta_a, in parts of delta.
_GAUSSIAN_FIRST = (Fraction(30, 32), Fraction(1, 32), Fraction(1, 32))
_OTHER_FIRST = (Fraction(1, 32), Fraction(1, 32), Fraction(30, 32))

# One order of the grid has the largest delta_a, and each further one gets a third of its neighbour's. The largest is
# 1/2 of the Renyi share, or 2/3 if all others lie below: 1/2 (1 + 2/3 + 2/9 + ...) = 2/3 (1 + 1/3 + 1/9 + ...) = 1.
_FALL = Fraction(1, 3)


@dataclass(frozen=True)
class Limits:
    """The limit of each route: of sum epsilon_i, sum mu_i^2 and sum slack_i, and of sum tau_i at each of ``orders``."""

    epsilon: Price
    mu_squared: Price
    slack: Price
    orders: tuple[float, ...]
    renyi: tuple[float, ...]

    def prices(self, event: Event) -> tuple[Price, ...]:
        """What ``event`` adds to each sum: epsilon, mu^2 and slack, and the Renyi price at each of ``orders``."""
        renyi = (tau if tau == math.inf else Fraction(tau) for tau in _renyi_prices(event, self.orders))
        return (event.epsilon(), *ideal_gaussian(event), *renyi)

    def less(self, events: Sequence[Event]) -> Limits:
        """What is left of each limit after ``events``; -inf where one of them has no price."""
        return self.minus([sum_of(prices) for prices in zip(*map(self.prices, events), strict=True)])

    def minus(self, sums: Sequence[Price]) -> Limits:
        """What is left of each limit after events whose `prices` have these ``sums``; none: all of it."""
        if not sums:
            return self
        epsilon, mu_squared, slack, *renyi = sums
        return Limits(
            epsilon=self.epsilon - epsilon,
            mu_squared=self.mu_squared - mu_squared,
            slack=self.slack - slack,
            orders=self.orders,
            # The sum is rounded once, and the difference once more: far less than MARGIN, which is added.
            renyi=tuple(b - float(tau) * (1 + MARGIN) for b, tau in zip(self.renyi, renyi, strict=True)),
        )

    def hold(self, event: Event) -> bool:
        """Whether ``event`` fits on at least one route."""
        mu_squared, slack = ideal_gaussian(event)
        return (
            rounded_up(event.epsilon()) <= self.epsilon
            or (rounded_up(mu_squared) <= self.mu_squared and slack <= self.slack)
            or any(tau <= b for tau, b in zip(_renyi_prices(event, self.orders), self.renyi, strict=True))
        )


def limits(total: ApproxDP, first: Event) -> Limits:
    """The limits of ``total`` when ``first`` is the first event.

    The grid is 1 + 2^(k/2) for k = -4, ..., 20, and the order with the largest delta_a is the one where B_a / a, the
    rho that fits, is largest. If the first event is known at one order only, that order has the largest delta_a, and
    the grid is order - 1 = (its own order - 1) 2^(-k/2) for k = 0, ..., 24.
    """
    shares = _GAUSSIAN_FIRST if _suits_gaussian_route(total, first) else _OTHER_FIRST
    return _limits(total.epsilon, total.delta, shares, first.order if isinstance(first, RenyiEvent) else None)


def gaussian_mu(total: ApproxDP) -> float:
    """The mu of Gaussian DP that Gaussian releases may have together: mu_for(epsilon, delta_G), rounded down."""
    return gaussian.mu_for(total.epsilon, _part(total.delta, _GAUSSIAN_FIRST[0]))


@lru_cache(maxsize=4096)
def ideal_gaussian(event: Event) -> tuple[Price, Fraction]:
    """mu^2 of the Gaussian distribution that ``event`` is near, and its distance to it; mu^2 is inf where nothing is
    proved.
    """
    if isinstance(event, GaussianEvent):
        return event.mu_squared, event.slack
    if isinstance(event, NearEvent):  # its output and that of the exact one can be coupled as those of a slack
        mu_squared, slack = ideal_gaussian(event.event)
        return mu_squared, slack + event.distance
    mu = rounded_up(event.mu())
    return (Fraction(mu) ** 2 if mu < math.inf else math.inf), Fraction(0)


def _suits_gaussian_route(total: ApproxDP, first: Event) -> bool:
    """Whether ``first`` is Gaussian, and so near to the ideal distribution that 32 like it fit the share of the
    slacks.
    """
    if not isinstance(first.event if isinstance(first, NearEvent) else first, GaussianEvent):
        return False
    return 32 * ideal_gaussian(first)[1] <= _slack_limit(total.epsilon, total.delta, _GAUSSIAN_FIRST[1])


@lru_cache(maxsize=256)
def _limits(epsilon: float, delta: float, shares: tuple[Fraction, ...], own_order: Fraction | None) -> Limits:
    if own_order is None:
        grid = [1 + 2 ** (k / 2) for k in range(-4, 21)]
        largest = shares[2] / 2
        centre = max(range(25), key=lambda i: _renyi_limit(epsilon, _part(delta, largest), grid[i]) / grid[i])
    else:
        # Rounded down: above its own order the event has no price.
        grid = [float_below(1 + (own_order - 1) / Fraction(2 ** (k / 2))) for k in range(25)]
        grid = [order for order in grid if order > 1]
        largest, centre = shares[2] * 2 / 3, 0
    return Limits(
        epsilon=as_declared(epsilon),
        mu_squared=_gaussian_limit(epsilon, _part(delta, shares[0])),
        slack=_slack_limit(epsilon, delta, shares[1]),
        orders=tuple(grid),
        renyi=tuple(
            _renyi_limit(epsilon, _part(delta, largest * _FALL ** abs(i - centre)), order)
            for i, order in enumerate(grid)
        ),
    )


def _gaussian_limit(epsilon: float, delta: float) -> Fraction:
    """mu_for(epsilon, delta_G)^2, rounded down."""
    return Fraction(gaussian.mu_for(epsilon, delta)) ** 2 if delta > 0 else Fraction(0)


def _renyi_limit(epsilon: float, delta: float, order: float) -> float:
    """B_a, rounded down."""
    if delta == 0:
        return -math.inf
    log_kappa = (order - 1) * math.log((order - 1) / order) - math.log(order)
    gap = (math.log(delta) - log_kappa) / (order - 1)
    return epsilon + gap - MARGIN * (epsilon + abs(gap))


def _slack_limit(epsilon: float, delta: float, share: Fraction) -> Fraction:
    """delta_S / (1 + e^epsilon), rounded down."""
    return Fraction(_part(delta, share) * math.exp(-epsilon) / (1 + math.exp(-epsilon)) * (1 - MARGIN))


def _part(delta: float, share: Fraction) -> float:
    return float_below(Fraction(delta) * share)


@lru_cache(maxsize=4096)
def _renyi_prices(event: Event, orders: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(rounded_up(event.renyi(order))) for order in orders)
