"""What holds for everybody who reads rows: silence, one fixed sentence for a fault, and as many rows as were announced.

Once the first row is read nothing that a cell holds may decide what is raised, printed or counted. Statistics are total
functions of a row, so nothing here should ever be needed; it is the last guard.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tacit.errors import BROKEN, BrokenMediumError
from tacit.runtime.progress import Progress
from tacit.sources.base import Source, broken

Result = TypeVar("Result")

STEP = 2**16  # rows that progress is told of at once


class Steps:
    """Progress in steps of one size: where a file, a piece or a block ends may depend on what rows hold."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._left = progress, 0

    def __call__(self, rows: int) -> None:
        """Take note of so many rows more."""
        self._left += rows
        while self._left >= STEP:
            self._left -= STEP
            self._progress(STEP)

    def finish(self) -> None:
        """Say the rest: the number of all rows is public."""
        if self._left:
            self._progress(self._left)
        self._left = 0


class Silent:
    """Progress that is told nothing of the rows, as their number is not public; only that they are about to be read."""

    def __init__(self, progress: Progress) -> None:
        if hasattr(progress, "expect"):
            self.expect = progress.expect  # type: ignore[attr-defined]

    def __call__(self, rows: int) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Announced:
    """What a source says of itself before anything is paid: its number of rows, if it knows, and how its files are."""

    rows: int | None
    files: tuple[Any, ...]

    def check(self, source: Source, rows: int) -> None:
        """Refuse another number of rows than was announced, and files that were changed meanwhile."""
        if self.rows not in (None, rows) or source.files() != self.files:
            raise broken(source.label)


def announced(source: Source, columns: Sequence[str]) -> Announced:
    """What ``source`` says of itself now."""
    return Announced(source.rows(columns), source.files())


def guarded(action: Callable[[], Result]) -> Result:
    """Do what reads rows, in silence. A broken medium is told in its own sentence, any other fault in a fixed one.

    A fault's own message may quote a row, and so may the frames of its traceback. So the error that comes out is a new
    one, raised behind the handlers, where there is no other to carry along.
    """
    message = BROKEN
    with silence():
        try:
            return action()
        except BrokenMediumError as error:
            message = str(error)
        except Exception:
            pass
    raise BrokenMediumError(message)


@contextmanager
def silence() -> Generator[None]:
    """No warning of NumPy or of anybody else, whose occurrence, or text, may depend on rows; in this very thread.

    NumPy's are a thread's own. Python's filters are those of the whole process: they are put back by whoever of several
    threads is done last.
    """
    with np.errstate(all="ignore"):
        _filters.off()
        try:
            yield
        finally:
            _filters.on()


class _Filters:
    def __init__(self) -> None:
        self._lock, self._silent = threading.Lock(), 0
        self._kept = warnings.catch_warnings()

    def off(self) -> None:
        with self._lock:
            if self._silent == 0:
                self._kept = warnings.catch_warnings()
                self._kept.__enter__()
                warnings.simplefilter("ignore")
            self._silent += 1

    def on(self) -> None:
        with self._lock:
            self._silent -= 1
            if self._silent == 0:
                self._kept.__exit__(None, None, None)


_filters = _Filters()
