"""Small processes that use a ledger, for the tests of races, kills and full disks. They print one line for each result."""

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
from tacit.ledger import Ledger, digest, store
from tacit.ledger.accounts import replay
from tacit.ledger.chain import read_chain
from tacit.privacy.events import LaplaceEvent
from tacit.privacy.filter import Filter

PLAN = digest({"plan": "test"})


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def careless_spend(ledger: Ledger, dataset: str, event: LaplaceEvent) -> None:
    """A planted fault: whether the event fits is decided before the lock is taken."""
    with store.reading(ledger.path) as log:
        account = replay(read_chain(log.rows(), log.head())[0])[0][dataset]
    if not Filter(account.total).admits(account.spent, event):
        raise RefusedError
    with store.writing(ledger.path) as log:
        entries, _ = read_chain(log.rows(), log.head())
        content = {"kind": "spend", "dataset": dataset, "event": event.to_plain(), "plan": PLAN}
        log.append(len(entries) + 1, entries[-1].hash, content)


def race(path: str, careless: str) -> None:
    """For each line "dataset epsilon start" wait until start, then try to spend once."""
    ledger = Ledger(path)
    say("ready")
    for line in sys.stdin:
        dataset, epsilon, start = line.split()
        event = LaplaceEvent(Fraction(epsilon), 100)
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
    """Fork a child that spends without end, kill it at a random moment, ``count`` times; print what the children printed."""
    rng = random.Random(int(seed))
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
        time.sleep(rng.uniform(0, 0.03))
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
    """Spend until refused, with files limited to the ledger's size plus ``room`` bytes; "none" leaves them unlimited."""
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


if __name__ == "__main__":
    {"race": race, "kills": kills, "until-refused": until_refused}[sys.argv[1]](*sys.argv[2:])
