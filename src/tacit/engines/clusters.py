"""The engines on other processes and machines: Dask and Spark, each through its own client.

A worker gets the path of a file and which part of it to read, opens it, and sends back whole numbers. Workers therefore
need to get at the same files, and to have tacit installed. What they send is as secret as the rows: a cluster that
holds the rows is on the trusted side of the boundary.
"""

from __future__ import annotations

import json
import secrets
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from tacit.engines.engine import UNFINISHED, Engine, Job, Progress, Tally, gather, tally
from tacit.errors import BROKEN, BrokenMediumError, expected
from tacit.sources.base import Source, broken
from tacit.sources.concatenated import Several
from tacit.statistics.accumulator import Sums
from tacit.version import __version__

_RETRIES = 2
_ASK_SECONDS = 120


@dataclass(frozen=True)
class Cluster(Engine):
    """What Dask and Spark have in common."""

    def check(self, job: Job) -> None:
        """Refuse rows that only this process can reach, and workers that can not read them."""
        if not job.source.portable:
            raise expected(
                "engine", self.name, f"to be local, as only files can be read by workers and {job.source.label} is none"
            )
        pieces = job.pieces()
        version, reached = None, False
        with suppress(Exception):
            version, reached = self.ask(pieces[0])
        if version != __version__:
            raise expected("engine", self.name, f"to have workers that can import tacit {__version__}")
        if not reached:
            raise expected("engine", self.name, f"to have workers that can read {job.source.label}")

    def run(self, job: Job, progress: Progress | None) -> tuple[int, Sums]:
        """Send out all pieces; an error of the cluster itself, whose text may be long and quote anything, is not."""
        pieces = job.pieces()
        light = replace(job, source=Several(job.source.label, (), ()), empty=job.empty.fresh())
        message = UNFINISHED
        try:
            return gather(job, len(pieces), self.tallies(light, pieces), progress)
        except BrokenMediumError as error:
            message = str(error)
        except Exception as error:  # somewhere in the cluster's words may stand the sentence that `tally` raised
            sentences = [BROKEN, *(str(broken(label)) for label in job.source.labels)]
            message = next((sentence for sentence in sentences if sentence in str(error)), message)
        raise BrokenMediumError(message)  # out here: raised inside the handler it would carry the fault along

    @abstractmethod
    def ask(self, piece: Source) -> tuple[str, bool]:
        """What a worker says of itself: the version of its tacit, and whether it gets at the file of ``piece``."""

    @abstractmethod
    def tallies(self, job: Job, pieces: Sequence[Source]) -> Iterable[Tally]:
        """The results, in any order, some perhaps more than once."""


@dataclass(frozen=True)
class Dask(Cluster):
    """The workers of a `distributed.Client`."""

    client: Any

    @property
    def name(self) -> str:
        """What messages call it."""
        return "dask"

    def ask(self, piece: Source) -> tuple[str, bool]:
        return self.client.submit(_answer, piece, pure=False).result(timeout=_ASK_SECONDS)

    def tallies(self, job: Job, pieces: Sequence[Source]) -> Iterator[Tally]:
        """One task a piece. When a worker dies, Dask runs its tasks again elsewhere.

        Every task carries the job (1 to 80 kB). Data scattered once would be less to send, but it is lost with a worker
        that dies before it was copied on, and then no task can run again.
        """
        from distributed import as_completed

        name = f"tacit-{secrets.token_hex(8)}"
        futures = [
            self.client.submit(tally, index, piece, job, key=f"{name}-{index}", retries=_RETRIES, pure=False)
            for index, piece in enumerate(pieces)
        ]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:  # after Ctrl-C or an error the others are not needed any more
            with suppress(Exception):
                self.client.cancel(futures)


@dataclass(frozen=True)
class Spark(Cluster):
    """The executors of a `SparkSession`."""

    session: Any

    @property
    def name(self) -> str:
        """What messages call it."""
        return "spark"

    def ask(self, piece: Source) -> tuple[str, bool]:

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for _ in batches:
                version, reached = _answer(piece)
                yield pa.RecordBatch.from_pydict({"version": [version], "reached": [reached]})

        row = self._each(1, run, "version string, reached boolean")[0]
        return row["version"], row["reached"]

    def tallies(self, job: Job, pieces: Sequence[Source]) -> Iterator[Tally]:
        """One task a piece. When a task fails, Spark runs it again, as often as its settings say."""
        for row in self._each(len(pieces), _on_executor(job, pieces), "piece long, rows long, totals string"):
            yield Tally(row["piece"], row["rows"], json.loads(row["totals"]))

    def _each(self, count: int, run: Callable[[Iterator[Any]], Iterator[Any]], columns: str) -> list[Any]:
        """What ``run`` makes of each of the numbers below ``count``, in a task of its own."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions of pandas, of which nothing is used here
            return self.session.range(0, count, 1, count).mapInArrow(run, columns).collect()


def _answer(piece: Source) -> tuple[str, bool]:
    return __version__, piece.reachable()


def _on_executor(job: Job, pieces: Sequence[Source]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for index in batch.column(0).to_pylist():
                one = tally(index, pieces[index], job)
                row = {"piece": [one.index], "rows": [one.rows], "totals": [json.dumps(one.totals)]}
                yield pa.RecordBatch.from_pydict(row)

    return run
