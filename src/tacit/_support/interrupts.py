"""Ctrl-C at the wrong moment: what must happen whole or not at all is not cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Generator[None]:
    """Put off Ctrl-C and SIGTERM to the end of the block, which should be short.

    Only where somebody handles these signals in Python, as an interactive session and the command `tacit` do, and in
    the main thread, which is the only one that Python ever interrupts.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread():
        handlers.clear()
    held: list[int] = []
    try:
        for number in handlers:
            signal.signal(number, lambda caught, _frame: held.append(caught))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in held[:1]:
            signal.raise_signal(number)
