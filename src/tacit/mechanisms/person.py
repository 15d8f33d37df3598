"""The unit of privacy when a person may have several rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import InputError, expected
from tacit.schema import check_column_name

KEYS = ("unit", "id", "max_rows")


@dataclass(frozen=True)
class Person:
    """The unit of privacy when a person may have several rows: who they belong to, and how many of them count.

    Everyone contributes exactly ``max_rows`` rows: of more, a fixed pseudo-random choice counts; of fewer, the rest
    count as empty rows. n is then the number of people times ``max_rows``, and the noise is ``max_rows`` times larger.
    """

    id: str
    max_rows: int

    def __post_init__(self) -> None:
        check_column_name("id", self.id)
        if isinstance(self.max_rows, bool) or not isinstance(self.max_rows, int) or not 1 <= self.max_rows <= 10**6:
            raise expected("max_rows", self.max_rows, "to be a whole number from 1 to 1000000")

    def to_plain(self) -> dict[str, Any]:
        """The keys of a ``[mechanism]`` table that say so."""
        return {"unit": "person", "id": self.id, "max_rows": self.max_rows}


def person_from_plain(table: Mapping[str, Any]) -> Person | None:
    """Read the unit of privacy off a ``[mechanism]`` table; None where every row is a unit."""
    if table.get("unit", "row") == "row":
        if "id" in table or "max_rows" in table:
            raise InputError('Expected [mechanism] to say unit = "person" when it says id or max_rows.')
        return None
    if table["unit"] != "person":
        raise expected("unit", table["unit"], 'of [mechanism] to be "row" or "person"')
    for name in ("id", "max_rows"):
        if name not in table:
            raise InputError(f'Expected [mechanism] to say {name} beside unit = "person".')
    return Person(table["id"], table["max_rows"])
