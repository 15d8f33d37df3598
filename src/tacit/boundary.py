"""The boundary: the only code that reads rows, beside `bounds`, and the place where noise is drawn for real.

The order of things is the promise: everything that can be refused is refused, then the price is recorded, then the
first row is read, and from there on nothing that a row holds can raise, print or change anything but the noisy sum.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import BROKEN, NO_ROWS, InputError, TacitError, expected
from tacit.interrupts import uninterrupted
from tacit.ledger import Ledger, digest
from tacit.ledger.note import note
from tacit.names import check_name
from tacit.noise.entropy import OSEntropy
from tacit.partials import Partial, as_partials, check_pool
from tacit.plan import Plan, as_plan
from tacit.release import Release
from tacit.reports import Group, Reports
from tacit.schema import Schema
from tacit.statistics.collector import Collector, Sums

if TYPE_CHECKING:
    from tacit.engines.engine import Engine, Job
    from tacit.sources.base import Batch, Source

Progress = Callable[[int], None]

_BATCH_ROWS = 2**16

_STEP = 2**16  # rows that progress is told of at once


def privatize(
    data: Any,
    plan: Plan | str | Path,
    *,
    ledger: Ledger | str | Path | None,
    dataset: str | None = None,
    engine: Any = "local",
    progress: Progress | None = None,
) -> Release:
    """Spend the plan's budget on ``data`` and return the release.

    ``data`` is a path (CSV, Parquet, Arrow; a file, a folder or a pattern), a data frame, a DuckDB table or a mapping
    of columns. ``ledger`` pays for the release, from the total of ``dataset``, before the first row is read;
    ``ledger=None`` releases without one, and the release says so. ``dataset`` names the rows in the release and in the
    ledger; without a ledger it may be left out. ``engine`` says who reads the rows: "local" is as many threads as there
    are cores; a Dask ``Client`` or a ``SparkSession`` takes its workers, which must get at the same files. All of them
    find the same integers. ``progress`` is told how many rows were read, in steps of one size: where a file or a piece
    ends may depend on what rows hold. Where the unit is a person, whose number of rows is a secret, it is told once,
    of the rows that count. If it has a method ``expect``, that is called first, with the number of rows or None.

    ``data`` may also be partials (see `partial`), whose sums are added up before the noise. Nobody may be in two of
    them.
    """
    plan = as_plan(plan)
    if plan.mechanism.retired:
        raise InputError(
            "Expected plan to be one that is still made: it was read from a release of an earlier version."
        )
    partials = as_partials(data)
    if ledger is not None and dataset is None:
        raise InputError("Expected dataset to name the rows when a ledger pays for the release.")
    name = check_name("dataset", dataset if dataset is not None else "unnamed")
    if ledger is not None and not isinstance(ledger, Ledger | str | Path):
        raise expected("ledger", ledger, "to be a Ledger, the path of one, or None")
    if ledger is not None and not plan.mechanism.whole_rows:
        raise InputError("Expected ledger to be None: its totals are about rows; this plan protects responses alone.")
    if partials is None:
        collect_now = _reader(data, plan, engine, progress)
    else:
        check_pool(partials, plan)
        collect_now = _adder(partials, plan)
    book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    with uninterrupted():
        receipt = None
        if book is not None:
            person = plan.mechanism.person
            receipt = book.spend(name, plan.event(), digest(plan.to_plain()), person=person.id if person else None)
    # From here on the budget counts as spent, whatever happens.
    crossing = plan.crossing()
    n, collected = collect_now()
    release = Release(
        plan=plan,
        n=n,
        values=crossing.cross(collected, n, OSEntropy()),
        dataset=name,
        id=secrets.token_hex(16),
        ledger=None if receipt is None else receipt.to_plain(),
        partials=1 if partials is None else len(partials),
        law=crossing.law,
    )
    if book is not None and receipt is not None:
        note(book, receipt, release.id, release.to_plain())
    return release


def partial(
    data: Any,
    plan: Plan | str | Path,
    *,
    dataset: str,
    engine: Any = "local",
    progress: Progress | None = None,
) -> Partial:
    """The exact sums of one site, to be added to those of other sites by `privatize`, before the noise.

    Nothing is paid and nothing is protected: what comes back is as sensitive as the rows, and is for the trusted party
    that adds up the partials of all sites. ``dataset`` names the site's rows.
    """
    plan = as_plan(plan)
    check_name("dataset", dataset)
    if not isinstance(plan.crossing().collector(), Sums):
        raise expected("kind", plan.mechanism.kind, "of [mechanism] to be one whose rows are added up, for a partial")
    n, collected = _reader(data, plan, engine, progress)()
    assert isinstance(collected, Sums)
    return Partial(plan, n, tuple(collected.totals), dataset, secrets.token_hex(16))


def randomize_rows(data: Any, plan: Plan | str | Path, *, dataset: str) -> Reports:
    """Act as the device of everybody in a table: one report for each row.

    This is for trials, and for those who move from a trusted collector to an untrusted one: in a real survey the rows
    are never in one place, and each device calls `randomize`.
    """
    import numpy as np

    from tacit.sources.open import open_source

    plan = as_plan(plan)
    client = plan.client()
    check_name("dataset", dataset)
    source = open_source(data, client.columns, plan.schema)
    if source.has_no_rows(client.columns):
        raise InputError(NO_ROWS)
    parts = [
        client.reports(batch.columns, OSEntropy())
        for batch in source.batches(plan.schema, client.columns, 2**16)
        if batch.rows
    ]
    return Reports((Group(plan, client.protocol, np.concatenate(parts)),), dataset)


def needed(plan: Plan) -> tuple[tuple[str, ...], Schema]:
    """The columns to read, and the schema to read them by: the crossing's, and who a row belongs to."""
    columns, person = plan.crossing().columns, plan.mechanism.person
    if person is None:
        return columns, plan.schema
    return (*columns, person.id), plan.schema.with_identifier(person.id)


def _reader(data: Any, plan: Plan, engine: Any, progress: Progress | None) -> Callable[[], tuple[int, Collector]]:
    """Refuse whatever can be refused of rows and engine; what comes back reads the rows."""
    from tacit.engines.open import engine_of
    from tacit.sources.open import open_source

    chosen = engine_of(engine)
    columns, schema = needed(plan)
    source = open_source(data, columns, schema)
    job = _job(source, plan)
    if job is not None:
        chosen.check(job)
    elif chosen.name != "local":
        why = "brings the rows of a person together" if plan.mechanism.person else "needs the rows in one place"
        raise expected("engine", chosen.name, f"to be local for a plan that {why}")
    if source.has_no_rows(columns):
        raise InputError(NO_ROWS)
    declared, told = plan.crossing().rows, source.rows(columns)
    if declared is not None and told is not None and told != declared:
        raise expected("n", declared, f"of [mechanism] to be the number of rows, {told}, which is public")
    if hasattr(progress, "expect"):
        progress.expect(None if plan.mechanism.person else source.rows(columns))  # type: ignore[union-attr]
    return lambda: _collect_at_any_rate(source, plan, progress, chosen)


def _adder(partials: Sequence[Partial], plan: Plan) -> Callable[[], tuple[int, Collector]]:
    sums = plan.crossing().collector()
    if not isinstance(sums, Sums):
        raise expected("kind", plan.mechanism.kind, "of [mechanism] to be one whose rows are added up, for a partial")
    for one in partials:
        sums.merge(one.totals)
    return lambda: (sum(one.n for one in partials), sums)


def _job(source: Source, plan: Plan) -> Job | None:
    """What any engine can do; None where the rows must be in one place."""
    from tacit.engines.engine import Job

    empty = plan.crossing().collector()
    columns, schema = needed(plan)
    if plan.mechanism.person is not None or not isinstance(empty, Sums):
        return None
    return Job(source, schema, columns, empty)


def collect(
    source: Source, plan: Plan, progress: Progress | None = None, engine: Engine | None = None
) -> tuple[int, Collector]:
    """n and what the mechanism keeps of the rows. Secret: only the crossing makes it fit to leave this module."""
    from tacit.engines.open import engine_of

    job = _job(source, plan)
    if job is not None:
        n, sums = (engine_of("local") if engine is None else engine).run(job, progress)
        if n == 0:
            raise InputError(NO_ROWS)
        return n, sums
    crossing, person = plan.crossing(), plan.mechanism.person
    collected = crossing.collector()
    columns, schema = needed(plan)
    batches = source.batches(schema, columns, min(collected.batch_rows, _BATCH_ROWS))
    if person is None:
        n = _add_all(_watched(batches, progress), collected)
    else:
        from tacit.sources.people import by_person

        people = by_person(batches, schema, crossing.columns, person=person.id, max_rows=person.max_rows)
        _add_all(people.kept.split(collected.batch_rows), collected)
        collected.add(people.filler.columns, times=people.empty)
        n = people.rows
        if progress is not None:
            progress(n)  # how many rows were read is between the people and the data
    if n == 0:
        raise InputError(NO_ROWS)
    return n, collected


def _collect_at_any_rate(
    source: Source, plan: Plan, progress: Progress | None, engine: Engine
) -> tuple[int, Collector]:
    """`collect`, where a fault that nobody foresaw says nothing: its own message may quote a row."""
    steps = None if progress is None else _Steps(progress)
    try:
        found = collect(source, plan, steps, engine)
        if steps is not None:
            steps.finish()
        return found
    except TacitError:  # one of the sentences that name the source and nothing else
        raise
    except Exception:
        pass
    raise InputError(BROKEN)  # out here: raised inside the handler it would carry the fault along


def _add_all(batches: Iterator[Batch], collected: Collector) -> int:
    n = 0
    for batch in batches:
        n += batch.rows
        collected.add(batch.columns)
    return n


class _Steps:
    """Progress in steps of one size, so that nobody learns how many rows a file or a piece holds."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._left = progress, 0

    def __call__(self, rows: int) -> None:
        self._left += rows
        while self._left >= _STEP:
            self._left -= _STEP
            self._progress(_STEP)

    def finish(self) -> None:
        """Say the rest: the number of all rows is public."""
        if self._left:
            self._progress(self._left)


def _watched(batches: Iterator[Batch], progress: Progress | None) -> Iterator[Batch]:
    for batch in batches:
        if progress is not None:
            progress(batch.rows)
        if batch.rows:
            yield batch
