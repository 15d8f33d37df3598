"""What a filter remembers of past events: as much as it needs to admit the next one, however many there were."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import InputError, expected
from tacit.privacy.events import Event, Price, event_from_plain
from tacit.privacy.rationals import read, written


@dataclass(frozen=True)
class Spent:
    """How many events there were, the ``first`` of them, and the ``sums`` that the total limits, each rounded up.

    `Filter.add` makes one from the one before. It is the same as `Filter.spent` makes from all events at once.
    """

    count: int = 0
    first: Event | None = None
    sums: tuple[Price, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """A JSON table, exact."""
        return {
            "count": self.count,
            "first": None if self.first is None else self.first.to_plain(),
            "sums": [written(price) if isinstance(price, Fraction) else "inf" for price in self.sums],
        }

    @classmethod
    def from_plain(cls, plain: object) -> Spent:
        """Read what `to_plain` wrote."""
        if not isinstance(plain, Mapping) or set(plain) != {"count", "first", "sums"}:
            raise InputError("Expected what was spent to have a count, a first event and sums, and nothing else.")
        count, first, sums = plain["count"], plain["first"], plain["sums"]
        if isinstance(count, bool) or not isinstance(count, int) or count < 0 or (count == 0) != (first is None):
            raise expected("count", count, "to be the number of events, at least 1 where there is a first one")
        prices = [math.inf if price == "inf" else read(price) for price in sums] if isinstance(sums, list) else [None]
        if not all(isinstance(price, Fraction) or price == math.inf for price in prices):
            raise InputError("Expected the sums of what was spent to be fractions.")
        return cls(count, None if first is None else event_from_plain(first), tuple(prices))  # type: ignore[arg-type]
