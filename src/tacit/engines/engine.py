"""The interface of an engine: who runs through the pieces of a table, and how what they found is put together.

Every engine calls the same function, `tally`, on every piece, in a thread, in another process or on another machine,
and gets back a number of rows and a list of whole numbers. `gather` adds them up. Sums of whole numbers do not depend
on who added what first, so all engines find the same integers.

A piece has an index. However often a cluster runs a piece again, because a worker died or was slow, its result counts
once; a piece without a result is an error, never a smaller table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tacit.engines.reading import Progress, guarded
from tacit.errors import BROKEN, BrokenMediumError
from tacit.schema import Schema
from tacit.sources.base import Source
from tacit.statistics.accumulator import Sums

UNFINISHED = "Expected every piece of the data to be counted; the budget counts as spent."
_CELLS = 2**22  # parsed at once by one thread
_MOST_ROWS = 2**16
_PIECE_ROWS = 2**20


@dataclass(frozen=True)
class Job:
    """What is to be added up: ``columns`` of ``source``, parsed by ``schema``, into sums like the ``empty`` ones."""

    source: Source
    schema: Schema
    columns: tuple[str, ...]
    empty: Sums

    @property
    def batch_rows(self) -> int:
        """As many rows as fit into a core's cache, or nearly, and as the statistic adds up exactly."""
        return max(1, min(self.empty.batch_rows, _MOST_ROWS, _CELLS // len(self.columns)))

    def pieces(self) -> Sequence[Source]:
        """The table in pieces that can be read apart.

        Without rows it is one piece, too: whether there is a row may be a secret, and a cluster that fails must do so
        alike.
        """
        return self.source.pieces(self.columns, _PIECE_ROWS) or (self.source,)


@dataclass(frozen=True)
class Tally:
    """What one piece adds: its number of ``rows`` and its exact ``totals``. As secret as the rows."""

    index: int
    rows: int
    totals: list[int]


@dataclass(frozen=True)
class Engine(ABC):
    """Something that runs through all pieces of a table."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @abstractmethod
    def check(self, job: Job) -> None:
        """Refuse a job that it can not do, before anything is paid."""

    @abstractmethod
    def run(self, job: Job, progress: Progress | None) -> tuple[int, Sums]:
        """The number of rows and their sums."""


def tally(index: int, piece: Source, job: Job, progress: Progress | None = None) -> Tally:
    """Add up one piece. An error says nothing but which file could not be read."""
    return guarded(lambda: _tally(index, piece, job, progress))


def _tally(index: int, piece: Source, job: Job, progress: Progress | None) -> Tally:
    sums, rows = job.empty.fresh(), 0
    for batch in piece.batches(job.schema, job.columns, job.batch_rows):
        sums.add(batch.counted())
        rows += batch.rows
        if progress is not None:
            progress(batch.rows)
    return Tally(index, rows, sums.totals)


def gather(job: Job, pieces: int, tallies: Iterable[Tally], progress: Progress | None = None) -> tuple[int, Sums]:
    """Add up the tallies of ``pieces`` pieces, each of them once."""
    found: dict[int, Tally] = {}
    for one in tallies:
        if one.index not in found and progress is not None:
            progress(one.rows)
        if found.setdefault(one.index, one) != one:  # the file was changed between two tries
            raise BrokenMediumError(BROKEN)
    if sorted(found) != list(range(pieces)):
        raise BrokenMediumError(UNFINISHED)
    sums, rows = job.empty.fresh(), 0
    for one in found.values():
        sums.merge(one.totals)
        rows += one.rows
    return rows, sums
