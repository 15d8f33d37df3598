"""What the command `tacit` starts: it can be stopped at any moment, quietly, and leaves nothing half-done behind.

This lies outside the package `tacit`, because importing anything inside it takes a tenth of a second already, and
Ctrl-C must not print a traceback in that time either.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS = 3.0
_STOPPED = 130  # what a shell reports for Ctrl-C


def main() -> None:
    """Run the command line."""
    _fill_missing_streams()
    _use_few_arenas()
    # Until the commands are loaded there is nothing to clear up: the system's own way to stop is the quietest.
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup: stay deaf
    for number in heeded:
        signal.signal(number, signal.SIG_DFL)
    from tacit.cli import main as run

    if os.name == "posix":
        _stop_compiled_code_too()
    try:
        for number in heeded:
            signal.signal(number, _stop)
        run()
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _fill_missing_streams() -> None:
    """Put something in the place of a standard stream that the caller has closed.

    The next file that is opened, a ledger for one, would be the stream otherwise, and whatever prints would write into
    it. Standard output gets what cannot be written to, so that a result that goes nowhere is a failure.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)  # the lowest number that is free
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _use_few_arenas() -> None:
    """Let threads share two heaps where the C library is glibc, which gives every thread one of its own.

    What one thread has freed is of no use to another then: the first `tacit infer` of a logistic regression, which
    compiles in two threads, took 562 MiB, and takes 465.
    """
    if sys.platform == "linux":
        from ctypes import CDLL

        most_arenas = -8  # M_ARENA_MAX in malloc.h
        with suppress(AttributeError):  # another C library
            CDLL(None).mallopt(most_arenas, 2)


def _stop(_number: int, _frame: object) -> None:
    """End the process here and now.

    Not by an exception: raised in the middle of compiled code it can be lost, or abort the process with a page of
    traces. There is nothing to clear up: `tacit._support.interrupts.uninterrupted` puts this off where there is.
    """
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides the cursor
    os.write(2, f"{shown}Stopped.\n".encode())
    os._exit(_STOPPED)


def _stop_compiled_code_too() -> None:
    """Let a signal end the process while the main thread is inside a long compiled computation.

    Python calls `_stop` between two of its own steps only. So another thread waits for the signal as well. It gives the
    main thread a moment to be the first, and more where the signal is put off.
    """
    import threading
    import time

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wait() -> None:
        number = os.read(reader, 1)[0]
        last = time.monotonic() + _GRACE_SECONDS
        time.sleep(0.2)
        while signal.getsignal(number) is not _stop and time.monotonic() < last:
            time.sleep(0.01)
        os.write(2, b"Stopped.\n")
        os._exit(_STOPPED)

    threading.Thread(target=wait, daemon=True).start()
