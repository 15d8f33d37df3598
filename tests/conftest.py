"""What holds for all tests."""

from __future__ import annotations

import os
import signal

# Before anything starts JAX: with more than one thread jaxlib can wait for itself for ever (`tacit.runtime.backend`).
os.environ.setdefault("NPROC", "1")


def pytest_configure() -> None:
    """Ctrl-C as in a terminal: what is started in the background of a script inherits that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
