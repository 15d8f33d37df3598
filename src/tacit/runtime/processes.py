"""Work in processes of its own, which end with the one that started them, however that ends.

A child holds one end of a pipe whose other end the parent alone has. When the parent is gone, killed or not, the pipe
is at its end, and a thread of the child ends the child. There are no queues and no semaphores that could be left over.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from tacit.errors import RefusedError

_SPAWN = get_context("spawn")  # a forked process could not use JAX


class Worker:
    """One call of ``function`` in a process of its own; `result` waits for what it returns or raises."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        self._results, results = _SPAWN.Pipe(duplex=False)
        parent, self._parent = _SPAWN.Pipe(duplex=False)
        self._process = _SPAWN.Process(target=_work, args=(function, tuple(arguments), results, parent), daemon=False)
        with _ctrl_c_is_for_the_parent():
            self._process.start()
        results.close()
        parent.close()

    def result(self, seconds: float | None = None) -> Any:
        """What the call returned; `TimeoutError` after so many seconds, `RefusedError` if the process was ended."""
        if not self._results.poll(seconds):
            raise TimeoutError
        try:
            done, value = self._results.recv()
        except EOFError:
            self._process.join()
            raise RefusedError(
                f"Expected a process of its own to finish its part, but it was ended (exit code "
                f"{self._process.exitcode}); too little memory is a common reason."
            ) from None
        if not done:
            raise value
        return value

    def kill(self) -> None:
        """End the process, and with it those that it started; whoever waits for its result is told."""
        self._process.kill()

    def end(self) -> None:
        """End the process and let go of all that belongs to it."""
        self.kill()
        self._process.join()
        for connection in (self._results, self._parent):
            connection.close()


@contextmanager
def workers(function: Callable[..., Any], shares: Sequence[Sequence[Any]]) -> Generator[list[Worker]]:
    """A worker for each of the ``shares``, which are arguments; none of them outlives the block."""
    started: list[Worker] = []
    try:
        for share in shares:
            started.append(Worker(function, share))
        yield started
    finally:
        for worker in started:
            worker.end()


@contextmanager
def _ctrl_c_is_for_the_parent() -> Generator[None]:
    """Start processes to which Ctrl-C means nothing, from their first moment: they would print tracebacks.

    A blocked signal stays blocked in a new process. For the parent it is put off, not lost.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # of multiprocessing; lets the signal through where it starts, so it starts first
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(function: Callable[..., Any], arguments: tuple[Any, ...], results: Connection, parent: Connection) -> None:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        answer = True, function(*arguments)
    except Exception as error:
        answer = False, error
    try:
        results.send(answer)
    except Exception as error:  # what cannot be pickled
        results.send((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _end_with(parent: Connection) -> None:
    try:
        parent.recv()
    except (EOFError, OSError):
        os._exit(1)
