"""What must be the same for two neighbours, and how far their exact sums may be apart."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import tacit
from tacit.engines.threads import Threads
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.privacy.sensitivity import Sensitivity

from .pairs import Pair
from .tables import Table

Found = tuple[int | None, tuple[int, ...] | None]
"""n and the exact sums, as far as a way in tells them."""
Reader = Callable[[Any, tacit.Plan, Any], Found]
"""Reads data by a plan, telling an observer of its progress."""
Close = Callable[[tacit.Plan, tuple[int, ...], tuple[int, ...]], None]
"""Raises `ViolationError` where the sums of two neighbours are too far apart."""


ROOT = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())  # memory is many times faster


class UnwritableError(Exception):
    """The writer itself takes no such table."""


@dataclass(frozen=True)
class Outcome:
    """Everything that somebody sees who runs it, and what nobody sees: the exact sums."""

    n: int | None
    error: str | None
    output: str
    progress: tuple[int | None, ...]
    totals: tuple[int, ...] | None = field(repr=False)

    @property
    def seen(self) -> tuple[Any, ...]:
        return self.n, self.error, self.output, self.progress


@dataclass(frozen=True)
class Changing:
    """Data that somebody changes after tacit was told how many rows there are, and before it reads them."""

    data: Any
    change: Callable[[], None]


class ViolationError(AssertionError):
    """Two neighbours that tell themselves apart."""


@dataclass
class Observer:
    """A progress bar that remembers what it was told."""

    change: Callable[[], None] | None = None
    told: list[int | None] = field(default_factory=list)

    def expect(self, rows: int | None) -> None:
        self.told.append(rows)
        if self.change is not None:
            self.change()

    def __call__(self, rows: int) -> None:
        self.told.append(rows)


def by_partial(engine: Any = None) -> Reader:
    """The exact sums as `tacit.partial` finds them, on ``engine``."""

    def read(data: Any, plan: tacit.Plan, progress: Any) -> Found:
        found = tacit.partial(data, plan, dataset="rows", engine=engine or Threads(1), progress=progress)
        return found.n if plan.calibrated_mechanism().public_n else None, found.totals

    return read


def outcome(data: Any, plan: tacit.Plan, read: Reader) -> Outcome:
    """What reading ``data`` does."""
    found: Found = (None, None)
    observer, error = Observer(), None
    if isinstance(data, Changing):
        data, observer = data.data, Observer(data.change)
    with _captured() as output:
        try:
            found = read(data, plan, observer)
        except Exception as caught:  # no kind of error may tell two neighbours apart
            causes = (caught.__cause__, caught.__context__)
            error = f"{type(caught).__name__}: {caught} {[type(cause).__name__ for cause in causes]}"
    return Outcome(found[0], error, "".join(output), tuple(observer.told), found[1])


@contextmanager
def _captured() -> Iterator[list[str]]:
    """What is printed or warned, by Python or by compiled code."""
    found: list[str] = []
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryFile() as file, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        saved = {number: os.dup(number) for number in (1, 2)}
        for number in saved:
            os.dup2(file.fileno(), number)
        try:
            with redirect_stdout(out), redirect_stderr(err):
                yield found
        finally:
            for number, kept in saved.items():
                os.dup2(kept, number)
                os.close(kept)
        file.seek(0)
        found += [
            out.getvalue(),
            err.getvalue(),
            file.read().decode("utf-8", "replace"),
            *(str(one.message) for one in warned),
        ]


def check(
    pair: Pair,
    write: Callable[[Table, Path], Any],
    read: Reader | None = None,
    *,
    broken: bool = False,
    close: Close | None = None,
) -> Outcome:
    """Store both tables, read both, and raise `ViolationError` where they differ by more than the plan claims.

    The number of rows must also be the true one. ``broken``: the medium breaks, and nothing else may come out.
    """
    first, second = (_outcome_of(table, pair.plan, write, read or by_partial()) for table in (pair.first, pair.second))
    if first.seen != second.seen:
        raise ViolationError(f"what is seen differs:\n  {first}\n  {second}")
    if broken:
        if first.error is None:
            raise ViolationError(f"a broken medium goes unnoticed: {first}")
        return first
    if first.n not in (None, pair.n):
        raise ViolationError(f"n is {first.n} for {pair.n} rows")
    if first.error is not None and not first.error.startswith("InputError: Expected "):
        raise ViolationError(f"it ends in an error that is no refusal: {first.error}")
    if first.totals is not None and second.totals is not None:
        (close or within_claim)(pair.plan, first.totals, second.totals)
    return first


def _outcome_of(table: Table, plan: tacit.Plan, write: Callable[[Table, Path], Any], read: Reader) -> Outcome:
    folder = ROOT / f"tacit-neighbours-{os.getpid()}"  # the same for both: messages name it
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    data = None
    try:
        with _captured(), suppress(Exception):
            data = write(table, folder)
        if data is None:
            raise UnwritableError
        return outcome(data, plan, read)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def within_claim(plan: tacit.Plan, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """The distance of two sums is within the sensitivity that the plan claims."""
    rounds = plan.calibrated_mechanism()
    scored = isinstance(rounds, ScoreRounds)  # one round, at 0
    within(rounds.sensitivity(0, (0,) * len(rounds.sums.coordinates)) if scored else plan.sensitivity(), first, second)


def within(claim: Sensitivity, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """The distance of two sums is within ``claim``, in both norms."""
    steps = [Fraction(a - b) / w for a, b, w in zip(first, second, claim.relative_scales, strict=True)]
    l1, l2_squared = sum(map(abs, steps), Fraction(0)), sum((step * step for step in steps), Fraction(0))
    if l1 > claim.l1 or l2_squared > claim.l2_squared:
        ratio = max(float(l1 / claim.l1), float(l2_squared / claim.l2_squared) ** 0.5)
        raise ViolationError(f"the sums are {ratio:.4g} times the claimed sensitivity apart")


def shrink(pair: Pair, broken: Callable[[Pair], bool]) -> Pair:
    """The same violation with fewer of the people whose rows both tables have."""
    person = pair.plan.mechanism.person
    place = None if person is None else pair.first.names.index(person.id)
    common, left = [], list(pair.second.rows)
    for row in pair.first.rows:
        if row in left:
            left.remove(row)
            common.append(row)
    for one in common if place is None else {repr(row[place]): row for row in common}.values():
        gone = [one] if place is None else [row for row in common if repr(row[place]) == repr(one[place])]
        smaller = replace(
            pair,
            first=pair.first.less(gone),
            second=pair.second.less(gone),
            n=None if pair.n is None else pair.n - (person.max_rows if person and not person.weight else 1),
        )
        if smaller.first.rows and smaller.second.rows and broken(smaller):
            pair = smaller
    return pair


def show(pair: Pair) -> str:
    """A pair as a person can read it and type it."""
    lines = [pair.plan.to_toml(), f"stored: {dict(pair.first.kinds)}"]
    for label, table, other in (("first", pair.first, pair.second), ("second", pair.second, pair.first)):
        lines += [label, *(f"{' ' if row in other.rows else '*'} {_short(row)}" for row in table.rows)]
    return "\n".join(lines)


def _short(row: tuple[Any, ...]) -> str:
    return ", ".join(text if len(text) < 80 else f"{text[:60]}... ({len(text)} letters)" for text in map(repr, row))
