"""The boundary: the only code that reads rows, and the only place where noise is drawn for real.

The order of things is the promise: everything that can be refused is refused, then the price is recorded, then the
first row is read, and from there on nothing that a row holds can raise, print or change anything but the noisy sum.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError, TacitError, expected
from tacit.interrupts import uninterrupted
from tacit.ledger import Ledger, Receipt, digest
from tacit.mechanisms.entropy import OSEntropy
from tacit.names import check_name, clean_name
from tacit.plan import Plan, as_plan
from tacit.release import Release
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.sources.base import Batch, Source

Progress = Callable[[int], None]

_NO_ROWS = "Expected the data to have at least one row."


def privatize(
    data: Any,
    plan: Plan | str | Path,
    *,
    ledger: Ledger | str | Path | None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Spend the plan's budget on ``data`` and return the release.

    ``data`` is a path (CSV, Parquet, Arrow), a data frame or a mapping of columns. ``ledger`` pays for the release,
    from the total of ``dataset``, before the first row is read; ``ledger=None`` releases without one, and the release
    says so. ``dataset`` names the rows: needed with a ledger; without one it is the file's name unless said otherwise.
    ``progress`` is called with the number of rows of each batch.
    """
    from tacit.sources.open import open_source

    plan = as_plan(plan)
    source = open_source(data, *needed(plan))
    if ledger is not None and dataset is None:
        raise InputError("Expected dataset to name the rows when a ledger pays for the release.")
    name = check_name("dataset", dataset if dataset is not None else _name_of(data))
    if ledger is not None and not isinstance(ledger, Ledger | str | Path):
        raise expected("ledger", ledger, "to be a Ledger, the path of one, or None")
    if source.has_no_rows(needed(plan)[0]):
        raise InputError(_NO_ROWS)
    book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    with uninterrupted():
        receipt = None if book is None else book.spend(name, plan.event(), digest(plan.to_plain()))
    # From here on the budget counts as spent, whatever happens.
    n, sums = exact_sums(source, plan, progress)
    noise = plan.noise().sample(1, OSEntropy())[0]
    release = Release(
        plan=plan,
        n=n,
        values=tuple(s + int(e) for s, e in zip(sums, noise, strict=True)),
        dataset=name,
        id=secrets.token_hex(16),
        ledger=None if receipt is None else receipt.to_plain(),
    )
    if book is not None and receipt is not None:
        _note_release(book, receipt, release)
    return release


def _note_release(book: Ledger, receipt: Receipt, release: Release) -> None:
    """Link the spend to its release. The release is paid for: if the note fails it is not lost for that."""
    try:
        with uninterrupted():
            book.record_release(receipt, release.id, digest(release.to_plain()))
    except TacitError as error:
        warnings.warn(f"The ledger has charged for this release but could not note it: {error}", stacklevel=3)


def needed(plan: Plan) -> tuple[tuple[str, ...], Schema]:
    """The columns to read, and the schema to read them by: the statistic's, and who a row belongs to."""
    columns, unit = plan.statistic().columns, plan.mechanism.unit
    if unit is None:
        return columns, plan.schema
    return (*columns, unit.id), plan.schema.with_identifier(unit.id)


def exact_sums(source: Source, plan: Plan, progress: Progress | None = None) -> tuple[int, list[int]]:
    """n and the exact integer statistic. Secret: only noise makes it fit to leave this module."""
    from tacit.sources.people import by_person

    statistic, unit = plan.statistic(), plan.mechanism.unit
    columns, schema = needed(plan)
    batches = _watched(source.batches(schema, columns, statistic.batch_rows), progress)
    if unit is not None:
        batches = by_person(
            batches,
            schema,
            statistic.columns,
            person=unit.id,
            max_rows=unit.max_rows,
            batch_rows=statistic.batch_rows,
        )
    n, sums = 0, [0] * len(statistic.entries)
    for batch in batches:
        n += batch.rows
        sums = [a + b for a, b in zip(sums, statistic.batch_sum(batch.columns), strict=True)]
    if n == 0:
        raise InputError(_NO_ROWS)
    return n, sums


def _watched(batches: Iterator[Batch], progress: Progress | None) -> Iterator[Batch]:
    for batch in batches:
        if progress is not None:
            progress(batch.rows)
        if batch.rows:
            yield batch


def _name_of(data: Any) -> str:
    return clean_name(Path(data).stem) if isinstance(data, str | Path) else "unnamed"
