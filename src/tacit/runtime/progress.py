"""How far a long piece of work is: told to whoever listens, and shown as a bar to a person who waits.

Work tells its parts (`tell`), which add up to 1, and knows nothing of who listens. What is told depends on public
numbers alone: sizes, settings, operations. How many rows were read is told by
`tacit.engines.reading`, in steps of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from html import escape
from threading import Event, RLock
from typing import Any

from tacit.errors import expected, one_thing

Progress = Callable[[int], None]
"""Is called with how much more was done. If it has a method ``expect``, that is told the total first, or None."""

Asked = Progress | bool | None
"""Who is told: a function; True, a bar; False, nobody; None, a bar where somebody sits before it."""

_listener: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


@contextmanager
def heard(listener: Callable[[float], None] | None) -> Generator[None]:
    """Whatever works in here tells ``listener`` the parts that it has done."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _nobody(_part: float) -> None:
    """Nobody asked, and whatever is part of this work shows no bar of its own."""


def tell(part: float) -> None:
    """Say that this part of the work is done."""
    if (listener := _listener.get()) is not None:
        listener(part)


@contextmanager
def share(of_all: float) -> Generator[None]:
    """What works in here is so much of all that there is to do."""
    listener = _listener.get()
    with heard(None if listener is None else lambda part: listener(of_all * part)):
        yield


@contextmanager
def until(stopped: Event) -> Generator[None]:
    """What works in here tells whoever listened before, and ends where it would tell more after ``stopped`` is set."""
    listener = _listener.get()

    def told(part: float) -> None:
        if stopped.is_set():
            raise InterruptedError
        if listener is not None:
            listener(part)

    with heard(told):
        yield


@contextmanager
def shown(asked: Asked, what: str, unit: str) -> Generator[Progress | None]:
    """Whoever is to be told of so many more of ``unit``; None is nobody."""
    if not (asked is None or isinstance(asked, bool) or callable(asked)):
        raise expected("progress", one_thing(asked), "to be True, False, or a function that is told how much was done")
    if callable(asked):
        yield asked
        return
    bar = None if asked is False else _bar(what, unit, anyway=asked is True)
    if bar is None:
        yield None
        return
    with bar:
        yield bar


@contextmanager
def percent(asked: Asked, what: str) -> Generator[None]:
    """What works in here is told to whoever asked, in percent: whole numbers that add up to 100.

    Work that is part of other work, and was not asked itself, tells that.
    """
    if asked is None and _listener.get() is not None:
        yield
        return
    with shown(asked, what, "%") as progress:
        if progress is None:
            with heard(_nobody):
                yield
            return
        if (expect := getattr(progress, "expect", None)) is not None:
            expect(100)
        points = _Points(progress)
        with heard(points):
            yield
        points(1.0)


class _Points:
    """Parts of 1 as percentage points; more than 100 of them are never told, however many threads tell them."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done, self._told = progress, 0.0, 0
        self._lock = RLock()

    def __call__(self, part: float) -> None:
        with self._lock:
            self._done += part
            now = min(100, int(100 * self._done + 1e-6))
            if now > self._told:
                self._progress(now - self._told)
                self._told = now


def pace(done: float, total: float | None, seconds: float, unit: str) -> str:
    """How far it is, how fast it goes, and how long it will take at this pace."""
    if unit == "%":
        words = f"{done:.0f}%"
    else:
        words = f"{done:,.0f} {unit}" if total is None else f"{done:,.0f} of {total:,.0f} {unit}"
    if seconds < 0.5 or not done:
        return words
    speed = done / seconds
    words += "" if unit == "%" else f", {speed:,.0f} {unit}/s"
    if total is None or done >= total:
        return words
    left = max(total - done, 0) / speed
    return f"{words}, {left:,.0f} s left" if left < 120 else f"{words}, {left / 60:,.0f} min left"


def _bar(what: str, unit: str, *, anyway: bool) -> _Bar | None:
    if _in_notebook():
        return _NotebookBar(what, unit)
    terminal = False
    with suppress(Exception):
        terminal = sys.stderr.isatty()
    return _TerminalBar(what, unit) if terminal or anyway else None


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this, which shows HTML."""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"


class _Bar:
    """A bar. Where it cannot be drawn any more, the work goes on: what was paid for must not be lost by it."""

    def __init__(self, what: str, unit: str) -> None:
        self._what, self._unit = what, unit
        self._done, self._total, self._began = 0, None, time.monotonic()

    def expect(self, total: int | None) -> None:
        """Take note of how much there is to do, where that is known."""
        self._total = total

    def __call__(self, done: int) -> None:
        self._done += done
        with suppress(Exception):
            self._draw(pace(self._done, self._total, time.monotonic() - self._began, self._unit))

    def __enter__(self) -> _Bar:
        with suppress(Exception):
            self._begin()
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(Exception):
            self._end()

    def _begin(self) -> None: ...

    def _draw(self, words: str) -> None: ...

    def _end(self) -> None: ...


class _TerminalBar(_Bar):
    """On standard error, and gone when the work is done."""

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20)]
        columns += [TextColumn("{task.fields[said]}"), TimeElapsedColumn()]

        class Steadfast(Console):
            """Not even a closed pipe may end the process, which is what rich does."""

            def on_broken_pipe(self) -> None:
                raise BrokenPipeError

        self._rich = Progress(*columns, console=Steadfast(stderr=True), transient=True)
        self._task = self._rich.add_task(self._what, total=None, said="")
        self._rich.start()

    def _draw(self, words: str) -> None:
        self._rich.update(self._task, completed=self._done, total=self._total, said=words)

    def _end(self) -> None:
        self._rich.stop()


class _NotebookBar(_Bar):
    """One line of HTML in the output of a cell, which stays as the record of how long it took."""

    def _begin(self) -> None:
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

        self._html: Any = HTML
        self._shown: Any = display(HTML(self._line("")), display_id=True)

    def _draw(self, words: str) -> None:
        self._shown.update(self._html(self._line(words)))

    def _end(self) -> None:
        seconds = f"{time.monotonic() - self._began:,.0f} s"
        self._shown.update(self._html(f"<small>{escape(self._what)}: {seconds}</small>"))

    def _line(self, words: str) -> str:
        said = "" if self._total is None else f' value="{self._done}" max="{self._total}"'
        return f"<small>{escape(self._what)} <progress{said}></progress> {escape(words)}</small>"
