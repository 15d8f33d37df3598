"""Room for those who send: a bounded number of connections, of which the slowest makes room when all are taken.

An honest device sends its request at once. Whoever opens hundreds of connections and sends a byte now and then would
hold all places up to their deadline. So when there is no place for the next connection, one that has been open for more
than `PATIENCE` seconds and whose report is not being stored is closed: of the address that holds most places, the
oldest. Addresses are known for as long as a connection is open, and are written nowhere.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

PATIENCE = 2.0


@dataclass
class _Open:
    connection: socket.socket
    address: str
    since: float
    storing: bool = False
    dropped: bool = False


class Places:
    """At most ``count`` connections at once. Safe to use from many threads."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._open: dict[int, _Open] = {}
        self._changed = threading.Condition()

    def take(self, connection: socket.socket, address: str) -> None:
        """Wait for a place, and make room where somebody has held one for too long."""
        with self._changed:
            while len(self._open) >= self._count:
                self._drop_one()
                self._changed.wait(0.05)
            self._open[id(connection)] = _Open(connection, address, time.monotonic())

    def give_back(self, connection: socket.socket) -> None:
        """The connection is closed."""
        with self._changed:
            self._open.pop(id(connection), None)
            self._changed.notify()

    @contextmanager
    def storing(self, connection: socket.socket) -> Generator[None]:
        """Keep the connection open meanwhile, and then for as long as a new one: the answer is still to be sent."""
        with self._changed:
            one = self._open[id(connection)]
            one.storing = True
        try:
            yield
        finally:
            with self._changed:
                one.since, one.storing = time.monotonic(), False

    def _drop_one(self) -> None:
        now = time.monotonic()
        held = Counter(one.address for one in self._open.values() if not one.dropped)
        slow = [
            one for one in self._open.values() if not one.storing and not one.dropped and now - one.since > PATIENCE
        ]
        if not slow or any(one.dropped for one in self._open.values()):  # who was dropped leaves at once
            return
        worst = max(slow, key=lambda one: (held[one.address], now - one.since))
        worst.dropped = True
        with suppress(OSError):  # it may have gone by itself
            worst.connection.shutdown(socket.SHUT_RDWR)
