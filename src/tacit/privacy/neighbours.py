"""The neighbour relations: which two data sets a guarantee makes hard to tell apart.

    replace-one   two data sets of the same, public number of records that differ in one record
    add-remove    two data sets of which one has one record more; the number of records is as secret as any other

A record is a row, or all rows of a person, as the plan says. Two tables that differ in one replaced record are two
steps of add-remove apart, so a price under one relation says something under the other; but prices under both have no
sum that is a bound under either, and nothing here adds them up.
"""

from __future__ import annotations

from tacit.errors import expected

REPLACE_ONE, ADD_REMOVE = "replace-one", "add-remove"
RELATIONS = (REPLACE_ONE, ADD_REMOVE)


def checked_relation(value: object) -> str:
    """A relation by its name."""
    if value not in RELATIONS:
        raise expected("neighbours", value, f"to be {REPLACE_ONE!r} or {ADD_REMOVE!r}, the relations with proofs")
    return str(value)
