"""What a guarantee takes on trust of the rows, which nothing in a release can show."""

from __future__ import annotations

TYPED_ELSEWHERE = (
    "the types of the columns were chosen without looking at the rows (by a schema that somebody wrote), or by a rule "
    "that looks at each cell alone"
)
"""Of rows that are not text which tacit reads itself. A program that guesses the type of a column from all of its cells
lets one person's cell decide how everybody's is stored; who has chosen the types, a table does not tell."""


def assumed_of(typed_elsewhere: bool) -> tuple[str, ...]:
    """What is assumed of rows whose types were, or were not, chosen elsewhere."""
    return (TYPED_ELSEWHERE,) if typed_elsewhere else ()
