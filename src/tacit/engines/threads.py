"""The engine on this machine: as many threads as there are cores.

Decoding, parsing and multiplying are done by compiled code that lets other threads run. Where the table comes in pieces
(row groups of Parquet, stretches of a CSV file), a thread takes one after the other. Where it does not (a frame, a
stream), the threads take turns at reading and parse and add side by side. BLAS is held to one thread meanwhile: more
would only get in each other's way.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from tacit.engines.engine import Engine, Job, Progress, Tally, gather, tally
from tacit.engines.reading import silence
from tacit.errors import expected
from tacit.sources.base import Pull
from tacit.statistics.accumulator import Sums

_SMALL = 2**17  # rows that are added up before a second thread has started
_LOOK_SECONDS = 0.1  # how often a thread that waits looks if Ctrl-C was pressed


class Stopped(BaseException):
    """Raised in a thread when another one has failed or was interrupted."""


@dataclass(frozen=True)
class Threads(Engine):
    """Threads of this process; as many as there are cores if ``count`` is left out."""

    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None and (
            not isinstance(self.count, int) or isinstance(self.count, bool) or not 1 <= self.count <= 1024
        ):
            raise expected("threads", self.count, "to be a whole number from 1 to 1024")

    @property
    def name(self) -> str:
        """What messages call it."""
        return "local"

    def check(self, job: Job) -> None:
        """Refuse nothing: threads can run every statistic."""

    def run(self, job: Job, progress: Progress | None) -> tuple[int, Sums]:
        """Add up all pieces."""
        count = self.count or _cores()
        rows = job.source.rows(job.columns)
        if rows is not None and rows < _SMALL:
            count = 1
        pieces = job.pieces() if count > 1 else (job.source,)
        if count == 1:
            return gather(job, 1, [tally(0, job.source, job, progress)])
        with _one_thread_of_blas():
            if len(pieces) > 1:
                waiting: SimpleQueue[int] = SimpleQueue()
                for index in range(len(pieces)):
                    waiting.put(index)

                def work(watch: Progress) -> Iterator[Tally]:
                    while True:
                        try:
                            index = waiting.get_nowait()
                        except Empty:
                            return
                        yield tally(index, pieces[index], job, watch)

                return gather(job, len(pieces), _in_threads(min(count, len(pieces)), work, progress))
            pulls = _Shared(job.source.pulls(job.schema, job.columns, job.batch_rows))

            def share(watch: Progress) -> Iterator[Tally]:
                yield _tally_pulls(pulls, job, watch)

            total, found = job.empty.fresh(), 0
            for one in _in_threads(count, share, progress):
                total.merge(one.totals)
                found += one.rows
            return found, total


class _Shared:
    """An iterator that several threads may ask, one at a time."""

    def __init__(self, pulls: Iterator[Pull]) -> None:
        self._pulls = pulls
        self._lock = threading.Lock()

    def next(self) -> Pull | None:
        with self._lock:
            return next(self._pulls, None)


def _tally_pulls(pulls: _Shared, job: Job, watch: Progress) -> Tally:
    sums, rows = job.empty.fresh(), 0
    with silence():
        while (pull := pulls.next()) is not None:
            for batch in pull().split(job.batch_rows):
                sums.add(batch.counted())
                rows += batch.rows
                watch(batch.rows)
    return Tally(0, rows, sums.totals)


def _in_threads(count: int, work: Callable[[Progress], Iterator[Tally]], progress: Progress | None) -> Iterator[Tally]:
    """What ``work`` yields in ``count`` threads. The first error of any of them ends all of them, and is raised."""
    said: SimpleQueue[Any] = SimpleQueue()
    stop = threading.Event()

    def watch(rows: int) -> None:
        if stop.is_set():
            raise Stopped
        said.put(rows)

    def run() -> None:
        try:
            for one in work(watch):
                said.put(one)
        except BaseException as error:
            said.put(error)
        said.put(None)

    threads = [threading.Thread(target=run, name="tacit", daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        working = count
        while working:
            try:
                item = said.get(timeout=_LOOK_SECONDS)  # a wait without an end would not notice Ctrl-C everywhere
            except Empty:
                continue
            if item is None:
                working -= 1
            elif isinstance(item, BaseException):
                raise item
            elif isinstance(item, Tally):
                yield item
            elif progress is not None:
                progress(item)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _one_thread_of_blas() -> AbstractContextManager[Any]:
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(limits=1, user_api="blas")
