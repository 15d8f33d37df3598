"""The unit of privacy of an account: a row, or all rows of a person.

Proof: the filter fixes one neighbour relation, that of the total, and adds prices under it. Replacing a row and
replacing all rows of a person are two relations, and so are persons by two identifiers. Prices under different
relations have no sum, so an account has one unit and one of replace-one and add-remove, and whatever has another is
refused. How many rows of a person count (``max_rows``) is part of a release's own price and not of the relation: the
person's rows are all replaced, however many of them count.
"""

from __future__ import annotations

from tacit.errors import expected
from tacit.privacy.neighbours import REPLACE_ONE
from tacit.schema import check_column_name

ROW = "row"
_PERSON = "person:"


def unit_of(person: str | None) -> str:
    """The unit as it is written down: ``row``, or ``person:`` and the column that says whose a row is."""
    if person is None:
        return ROW
    check_column_name("person", person)
    return f"{_PERSON}{person}"


def read_privacy_unit(plain: object) -> str:
    """A unit that was written down."""
    if plain == ROW:
        return ROW
    if not isinstance(plain, str) or not plain.startswith(_PERSON):
        raise expected("unit", plain, f"to be {ROW!r}, or {_PERSON!r} and the name of a column")
    return unit_of(plain.removeprefix(_PERSON))


def unit_words(unit: str, neighbours: str = REPLACE_ONE) -> str:
    """The unit in plain words, and what happens to it where that is not being replaced."""
    words = "each row" if unit == ROW else f"each person, by the column {unit.removeprefix(_PERSON)!r}"
    return words if neighbours == REPLACE_ONE else f"{words}, added or removed"
