"""Small processes that use a ledger, for the tests of races, kills and full disks. Each result is a printed line."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from fractions import Fraction

from tacit.errors import RefusedError
from tacit.ledger import Ledger, digest
from tacit.privacy.events import LaplaceEvent
from tacit.privacy.filter import Filter

PLAN = digest({"plan": "test"})


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def careless_spend(ledger: Ledger, dataset: str, event: LaplaceEvent) -> None:
    """A planted fault: whether the event fits is decided before the lock is taken."""
    with ledger._reading() as book:
        account = book.account(dataset)
    if not Filter(account.total).admits(account.spent, event):
        raise RefusedError
    with ledger._writing() as book:
        book.charge(dataset, book.account(dataset), event, PLAN)


def race(careless: str) -> None:
    """For each line "path dataset epsilon start" wait until start, then try to spend once."""
    say("ready")
    for line in sys.stdin:
        path, dataset, epsilon, start = line.split()
        ledger, event = Ledger(path), LaplaceEvent(Fraction(epsilon), 100)
        while time.monotonic() < float(start):
            pass
        try:
            if careless == "careless":
                careless_spend(ledger, dataset, event)
            else:
                ledger.spend(dataset, event, PLAN)
            say("won")
        except RefusedError:
            say("lost")


def kills(path: str, dataset: str, count: str, seed: str) -> None:
    """``count`` times fork a child that spends without end and kill it at a random moment; print what it printed."""
    rng = random.Random(int(seed))
    start = time.monotonic()
    for _ in range(3):
        Ledger(path).spend(dataset, LaplaceEvent(Fraction(1, 1000), 100), PLAN)
    horizon = min(0.2, max(0.01, 4 * (time.monotonic() - start) / 3))  # a few spends, on a fast disk or a slow one
    interrupted = 0
    for _ in range(int(count)):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(read_end)
                os.dup2(write_end, 1)
                spend_without_end(path, dataset)
            finally:
                os._exit(1)
        os.close(write_end)
        os.read(read_end, 1)  # the child has started
        time.sleep(rng.uniform(0, horizon))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        interrupted += os.path.exists(f"{path}-journal")
        with os.fdopen(read_end) as printed:
            for line in printed:
                if line.startswith("{") and line.endswith("\n"):
                    say(line.strip())
    say("interrupted", interrupted)


def spend_without_end(path: str, dataset: str) -> None:
    os.write(1, b".\n")
    ledger = Ledger(path)
    while True:
        receipt = ledger.spend(dataset, LaplaceEvent(Fraction(1, 1000), 100), PLAN)
        say(json.dumps(receipt.to_plain()))


def until_refused(path: str, dataset: str, room: str) -> None:
    """Spend until refused, with files limited to the ledger's size plus ``room`` bytes, or not if it is "none"."""
    ledger = Ledger(path)
    if room != "none":
        limit = os.path.getsize(path) + int(room)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        while True:
            receipt = ledger.spend(dataset, LaplaceEvent(Fraction(1, 10**6), 100), PLAN)
            say(json.dumps(receipt.to_plain()))
    except RefusedError as error:
        say(f"refused: {error}")


def as_nobody(path: str, action: str) -> None:
    """Give up the rights of root, then try to open the ledger, to spend or to verify; print what came of it."""
    ledger = None if action == "open" else Ledger(path)
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        if ledger is None:
            Ledger(path)
        elif action == "spend":
            ledger.spend("a", LaplaceEvent(Fraction(1, 2), 100), PLAN)
        elif problems := ledger.verify():
            say(problems)
        say("done")
    except Exception as error:
        say(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    modes = {"race": race, "kills": kills, "until-refused": until_refused, "as-nobody": as_nobody}
    modes[sys.argv[1]](*sys.argv[2:])
