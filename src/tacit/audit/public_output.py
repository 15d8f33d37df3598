"""What the boundary shows beside the noisy numbers, and what it charges: both must not depend on a row.

The real `privatize` runs on neighbouring data sets: ordinary cells, missing ones, unreadable ones, undeclared levels.
Everything in the release but its noisy values and its random name must be the same for all of them, and none may fail.
A ledger whose total is one budget must pay for one release and refuse the next.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit import boundary
from tacit.audit.check import Check
from tacit.audit.neighbours import Record, fillings, may_be_absent, table
from tacit.errors import RefusedError, TacitError
from tacit.ledger import Ledger
from tacit.plan import Plan

_SECRET = ("values", "id")  # what may differ: the noisy numbers, and the random name


def same_in_public(plan: Plan, records: Sequence[Record | None], n: int, *, few: bool = False) -> Check:
    """Does anything but the noise tell neighbouring data sets apart? ``few`` is for mechanisms that take their time."""
    filling = fillings(plan)[0]
    cells = (None, "no such level", float("nan"), float("-inf"), 1e308)
    odd: list[Record] = [dict.fromkeys(filling, cell) for cell in cells[: 2 if few else None]]
    first: tuple[Record | None, dict[str, Any]] | None = None
    nobody = [None] if may_be_absent(plan) else []
    for record in (*records, *odd, *nobody):
        try:
            shown = _public(plan, record, n)
        except Exception as error:
            failing = (record, first[0] if first else record)
            words = f"A row makes the release fail ({type(error).__name__}), and failing tells about it."
            return Check("public part", True, words, proof=True, witness=failing)
        if first is None:
            first = record, shown
        elif shown != first[1]:
            names = sorted(name for name in shown if shown.get(name) != first[1].get(name))
            words = f"The public part of a release depends on a row: {', '.join(names)}."
            return Check("public part", True, words, proof=True, witness=(first[0], record))
    count = len(records) + len(odd) + len(nobody)
    words = f"{count} neighbouring data sets give releases that differ in nothing but the noise."
    return Check("public part", False, words, proof=True)


def charged_once(plan: Plan, record: Record, n: int) -> Check:
    """Does a ledger that holds one budget pay for exactly one release?"""
    rows = table(plan, record, n, fillings(plan)[0])
    person = plan.mechanism.person
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        Ledger.create(path).new_dataset("audit", plan.budget, None if person is None else person.id)
        paid = 0
        for _ in range(2):
            try:
                boundary.privatize(rows, plan, ledger=path, dataset="audit", progress=False)
            except RefusedError:
                break
            except TacitError as error:
                return Check("ledger", True, f"The ledger cannot pay: {error}", proof=True)
            paid += 1
    if paid == 1:
        return Check("ledger", False, "A ledger with this total pays for one release and refuses the next.", proof=True)
    words = "A ledger with this total pays for two releases." if paid else "A ledger with this total pays for none."
    return Check("ledger", True, words, proof=True)


def _public(plan: Plan, record: Record | None, n: int) -> dict[str, Any]:
    release = boundary.privatize(table(plan, record, n, fillings(plan)[0]), plan, ledger=None, progress=False)
    plain = release.to_plain()
    if (
        release.calibrated_mechanism.passes > 1
    ):  # where later rounds were taken follows from noisy numbers, as noise does
        plain.pop(plan.central().noise_parameters_field)
    return {**{name: value for name, value in plain.items() if name not in _SECRET}, "count": len(release.values)}
