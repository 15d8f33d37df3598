"""Many processes at once, processes that are killed, and disks that fill up: never one entry too many or too few."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import RefusedError
from tacit.ledger import Ledger, Receipt, digest
from tacit.privacy.events import LaplaceEvent
from tacit.privacy.guarantees import PureDP

WORKER = Path(__file__).parents[1] / "ledger_worker.py"
PLAN = digest({"plan": "test"})


def worker(*args, **kwargs):
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **kwargs,
    )


def run_race(folder, rounds, careless, workers=8):
    """How many of 8 processes won each round, how many could, and the ledgers, each of 20 rounds."""
    capacities = [(1, 2, 3, 7)[i % 4] for i in range(rounds)]
    racers = [worker("race", careless) for _ in range(workers)]
    won, ledgers = [], []
    try:
        for racer in racers:
            assert racer.stdout.readline() == "ready\n"
        for i, capacity in enumerate(capacities):
            if i % 20 == 0:
                ledgers.append(Ledger.create(folder / f"{i}.db"))
            ledgers[-1].new_dataset(f"round-{i}", PureDP(1.0))
            start = time.monotonic() + 0.003
            for racer in racers:
                racer.stdin.write(f"{ledgers[-1].path} round-{i} 1/{capacity} {start}\n")
                racer.stdin.flush()
            won.append([racer.stdout.readline() for racer in racers].count("won\n"))
    finally:
        for racer in racers:
            racer.stdin.close()
            racer.wait()
            racer.stdout.close()
    return won, capacities, ledgers


@pytest.mark.parametrize("rounds", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_of_eight_processes_exactly_as_many_win_as_the_budget_has_room_for(tmp_path, rounds):
    """No randomness but the scheduler's, and no false alarms. The next test plants a fault that this one must catch."""
    won, capacities, ledgers = run_race(tmp_path, rounds, "careful")
    assert won == capacities
    assert all(ledger.verify() == [] for ledger in ledgers)
    assert len(list(tmp_path.iterdir())) == len(ledgers)


def test_deciding_before_the_lock_is_caught(tmp_path):
    won, capacities, (ledger,) = run_race(tmp_path, 20, "careless")
    assert any(w > c for w, c in zip(won, capacities, strict=True))
    assert any("has spent more than its total" in problem for problem in ledger.verify())


def test_threads_of_one_process_race_as_well(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("a", PureDP(1.0))
    results = []

    def spend():
        try:
            results.append(ledger.spend("a", LaplaceEvent(Fraction(1, 5), 100), PLAN).entry)
        except RefusedError:
            results.append(None)

    threads = [threading.Thread(target=spend) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(r for r in results if r) == [3, 4, 5, 6, 7]
    assert ledger.verify() == []


def test_processes_that_make_the_same_ledger_agree_on_one(tmp_path):
    path = tmp_path / "ledger.db"
    code = "import sys; from tacit.ledger import Ledger; print(Ledger.open_or_create(sys.argv[1]).id)"
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]
    ids = {run.communicate()[0].strip() for run in runs}
    assert ids == {Ledger(path).id}
    assert os.listdir(tmp_path) == ["ledger.db"]


@pytest.mark.parametrize("batches", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_a_killed_process_loses_nothing_that_it_was_told(tmp_path, batches):
    """50 kills a batch, at moments drawn with seeds 0, 1, ...; the scheduler adds its own randomness. No false alarms.

    Every receipt that reached a process before its kill must be in the ledger afterwards, and the ledger must be sound.
    That the kills do hit transactions is seen from the journals that they leave.
    """
    told = interrupted = 0
    for batch in range(batches):
        ledger = Ledger.create(tmp_path / f"{batch}.db")
        ledger.new_dataset("a", PureDP(1000.0))
        with worker("kills", ledger.path, "a", 50, batch) as run:
            lines = run.communicate()[0].splitlines()
        assert run.returncode == 0
        receipts = [Receipt.from_plain(json.loads(line)) for line in lines[:-1]]
        told += len(receipts)
        interrupted += int(lines[-1].split()[1])
        assert Ledger(ledger.path).verify(receipts) == []
        spends = len(ledger.entries("a")) - 4  # less the total and three spends to measure the time that one takes
        assert len(receipts) <= spends <= len(receipts) + 50  # a kill may come between the disk and the receipt
        ledger.spend("a", LaplaceEvent(1, 100), PLAN)
        assert not Path(f"{ledger.path}-journal").exists()
    assert told >= 10 * batches
    assert interrupted >= 2 * batches


def check_after_a_full_disk(ledger, printed):
    lines = printed.splitlines()
    assert lines[-1].startswith(f"refused: Expected ledger={str(ledger.path)!r} to record the entry: ")
    assert lines[-1].endswith("so nothing may be released.")
    receipts = [Receipt.from_plain(json.loads(line)) for line in lines[:-1]]
    assert Ledger(ledger.path).verify(receipts) == []
    return receipts


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB. Needs the right to mount; without it the test below stands in."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no right to mount a small file system; the limit on file sizes stands in for it")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_refuses_and_breaks_nothing(small_disk):
    ledger = Ledger.create(small_disk / "ledger.db")
    ledger.new_dataset("a", PureDP(1.0))
    filler = small_disk / "filler"
    filler.write_bytes(b"0" * (160 * 1024))
    with worker("until-refused", ledger.path, "a", "none") as run:
        receipts = check_after_a_full_disk(ledger, run.communicate()[0])
    assert len(receipts) >= 3
    filler.unlink()
    again = ledger.spend("a", LaplaceEvent(Fraction(1, 2), 100), PLAN)
    assert again.entry == len(ledger.entries())
    assert ledger.verify([*receipts, again]) == []


@pytest.mark.parametrize("room", [0, 5000, 40000])
def test_a_file_that_may_not_grow_refuses_and_breaks_nothing(tmp_path, room):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("a", PureDP(1.0))
    with worker("until-refused", ledger.path, "a", room) as run:
        receipts = check_after_a_full_disk(ledger, run.communicate()[0])
    again = ledger.spend("a", LaplaceEvent(Fraction(1, 2), 100), PLAN)
    assert ledger.verify([*receipts, again]) == []
