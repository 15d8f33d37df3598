"""What an account adds up to, and the digest by which a spend vouches for all accounts.

Every spend carries in its entry, under the hash that its release publishes, the digest of what all accounts add up to
after it (`root`). So the next spend need not read the log: it takes the stored sums if they have that digest. Whoever
changes the sums must change the last spend as well, and then the ledger contradicts the release which that spend paid
for, just as if the spends themselves had been changed. Entries after the last spend open accounts or note releases;
they are few, and are read.

Prices are computed, and another version of tacit may compute them better. So a spend also says which version it is by,
and sums of another version are made again from the whole log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tacit._support.canonical_json import canonical, digest
from tacit.errors import InputError
from tacit.ledger.unit import read_unit
from tacit.privacy.events import Event, Price
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import Guarantee, guarantee_from_plain
from tacit.privacy.spent import Spent

_TOLERANCE = Fraction(1, 10**11)  # two computers may differ in the last digits of a price; see `events.MARGIN`


@dataclass(frozen=True)
class State:
    """The ``total`` of a data set for one ``unit`` of privacy, and what has been ``spent`` of it."""

    total: Guarantee
    unit: str
    spent: Spent = field(default_factory=Spent)

    def plus(self, event: Event) -> State:
        """After one event more."""
        return replace(self, spent=Filter(self.total).add(self.spent, event))

    def text(self) -> str:
        """As it is stored."""
        return canonical({"total": self.total.to_plain(), "unit": self.unit, "spent": self.spent.to_plain()})

    @classmethod
    def read(cls, text: str) -> State:
        """Read what `text` wrote."""
        plain = json.loads(text)
        if not isinstance(plain, dict) or set(plain) != {"total", "unit", "spent"}:
            raise InputError("Expected an account to have a total, a unit and what was spent.")
        return cls(guarantee_from_plain(plain["total"]), read_unit(plain["unit"]), Spent.from_plain(plain["spent"]))

    def agrees(self, other: State, *, sums: bool) -> bool:
        """Whether the two are the same account, up to the last digits of computed prices; or ``sums`` left aside."""
        ours, theirs = self.spent, other.spent
        return (self.total, self.unit, ours.count, ours.first) == (
            other.total,
            other.unit,
            theirs.count,
            theirs.first,
        ) and (not sums or (len(ours.sums) == len(theirs.sums) and all(map(_near, ours.sums, theirs.sums))))


def root(digests: Mapping[str, str]) -> str:
    """The digest of all accounts, from the digest of each."""
    return digest(dict(digests))


def _near(one: Price, other: Price) -> bool:
    if not isinstance(one, Fraction) or not isinstance(other, Fraction):
        return one == other
    return abs(one - other) <= _TOLERANCE * max(one, other)
