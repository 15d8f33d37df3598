"""How a data set stands: what is left of its total, and what has been spent under each definition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.ledger.accounts import Account
from tacit.privacy.composition import compose
from tacit.privacy.events import Price
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import GDP, ApproxDP, Guarantee
from tacit.privacy.sums import float_above, sum_of

_STATED_DELTA = 1e-6  # for totals that name no delta


@dataclass(frozen=True)
class Balance:
    """How a data set stands.

    ``left`` is what remains in the total's own definition (None: nothing), and ``fits`` says in words what would still
    be admitted. ``epsilon``, ``rho`` and ``mu`` are what all ``spends`` add up to, and ``approximate`` is their epsilon
    at ``delta``; None where nothing finite is proved. Admission goes by the total alone: the other sums hold for a list
    of releases that was fixed beforehand, and are there to look at.
    """

    dataset: str
    total: Guarantee
    left: Guarantee | None
    fits: str
    spends: int
    unfinished: int
    epsilon: float | None
    rho: float | None
    mu: float | None
    approximate: float | None
    delta: float

    def to_plain(self) -> dict[str, Any]:
        """A JSON table."""
        return {
            "dataset": self.dataset,
            "total": self.total.to_plain(),
            "left": None if self.left is None else self.left.to_plain(),
            "fits": self.fits,
            "spends": self.spends,
            "unfinished": self.unfinished,
            "spent": {
                "epsilon": self.epsilon,
                "rho": self.rho,
                "mu": self.mu,
                "approximate": None if self.approximate is None else {"epsilon": self.approximate, "delta": self.delta},
            },
        }


def balance(dataset: str, account: Account) -> Balance:
    """The balance of one account; what is spent is rounded up, what is left rounded down."""
    events, total = account.spent, Filter(account.total)
    delta = account.total.delta if isinstance(account.total, ApproxDP) else _STATED_DELTA
    mu_squared = sum_of(Filter(GDP(1.0)).price(event) for event in events)
    return Balance(
        dataset=dataset,
        total=account.total,
        left=total.left(events),
        fits=total.largest_fit(events),
        spends=len(events),
        unfinished=len(events) - len(account.released),
        epsilon=_finite(sum_of(event.epsilon() for event in events)),
        rho=_finite(sum_of(event.rho() for event in events)),
        mu=_finite(math.nextafter(math.sqrt(mu_squared), math.inf) if events else 0.0),
        approximate=_finite(compose(events).epsilon(delta) if events else 0.0),
        delta=delta,
    )


def _finite(price: Price) -> float | None:
    return float_above(price) if price < math.inf else None
