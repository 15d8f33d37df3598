"""What the command `tacit` starts: it can be stopped at any moment, quietly, and leaves nothing half-done behind.

This lies outside the package `tacit`, because importing anything inside it takes a tenth of a second already, and
Ctrl-C must not print a traceback in that time either.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS = 3.0
_STOPPED = 130  # what a shell reports for Ctrl-C

_stopping = False


def main() -> None:
    """Run the command line."""
    # Until the commands are loaded there is nothing to clear up: the system's own way to stop is the quietest.
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup: stay deaf
    for number in heeded:
        signal.signal(number, signal.SIG_DFL)
    from tacit.cli import main as run

    if os.name == "posix":
        _insist_on_stopping()
    try:
        for number in heeded:
            signal.signal(number, _stop)
        run()
    except BaseException:
        if _stopping:
            _leave()
        raise
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _stop(_number: int, _frame: Any) -> None:
    """Raise KeyboardInterrupt, once: clearing up is not interrupted in its turn."""
    global _stopping
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _stopping = True
    raise KeyboardInterrupt


def _leave() -> NoReturn:
    """End the process without the interpreter's own farewell: compiled code that was cut short may not survive it."""
    shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides the cursor
    os.write(2, f"{shown}Stopped.\n".encode())
    os._exit(_STOPPED)


def _insist_on_stopping() -> None:
    """Make sure that a signal ends the process soon, whatever the main thread is doing.

    The main thread heeds a signal only between two steps of Python: not inside a long compiled computation, and if the
    moment is one in which Python drops exceptions (a callback of its own), never. So another thread waits for the
    signal as well, gives the main thread some seconds to clear up, and then ends the process.
    """
    import threading
    import time

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    say = sys.unraisablehook
    sys.unraisablehook = lambda dropped: None if dropped.exc_type is KeyboardInterrupt else say(dropped)

    def wait() -> None:
        os.read(reader, 1)
        time.sleep(_GRACE_SECONDS)
        _leave()

    threading.Thread(target=wait, daemon=True).start()
