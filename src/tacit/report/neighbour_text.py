"""What a plan takes for neighbours, whose rows count and how, and what is known of their number, in words."""

from __future__ import annotations

from tacit.mechanisms.person import PERSON, ROW, Person
from tacit.plan import Plan
from tacit.privacy.neighbours import ADD_REMOVE

_CUT = "Of a person with more, a fixed choice counts, and the rest is left out."


def verb(plan: Plan) -> str:
    """What is done to a record to make a neighbour."""
    return "adding or removing" if plan.budget.neighbours == ADD_REMOVE else "replacing"


def about_n(plan: Plan) -> str:
    """What a release says of the number of rows, as the end of a sentence about what it releases."""
    unit = plan.mechanism.person
    what = "rows" if unit is None or unit.weight == ROW else "people"
    if plan.calibrated_mechanism().public_n:
        return f"and the number of {what}"
    return f"which tell the number of {what} as well, with noise: it is not public"


def neighbours_in_words(plan: Plan) -> str:
    """Who is protected, and what is public: two neighbours differ by this."""
    unit = plan.mechanism.person
    added, who = plan.budget.neighbours == ADD_REMOVE, "rows" if unit is None else "people"
    one = "row" if unit is None else f"person, with all rows that have the same value of {unit.id}"
    if plan.row_filter is not None and not added:
        number = f"the number of {who} in the table is public, but not how many pass the filter"
    else:
        number = f"the number of {who} is {'not ' if added else ''}public"
    return f"{verb(plan)} one {one}, and {number}"


def everyone(unit: Person, *, fills: bool) -> str:
    """How the rows of a person count; ``fills`` says whether stand-ins fill up where no weight is said."""
    rows = f"{unit.max_rows} row{'s' if unit.max_rows > 1 else ''}"
    if unit.weight == PERSON:
        return f"everybody counts once, with the mean of at most {rows}. {_CUT}"
    if unit.weight == ROW or not fills:
        return f"at most {rows} of each person count, and a person with fewer adds fewer. {_CUT}"
    if unit.max_rows == 1:
        return f"exactly 1 row of each person counts. {_CUT}"
    return (
        f"exactly {rows} of each person count. A person with fewer is filled up with rows of stand-ins, which "
        f"the results are then about: nothing is inferred from them, so say weight. {_CUT}"
    )
