"""Who is told how far work is, what is told, and that a bar which cannot be drawn stops nothing."""

from __future__ import annotations

import contextlib
import os
import pty
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from tacit.errors import InputError
from tacit.runtime.progress import heard, percent, share, shown, tell


def work(parts=7):
    for _ in range(parts):
        tell(1 / parts)


def test_percent_are_whole_numbers_that_add_up_to_100():
    told = []

    class Bar:
        def expect(self, total):
            told.append(("expect", total))

        def __call__(self, done):
            told.append(done)

    with percent(Bar(), "Working"):
        work()
    assert told[0] == ("expect", 100)
    assert sum(told[1:]) == 100
    assert all(isinstance(done, int) and done > 0 for done in told[1:])
    told.clear()
    with percent(told.append, "Working"):  # nothing was told on the way
        pass
    assert told == [100]
    told.clear()
    with percent(told.append, "Working"):  # more was told than there is
        work()
        work()
    assert sum(told) == 100


def test_two_threads_that_tell_at_once_tell_100_percent_and_no_more():
    """Whoever listens is slow, so that each thread comes while the other is told; unlocked, points are told twice."""
    told = []

    def listener(points):
        time.sleep(0.001)
        told.append(points)

    with percent(listener, "work"), ThreadPoolExecutor(2) as pool:
        for context in (copy_context(), copy_context()):
            pool.submit(context.run, lambda: [tell(0.01) for _ in range(50)])
    assert sum(told) == 100


def test_work_within_work_tells_its_share():
    told = []
    with percent(told.append, "All"), share(0.5), percent(None, "Part"):
        work()
    assert sum(told[:-1]) in (49, 50)
    assert sum(told) == 100


def test_nobody_is_told_who_did_not_ask():
    told = []
    with heard(told.append), percent(False, "Working"):
        work()
    assert told == []
    with percent(False, "All"), percent(None, "Part"):  # not even by a part
        work()
    with shown(False, "Working", "rows") as progress:
        assert progress is None
    with shown(None, "Working", "rows") as progress:  # the tests are no terminal
        assert progress is None


@pytest.mark.parametrize("asked", [1, "yes", [print]])
def test_anything_else_is_refused(asked):
    with pytest.raises(InputError, match="Expected progress="), percent(asked, "Working"):
        pass


def test_a_bar_that_cannot_be_drawn_stops_nothing(monkeypatch):
    """Standard error is closed while rows are read that are paid for already."""

    class Closed:
        def isatty(self):
            return True

        def write(self, _text):
            raise BrokenPipeError

        flush = write

    monkeypatch.setattr(sys, "stderr", Closed())
    with shown(True, "Reading", "rows") as progress:
        progress.expect(10)
        for _ in range(10):
            progress(1)


def test_a_bar_on_a_terminal_says_percent_and_the_time_left():
    script = (
        "import time\nfrom tacit.runtime.progress import percent, tell\n"
        "with percent(None, 'Working'):\n    for _ in range(10):\n        time.sleep(0.15)\n        tell(0.1)\n"
    )
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, "-c", script], {**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    seen = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end is closed
        while part := os.read(terminal, 4096):
            seen += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, seen
    assert b"Working" in seen
    assert b"60%" in seen
    assert b"s left" in seen
