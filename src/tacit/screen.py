"""Paid help with declarations: how many cells of each column are not what the plan declares.

Levels that are spelled otherwise than in the table turn every row into the missing value, and nothing in a release
tells. Looking at the rows to find out would be a leak. This counts them with noise, at a price that the ledger is
charged before the first row is read. The order is the boundary's, and so is the code that reads.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from tacit._support.interrupts import uninterrupted
from tacit._support.names import check_name
from tacit.boundary import reader
from tacit.cell_screen import Screen, ScreenPlan
from tacit.errors import InputError, expected, one_thing
from tacit.ledger import Ledger, digest
from tacit.ledger.note import note
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan, as_plan
from tacit.privacy.guarantees import guarantee_from_plain
from tacit.runtime.progress import Asked, shown

if TYPE_CHECKING:
    from tacit.engines.accepted import Engines, Table


def screen(
    data: Table,
    plan: Plan | str | Path,
    *,
    ledger: Ledger | str | Path | None,
    dataset: str | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    engine: Engines = "local",
    progress: Asked = None,
) -> Screen:
    """Spend a little on how many cells of each column of ``plan`` are missing, unreadable, unknown or out of bounds.

    The price is a pure ``epsilon``, or ``rho`` of zCDP, or ``mu`` of Gaussian differential privacy, on top of what the
    plan's own release will cost. Noise grows with the number of columns in the plan's schema. ``data``, ``ledger``,
    ``dataset``, ``engine`` and ``progress`` are as in `privatize`; the unit of privacy is the plan's.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> rows = {"smoker": ["no", "no", "Yes"] * 200}
    >>> found = tacit.screen(rows, plan, epsilon=0.5, ledger=None)
    >>> [one.cells for one in found.summary()]
    ['missing', 'unknown']

    ```
    """
    said = {"epsilon": epsilon, "rho": rho, "mu": mu}
    budget = {name: value for name, value in said.items() if value is not None}
    if len(budget) != 1:
        raise InputError("Expected one of epsilon, rho and mu to say what the screen may cost.")
    asked = ScreenPlan.of(as_plan(plan), guarantee_from_plain(budget))
    event = asked.event()
    if ledger is not None and dataset is None:
        raise InputError("Expected dataset to name the rows when a ledger pays for the screen.")
    name = check_name("dataset", dataset if dataset is not None else "unnamed")
    if ledger is not None and not isinstance(ledger, Ledger | str | Path):
        raise expected("ledger", one_thing(ledger), "to be a Ledger, the path of one, or None")
    with shown(progress, "Reading rows", "rows") as told:
        rows = reader(data, asked, engine, told)
        book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
        person = asked.mechanism.person
        with uninterrupted():
            receipt = None
            if book is not None:
                receipt = book.spend(name, event, digest(asked.to_plain()), person=person.id if person else None)
        # From here on the budget counts as spent, whatever happens.
        n, collected = rows.collect()
        found = Screen(
            plan=asked,
            n=n,
            values=asked.calibrated_mechanism().cross(collected, n, OSEntropy()),
            dataset=name,
            id=secrets.token_hex(16),
            ledger=None if receipt is None else receipt.to_plain(),
            typed_elsewhere=rows.typed_elsewhere,
        )
        if book is not None and receipt is not None:
            note(book, receipt, found.id, found.to_plain())
        return found
