"""``by``: one or two factors whose levels make the groups that a question is asked about."""

from __future__ import annotations

from typing import Any

from tacit.errors import expected
from tacit.schema import Schema
from tacit.statistics.factors import Factors

MOST_GROUPS = 1000


def checked_by(by: Any, column: str) -> str | tuple[str, ...] | None:
    """``by`` as a model keeps it: a name, two names, or None."""
    if by is None:
        return None
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, list | tuple) else ()
    if not 1 <= len(names) <= 2 or not all(isinstance(name, str) and name for name in names):
        raise expected("by", by, "to be the name of a column, or two names")
    if len({*names, column}) <= len(names):
        raise expected("by", by, f"to name other columns than {column!r}, each once")
    return names[0] if len(names) == 1 else names


def factors_of(by: str | tuple[str, ...] | None, schema: Schema) -> Factors | None:
    """The groups, from the declared levels; refuses a column without levels, and too many groups."""
    if by is None:
        return None
    names = (by,) if isinstance(by, str) else by
    found = Factors(names, tuple(tuple(map(str, schema.category(name).levels)) for name in names))
    if found.size > MOST_GROUPS:
        raise expected("by", list(names), f"to make at most {MOST_GROUPS} groups, not {found.size}")
    return found


def by_plain(by: str | tuple[str, ...] | None) -> Any:
    """As it stands in a plan file."""
    return list(by) if isinstance(by, tuple) else by
