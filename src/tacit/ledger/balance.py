"""How a data set stands: what is left of its total, and what has been spent under each definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import expected
from tacit.ledger.accounts import Account
from tacit.privacy.basis import Basis
from tacit.privacy.composition import compose
from tacit.privacy.events import Event, Price
from tacit.privacy.filter import Filter, Largest
from tacit.privacy.guarantees import GDP, ApproxDP, Guarantee
from tacit.privacy.rounding import float_above
from tacit.privacy.sums import sum_of


@dataclass(frozen=True)
class Spending:
    """What ``spends`` of an account add up to under each definition; None where nothing finite is proved."""

    spends: int
    epsilon: float | None
    rho: float | None
    mu: float | None
    approximate: float | None
    delta: float | None

    def to_plain(self) -> dict[str, Any]:
        """A JSON table."""
        return {"spends": self.spends, **_by_definition(self)}


@dataclass(frozen=True)
class Balance:
    """How a data set stands.

    ``left`` is what remains in the total's own definition (None: nothing), ``fits`` says in words what would still be
    admitted, and ``largest`` says it by each definition. ``epsilon``, ``rho`` and ``mu`` are what all ``spends`` add up
    to, and ``approximate`` is their epsilon at ``delta``; None where nothing finite is proved. ``delta`` is the one
    asked for, else the total's; None if it has none, and nothing is said of approximate DP then. Admission goes by the
    total alone: the other sums hold for a list of releases that was fixed beforehand, and are there to look at.
    ``proved``, ``assumed`` and ``untold`` are the parts of the spending whose price has a proof, rests on an assumption
    of the plan, or was booked by an earlier version that did not say which.
    """

    dataset: str
    total: Guarantee
    unit: str
    left: Guarantee | None
    fits: str
    largest: Largest
    spends: int
    unfinished: int
    epsilon: float | None
    rho: float | None
    mu: float | None
    approximate: float | None
    delta: float | None
    proved: Spending
    assumed: Spending
    untold: Spending

    def to_plain(self) -> dict[str, Any]:
        """A JSON table."""
        return {
            "dataset": self.dataset,
            "total": self.total.to_plain(),
            "unit": self.unit,
            "left": None if self.left is None else self.left.to_plain(),
            "fits": self.fits,
            "largest": _by_definition(self.largest),
            "spends": self.spends,
            "unfinished": self.unfinished,
            "spent": _by_definition(self),
            "proved": self.proved.to_plain(),
            "assumed": self.assumed.to_plain(),
            "untold": self.untold.to_plain(),
        }


def balance(dataset: str, account: Account, delta: float | None = None) -> Balance:
    """The balance of one account; what is spent is rounded up, what is left rounded down."""
    if delta is None:
        delta = account.total.delta if isinstance(account.total, ApproxDP) else None
    else:
        check_delta(delta)
    events, total = account.spent, Filter(account.total)
    spent, whole = account.state.spent, _spending(events, delta)
    return Balance(
        dataset=dataset,
        total=account.total,
        unit=account.unit,
        left=total.left(spent),
        fits=total.largest_fit(spent),
        largest=total.largest(spent, delta),
        spends=len(events),
        unfinished=len(events) - len(account.released),
        epsilon=whole.epsilon,
        rho=whole.rho,
        mu=whole.mu,
        approximate=whole.approximate,
        delta=delta,
        proved=_spending(account.spent_on(Basis.PROVED), delta),
        assumed=_spending(account.spent_on(Basis.ASSUMED), delta),
        untold=_spending(account.spent_on(None), delta),
    )


def check_delta(delta: object) -> None:
    """Refuse a delta at which no epsilon can be said."""
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise expected("delta", delta, "to lie strictly between 0 and 1")


def _spending(events: Sequence[Event], delta: float | None) -> Spending:
    mu_squared = sum_of(Filter(GDP(1.0)).price(event) for event in events)
    return Spending(
        spends=len(events),
        epsilon=_finite(sum_of(event.epsilon() for event in events)),
        rho=_finite(sum_of(event.rho() for event in events)),
        mu=_finite(math.nextafter(math.sqrt(mu_squared), math.inf) if events else 0.0),
        approximate=None if delta is None else _finite(compose(events).epsilon(delta) if events else 0.0),
        delta=delta,
    )


def _by_definition(amounts: Balance | Largest | Spending) -> dict[str, Any]:
    known = amounts.approximate is not None
    return {
        "epsilon": amounts.epsilon,
        "rho": amounts.rho,
        "mu": amounts.mu,
        "approximate": {"epsilon": amounts.approximate, "delta": amounts.delta} if known else None,
    }


def _finite(price: Price) -> float | None:
    found = float_above(price) if price < math.inf else math.inf
    return found if math.isfinite(found) else None
