"""How far a ledger had come, as one line to keep elsewhere: with it a ledger that was set back can be told."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit._support.files import read_text
from tacit.errors import expected
from tacit.ledger.chain import Entry

_LARGEST = 2**25  # bytes of a file of heads: a line for each of two hundred thousand releases
_MARK = "tacit-ledger-head"
_LINE = re.compile(_MARK + r" ([0-9a-f]{32}) ([1-9][0-9]{0,17}) ([0-9a-f]{64}) ([0-9]{4}-[0-9]{2}-[0-9]{2})")


@dataclass(frozen=True)
class Head:
    """The id of a ``ledger``, how many ``entries`` it had, the ``hash`` of the last one, and the ``date`` of asking."""

    ledger: str
    entries: int
    hash: str
    date: str

    @property
    def line(self) -> str:
        """The line to keep where whoever can restore the ledger cannot write."""
        return f"{_MARK} {self.ledger} {self.entries} {self.hash} {self.date}"

    @classmethod
    def read(cls, line: object) -> Head:
        """Read such a line."""
        found = _LINE.fullmatch(line.strip()) if isinstance(line, str) else None
        if found is None:
            raise expected("head", line, "to be a line that `tacit ledger head` printed, or a file of such lines")
        return cls(found[1], int(found[2]), found[3], found[4])

    def contradicts(self, entries: Sequence[Entry]) -> str | None:
        """What in ``entries`` is not as it was when this line was printed; None if nothing is."""
        if not entries or entries[0].content.get("id") != self.ledger:
            return f"the head of {self.date} is of another ledger"
        if len(entries) < self.entries:
            return (
                f"the ledger had {self.entries} entries on {self.date} and has {len(entries)} now: an older copy has "
                "taken its place, and what was spent in between is missing"
            )
        if entries[self.entries - 1].hash != self.hash:
            return f"entry {self.entries} or one before it is not what it was on {self.date}"
        return None


def heads_of(given: str | Path) -> list[Head]:
    """One line, or all lines of a file."""
    if isinstance(given, str) and given.strip().startswith(_MARK):
        return [Head.read(given)]
    lines = [line for line in read_text(given, name="head", limit=_LARGEST).splitlines() if line.strip()]
    return [Head.read(line) for line in lines or [""]]


def today() -> str:
    """The date, in UTC. No time of day is ever written: two of them would tell how long the rows took."""
    return time.strftime("%Y-%m-%d", time.gmtime(time.time()))
