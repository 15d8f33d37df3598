"""The unit of privacy when a person may have several rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import InputError, expected
from tacit.schema import check_column_name

KEYS = ("unit", "id", "max_rows", "weight")
ROW, PERSON = "row", "person"
STAND_INS = (
    'of [mechanism] to be "row", for results about rows, or "person", for results in which everyone counts once: '
    "without it, people with fewer than max_rows rows are filled up with stand-ins, which results are then about"
)
MOST_AVERAGED = 1000
"""Rows of a person, where they are averaged."""


@dataclass(frozen=True)
class Person:
    """The unit of privacy when a person may have several rows: who they belong to, and how many of them count.

    Of more than ``max_rows`` rows a fixed pseudo-random choice counts. ``weight`` says how: "row", every row counts
    once, so that results are about rows, their number is not public, and the noise is ``max_rows`` times larger;
    "person", everybody counts once, with the mean of their rows, and the noise is that of one row. Left out, people who
    have fewer rows are filled up with rows of stand-ins. Results are then about the stand-ins as well, so that with a
    ``max_rows`` above 1 nothing is inferred from such sums.

    ```pycon
    >>> tacit.AddNoise(unit=tacit.Person("patient", max_rows=5)).person.max_rows
    5

    ```
    """

    id: str
    max_rows: int
    weight: str | None = None

    def __post_init__(self) -> None:
        check_column_name("id", self.id)
        if isinstance(self.max_rows, bool) or not isinstance(self.max_rows, int) or not 1 <= self.max_rows <= 10**6:
            raise expected("max_rows", self.max_rows, "to be a whole number from 1 to 1000000")
        if self.weight not in (None, ROW, PERSON):
            raise expected("weight", self.weight, f'to be "{ROW}" or "{PERSON}"')
        if self.weight == PERSON and self.max_rows > MOST_AVERAGED:
            raise expected("max_rows", self.max_rows, f'to be at most {MOST_AVERAGED} where weight is "{PERSON}"')

    @property
    def filled(self) -> bool:
        """Whether rows of stand-ins may count."""
        return self.weight is None and self.max_rows > 1

    def to_plain(self) -> dict[str, Any]:
        """The keys of a ``[mechanism]`` table that say so."""
        said = {"unit": "person", "id": self.id, "max_rows": self.max_rows}
        return said if self.weight is None else {**said, "weight": self.weight}


def person_from_plain(table: Mapping[str, Any]) -> Person | None:
    """Read the unit of privacy off a ``[mechanism]`` table; None where every row is a unit."""
    if table.get("unit", "row") == "row":
        if any(name in table for name in KEYS[1:]):
            raise InputError('Expected [mechanism] to say unit = "person" when it says id, max_rows or weight.')
        return None
    if table["unit"] != "person":
        raise expected("unit", table["unit"], 'of [mechanism] to be "row" or "person"')
    for name in ("id", "max_rows"):
        if name not in table:
            raise InputError(f'Expected [mechanism] to say {name} beside unit = "person".')
    return Person(table["id"], table["max_rows"], table.get("weight"))


def of_public_number(person: Person | None) -> Person | None:
    """The same person where n has to be public, as for counts of cells: who has a weight counts once, with the mean of
    their rows; who has none, or too many rows for a mean, has rows of stand-ins.
    """
    if person is None or person.weight is None:
        return person
    return replace(person, weight=PERSON if person.max_rows <= MOST_AVERAGED else None)
