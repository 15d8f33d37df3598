"""The boundary: the only code that reads rows, beside `bounds`, and the place where noise is drawn for real.

The order of things is the promise: everything that can be refused is refused, then the price is recorded, then the
first row is read, and from there on nothing that a row holds can raise, print or change anything but the noisy sum.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._support.interrupts import uninterrupted
from tacit._support.names import check_name
from tacit.cell_screen import ScreenPlan
from tacit.errors import NO_ROWS, BrokenMediumError, InputError, expected, one_thing
from tacit.ledger import Ledger, digest
from tacit.ledger.note import note
from tacit.mechanisms.person import STAND_INS
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.noise.entropy import OSEntropy
from tacit.partial_sums import Measure, Partial, as_partials, check_pool
from tacit.plan import Plan, as_plan
from tacit.release import Release
from tacit.reports import Group, Reports
from tacit.runtime.forks import check_not_forked
from tacit.runtime.memory import check_address_space
from tacit.runtime.progress import Asked, Progress, shown
from tacit.schema import Schema
from tacit.statistics.accumulator import Accumulator, Sums

if TYPE_CHECKING:
    from tacit.engines.accepted import Engines, Table
    from tacit.engines.engine import Engine, Job
    from tacit.engines.reading import Announced
    from tacit.sources.base import Batch, Source

_log = logging.getLogger(__name__)
_BATCH_ROWS = 2**16
_UNSAID: Any = object()


def privatize(
    data: Table | Partial | Sequence[Partial],
    plan: Plan | str | Path,
    *,
    ledger: Ledger | str | Path | None = _UNSAID,
    dataset: str | None = None,
    engine: Engines = "local",
    progress: Asked = None,
) -> Release:
    """Spend the plan's budget on ``data`` and return the release.

    ``data`` is a path (CSV, Parquet, Arrow; a file, a folder or a pattern), a data frame, a DuckDB table or a mapping
    of columns. ``ledger`` pays for the release, from the total of ``dataset``, before the first row is read;
    ``ledger=None`` releases without one, and the release says so. ``dataset`` names the rows in the release and in the
    ledger; without a ledger it may be left out. ``engine`` says who reads the rows: "local" is as many threads as there
    are cores; a Dask ``Client`` or a ``SparkSession`` takes its workers, which must get at the same files. All of them
    find the same integers. ``progress`` is told how many rows were read, in steps of one size: where a file or a piece
    ends may depend on what rows hold. True shows a bar, False none, and left out there is one on a terminal and in a
    notebook. Where the unit is a person, whose number of rows is a secret, it is told once, of the rows that count;
    where n is not public, never. If it has a method ``expect``, that is called first, with the number of rows or None.

    ``data`` may also be partials (see `partial`), whose sums are added up before the noise. Nobody may be in two of
    them.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> rows = {"smoker": ["no", "no", "yes"] * 200}
    >>> release = tacit.privatize(rows, plan, ledger=None)
    >>> release.n
    600

    ```
    """
    plan = as_plan(plan)
    if plan.mechanism.retired:
        raise InputError(
            "Expected plan to be one that is still made: it was read from a release of an earlier version."
        )
    if plan.filled:
        raise expected("weight", None, STAND_INS)
    partials = as_partials(data)
    if ledger is _UNSAID:
        raise InputError(
            'Expected ledger to be said: ledger="ledger.db" with dataset="..." pays from a ledger, which '
            "`tacit.Ledger.create` and its `new_dataset` make; ledger=None releases without one, and nothing keeps "
            "count."
        )
    if ledger is not None and dataset is None:
        raise InputError("Expected dataset to name the rows when a ledger pays for the release.")
    name = check_name("dataset", dataset if dataset is not None else "unnamed")
    if ledger is not None and not isinstance(ledger, Ledger | str | Path):
        raise expected("ledger", one_thing(ledger), "to be a Ledger, the path of one, or None")
    if ledger is not None and not plan.mechanism.whole_rows:
        raise InputError("Expected ledger to be None: its totals are about rows; this plan protects responses alone.")
    with shown(progress, "Reading rows", "rows") as told:
        return _privatized(data, plan, partials, ledger, name, engine, told)


def _privatized(
    data: Any,
    plan: Plan,
    partials: Sequence[Partial] | None,
    ledger: Ledger | str | Path | None,
    name: str,
    engine: Any,
    progress: Progress | None,
) -> Release:
    """The release of rows or of partials: checked, paid, read."""
    from tacit.engines.reading import guarded

    if partials is None:
        rows = reader(data, plan, engine, progress)
    else:
        check_pool(partials, plan)
        rows = _adder(partials, plan)
    if isinstance(plan.calibrated_mechanism(), PosteriorDraws) or plan.calibrated_mechanism().one_process:
        check_not_forked()  # JAX works after the charge
        check_address_space()
    plan.calibrated_mechanism().check_here()
    book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    person = plan.mechanism.person
    _log.info("privatize: %s from %s", plan.promise.symbols, "no ledger" if book is None else "a ledger")
    with uninterrupted():
        receipt = None
        if book is not None:
            asked = digest(plan.to_plain()), None if person is None else person.id, plan.budget.neighbours
            receipt = book.spend(name, plan.event(), *asked)
    # From here on the budget counts as spent, whatever happens.
    calibrated = plan.calibrated_mechanism()
    n, values, noise_parameters = guarded(lambda: calibrated.carry_out(rows.collect, OSEntropy()))
    release = Release(
        plan=plan,
        n=n if calibrated.public_n else None,
        values=values,
        dataset=name,
        id=secrets.token_hex(16),
        ledger=None if receipt is None else receipt.to_plain(),
        partials=1 if partials is None else len(partials),
        typed_elsewhere=rows.typed_elsewhere,
        noise_parameters=noise_parameters,
    )
    if book is not None and receipt is not None:
        note(book, receipt, release.id, release.unsigned_plain())
    return release


def partial(
    data: Table,
    plan: Plan | str | Path,
    *,
    dataset: str,
    engine: Engines = "local",
    progress: Asked = None,
) -> Partial:
    """The exact sums of one site, to be added to those of other sites by `privatize`, before the noise.

    Nothing is paid and nothing is protected: what comes back is as sensitive as the rows, and is for the trusted party
    that adds up the partials of all sites. ``dataset`` names the site's rows.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> rows = {"smoker": ["no", "no", "yes"] * 200}
    >>> tacit.partial(rows, plan, dataset="north").n
    600

    ```
    """

    plan = as_plan(plan)
    check_name("dataset", dataset)
    measure = Measure.of(plan)
    plan.calibrated_mechanism().check_here()
    with shown(progress, "Reading rows", "rows") as told:
        rows = reader(data, plan, engine, told)
        n, collected = rows.collect()
    assert isinstance(collected, Sums)
    return Partial(plan, n, tuple(collected.totals), dataset, secrets.token_hex(16), measure, rows.typed_elsewhere)


def randomize_rows(data: Table, plan: Plan | str | Path, *, dataset: str) -> Reports:
    """Act as the device of everybody in a table: one report for each row.

    This is for trials, and for those who move from a trusted collector to an untrusted one: in a real survey the rows
    are never in one place, and each device calls `randomize`.
    """
    import numpy as np

    from tacit.engines.reading import announced, guarded
    from tacit.sources.derived import open_rows

    plan = as_plan(plan)
    randomizer = plan.local_randomizer()
    check_name("dataset", dataset)
    source = open_rows(data, randomizer.columns, plan.schema)
    if source.has_no_rows(randomizer.columns):
        raise InputError(NO_ROWS)
    told = announced(source, randomizer.columns)

    def read() -> Any:
        batches = source.batches(plan.schema, randomizer.columns, _BATCH_ROWS)
        parts = [randomizer.reports(batch.columns, OSEntropy()) for batch in batches if batch.rows]
        if not parts:
            raise BrokenMediumError(NO_ROWS)
        told.check(source, sum(map(len, parts)))
        return np.concatenate(parts)

    group = Group(plan, randomizer.protocol, guarded(read))
    return Reports((group,), dataset, typed_elsewhere=source.typed_elsewhere)


def needed(plan: Plan | ScreenPlan) -> tuple[tuple[str, ...], Schema]:
    """The columns of each row that are needed, and the schema they are declared in: the crossing's, and whose it is."""
    columns, person = plan.calibrated_mechanism().columns, plan.mechanism.person
    if person is None:
        return columns, plan.schema
    return (*columns, person.id), plan.schema.with_identifier(person.id)


@dataclass(frozen=True)
class Rows:
    """Rows of which nothing was read yet: `Source.typed_elsewhere`, and what reads them once they are paid for.

    Each call of `collect` is a pass over the rows, into the crossing's own empty collector unless another is given.
    """

    typed_elsewhere: bool
    collect: Callable[..., tuple[int, Accumulator]]


def reader(data: Any, plan: Plan | ScreenPlan, engine: Any, progress: Progress | None) -> Rows:
    """Refuse whatever can be refused of rows and engine; what comes back reads the rows."""
    from tacit.engines.open import engine_of
    from tacit.engines.reading import Silent, Steps, announced, guarded
    from tacit.sources.derived import open_rows

    chosen = engine_of(engine)
    columns, schema = needed(plan)
    source = open_rows(data, columns, schema, plan.row_filter)
    job, public = _job(source, plan), plan.calibrated_mechanism().public_n
    if not public:
        progress = None if progress is None else Silent(progress)
    if job is not None:
        chosen.check(job)
    elif chosen.name != "local":
        why = "brings the rows of a person together" if plan.mechanism.person else "needs the rows in one place"
        raise expected("engine", chosen.name, f"to be local for a plan that {why}")
    if public and source.has_no_rows(columns):
        raise InputError(NO_ROWS)
    declared, told = plan.calibrated_mechanism().rows, announced(source, columns)
    if declared is not None and told.rows not in (None, declared):
        raise expected("n", declared, f"of [mechanism] to be the number of rows, {told.rows}, which is public")
    passes = plan.calibrated_mechanism().passes
    if passes > 1 and source.read_once:
        raise expected("data", source.label, f"to be a table that can be read {passes} times, not a stream")
    if hasattr(progress, "expect"):
        rows = None if plan.mechanism.person or not public or told.rows is None else passes * told.rows
        progress.expect(rows)  # type: ignore[union-attr]
    steps = None if progress is None else Steps(progress)

    def read(empty: Accumulator | None) -> tuple[int, Accumulator]:
        found = collect(source, plan, steps, chosen, told, empty)
        if steps is not None:
            steps.finish()
        return found

    return Rows(source.typed_elsewhere, lambda empty=None: guarded(lambda: read(empty)))


def _adder(partials: Sequence[Partial], plan: Plan) -> Rows:
    sums = plan.calibrated_mechanism().accumulator()
    assert isinstance(sums, Sums)  # as `check_pool` has seen
    for one in partials:
        sums.merge(one.totals)
    return Rows(any(one.typed_elsewhere for one in partials), lambda _=None: (sum(one.n for one in partials), sums))


def _job(source: Source, plan: Plan | ScreenPlan, empty: Accumulator | None = None) -> Job | None:
    """What any engine can do; None where the rows must be in one place."""
    from tacit.engines.engine import Job

    empty = plan.calibrated_mechanism().accumulator() if empty is None else empty
    columns, schema = needed(plan)
    calibrated = plan.calibrated_mechanism()
    if plan.mechanism.person is not None or not isinstance(empty, Sums) or calibrated.one_process:
        return None
    return Job(source, schema, columns, empty)


def collect(
    source: Source,
    plan: Plan | ScreenPlan,
    progress: Progress | None = None,
    engine: Engine | None = None,
    told: Announced | None = None,
    empty: Accumulator | None = None,
) -> tuple[int, Accumulator]:
    """n and what the mechanism keeps of the rows. Secret: only the crossing makes it fit to leave this module.

    ``told`` is what the source has announced before anything was paid. Whatever reads the rows, they must be as many.
    ``empty`` is the collector to read them into; left out, the crossing's own.
    """
    from tacit.engines.open import engine_of
    from tacit.engines.reading import announced

    collected = plan.calibrated_mechanism().accumulator() if empty is None else empty
    job = _job(source, plan, collected)
    columns, schema = needed(plan)
    told = announced(source, columns) if told is None else told
    if job is not None:
        n, collected = (engine_of("local") if engine is None else engine).run(job, progress)
        read = n
    else:
        calibrated, person = plan.calibrated_mechanism(), plan.mechanism.person
        batches = _Counted(source.batches(schema, columns, min(collected.batch_rows, _BATCH_ROWS)))
        if person is None:
            for batch in batches:
                collected.add(batch.counted())
                if progress is not None:
                    progress(batch.rows)
            n = batches.rows
        else:
            from tacit.sources.people import by_person, take_in

            people = by_person(batches, schema, calibrated.columns, person=person.id, max_rows=person.max_rows)
            n = take_in(people, person, collected, fills=calibrated.fills)
            if progress is not None:
                progress(n)  # how many rows were read is between the people and the data
        read = batches.rows
    told.check(source, read)
    if n == 0 and plan.calibrated_mechanism().public_n:
        raise BrokenMediumError(NO_ROWS)
    return n, collected


class _Counted:
    """Batches with the number of ``rows`` that have come so far."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches, self.rows = batches, 0

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._batches:
            self.rows += batch.rows
            if batch.rows:
                yield batch
