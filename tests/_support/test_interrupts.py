"""Ctrl-C, SIGTERM and SIGKILL at every stage: an output is whole or absent, and what may have been spent is recorded.

Two ways: at exact places (a child sends itself the signal from inside a function) and at moments spread over the whole
run, the start of Python and the imports included. Ctrl-C and SIGTERM leave no temporary file and print no traceback;
after SIGKILL, which nobody can handle, a file whose name begins with a dot and SQLite's journal may stay.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tacit
from tacit._support.interrupts import uninterrupted

TOOL = str(Path(sys.executable).parent / "tacit")
PLAN = """
[model]
family = "bernoulli"
column = "smoker"
[schema]
smoker = ["no", "yes"]
[budget]
epsilon = 0.001
"""
PRIVATIZE = ("privatize", "plan.toml", "rows.csv", "-o", "out.json", "--ledger", "ledger.db", "--dataset", "rows")
INFER = ("infer", "release.json", "-o", "out.nc", "--draws", "20", "--anyway", "--method", "naive")
QUIET = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("template")
    (folder / "plan.toml").write_text(PLAN)
    (folder / "rows.csv").write_text("smoker,age\n" + "yes,1\nno,2\n" * 50_000)
    tacit.Ledger.create(folder / "ledger.db").new_dataset("rows", tacit.PureDP(100.0))
    tacit.simulate(folder / "plan.toml", n=50, seed=0).release.save(folder / "release.json")
    return folder


@pytest.fixture
def place(template, tmp_path):
    """A folder to work in, a folder for temporary files, and the environment that says so."""
    shutil.copytree(template, tmp_path / "work")
    (tmp_path / "temporary").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Compiled code is kept here, so that a killed run cannot damage what other tests use."""
    return tmp_path_factory.mktemp("cache")


def start(place, command, cache=None, **more):
    env = {**os.environ, "TMPDIR": str(place / "temporary"), "XDG_CACHE_HOME": str(cache or place / "cache")}
    return subprocess.Popen(
        command, cwd=place / "work", env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def check(place, number, code, err, output):
    """What must hold after a signal, wherever it struck."""
    work, names = place / "work", set(os.listdir(place / "work"))
    left = names - {"plan.toml", "rows.csv", "ledger.db", "release.json"}
    if output in left:
        whole = tacit.Release.load if output.endswith(".json") else tacit.Posterior.load
        whole(work / output)
    else:
        assert code != 0, "no output, but no complaint either"
    if number in QUIET:
        if err not in ("", "Stopped.\n"):  # only while Python itself starts, before the first line of ours
            assert "Traceback" in err
            assert "tacit_command" not in err
            assert "src/tacit" not in err
        assert left <= {output}
        assert os.listdir(place / "temporary") == []
        assert code in (0, 130, -number)
    else:
        assert all(name.startswith(".") or name.endswith("-journal") for name in left - {output})
    ledger = tacit.Ledger(work / "ledger.db")
    assert ledger.verify() == []
    spends = sum(entry.kind == "spend" for entry in ledger.entries())
    releases = [tacit.Release.load(work / output)] if output == "out.json" and output in names else []
    assert spends >= len(releases)
    assert ledger.verify([tacit.ledger.Receipt.from_plain(release.ledger) for release in releases]) == []
    return spends


# ---------------------------------------------------------------------------------------------------------------------
# At exact places

CHILD = """
import importlib, os, sys
where, when, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.argv = ["tacit", *sys.argv[4:]]
import tacit_command, tacit.cli  # the entry point installs its handlers when it runs
module, _, path = where.partition(":")
owner = importlib.import_module(module)
*outer, name = path.split(".")
for attribute in outer:
    owner = getattr(owner, attribute)
plain = owner.__dict__[name]
function = plain.__func__ if isinstance(plain, (classmethod, staticmethod)) else plain

def struck(*arguments, **named):
    if when == "before":
        os.kill(os.getpid(), number)
    result = function(*arguments, **named)
    if when == "after":
        os.kill(os.getpid(), number)
    return result

setattr(owner, name, type(plain)(struck) if isinstance(plain, (classmethod, staticmethod)) else struck)
tacit_command.main()
"""

# (where, before or after, is it paid for by then, is the output there by then)
STAGES = {
    "the plan is read": ("tacit.plan:Plan.load", "before", False, False),
    "the data is opened": ("tacit.sources.open:open_source", "after", False, False),
    "an entry is half-way into the ledger": ("tacit.ledger.store:Transaction.append", "after", True, False),
    "the price is on the disk": ("tacit.ledger.ledger:Ledger.spend", "after", True, False),
    "rows are counted": ("tacit.statistics.counts:Counts.batch_sum", "before", True, False),
    "noise is drawn": ("tacit.noise.discrete_laplace:DiscreteLaplace.sample", "after", True, False),
    "the release is made": ("tacit.release:Release.to_plain", "before", True, False),
    "the release is noted": ("tacit.ledger.ledger:Ledger.record_release", "after", True, False),
    "the temporary file is written": ("os:fsync", "before", True, True),
    "the temporary file is in its place": ("tacit._support.files:_name", "after", True, True),
    "the release is saved": ("tacit.release:Release.save", "after", True, True),
    "the result is printed": ("tacit.cli.main:say", "before", True, True),
}


DELICATE = [
    stage
    for stage, (where, *_) in STAGES.items()
    if "ledger" in where or where in ("os:fsync", "tacit._support.files:_name")
]
STRIKES = [(stage, signal.SIGINT) for stage in STAGES]
STRIKES += [(stage, number) for stage in DELICATE for number in (signal.SIGTERM, signal.SIGKILL)]


@pytest.mark.parametrize(("stage", "number"), STRIKES, ids=lambda value: getattr(value, "name", value))
def test_privatize_stopped_when(place, stage, number):
    where, when, paid, saved = STAGES[stage]
    child = start(place, [sys.executable, "-c", CHILD, where, when, str(int(number)), *PRIVATIZE])
    _, err = child.communicate(timeout=60)
    spends = check(place, number, child.returncode, err, "out.json")
    if number in QUIET:
        assert (child.returncode, err) == (130, "Stopped.\n")
        assert spends == paid
        assert (place / "work" / "out.json").exists() == saved
    else:
        assert child.returncode == -number
        assert spends <= paid


INFER_STAGES = {
    "the release is read": ("tacit.release:Release.load", "before", False),
    "the sampler has run": ("tacit.runtime.backend:run", "after", False),
    "netCDF is written": ("tacit.posterior.posterior:with_checksum", "before", False),
    "the temporary file is written": ("os:fsync", "before", True),
}


@pytest.mark.parametrize("stage", INFER_STAGES)
def test_infer_stopped_when(place, cache, stage):
    where, when, saved = INFER_STAGES[stage]
    child = start(place, [sys.executable, "-c", CHILD, where, when, str(int(signal.SIGINT)), *INFER], cache)
    _, err = child.communicate(timeout=60)
    check(place, signal.SIGINT, child.returncode, err, "out.nc")
    assert (child.returncode, err) == (130, "Stopped.\n")
    assert (place / "work" / "out.nc").exists() == saved


def test_a_program_without_protection_is_caught(place):
    """The planted fault: with Python's own handling, Ctrl-C half-way prints a traceback."""
    program = CHILD.replace("tacit_command.main()", "tacit.cli.main()").replace("tacit_command, ", "")
    words = ["tacit.sources.open:open_source", "after", str(int(signal.SIGTERM)), *PRIVATIZE]
    child = start(place, [sys.executable, "-c", program, *words])
    assert child.communicate(timeout=60)[1] == ""
    assert child.returncode == -signal.SIGTERM, "stopped by the system, not by us"


# ---------------------------------------------------------------------------------------------------------------------
# At any moment


def full_time(place, words, cache):
    began = time.monotonic()
    child = start(place, [TOOL, *words], cache)
    assert child.communicate(timeout=120)[1] == ""
    assert child.returncode == 0
    return time.monotonic() - began


def strike(place, words, output, cache, number, delay):
    """One run, struck after ``delay`` seconds; the folder is as before afterwards."""
    child = start(place, [TOOL, *words], cache)
    time.sleep(delay)
    child.send_signal(number)
    _, err = child.communicate(timeout=60)
    check(place, number, child.returncode, err, output)
    for name in os.listdir(place / "work"):
        if name == output or name.startswith("."):
            (place / "work" / name).unlink()
    return child.returncode


def spread(place, words, output, cache, kills):
    """Strike at evenly spaced moments from the first to a little past the last of a run."""
    full_time(place, words, cache)  # compiles what there is to compile
    (place / "work" / output).unlink()
    times = []
    for _ in range(2):  # the least of two: a run that was slow by chance would put most strikes past the end
        times.append(full_time(place, words, cache))
        (place / "work" / output).unlink()
    whole = min(times)
    codes = []
    for number, count in kills.items():
        for i in range(count):
            codes.append(strike(place, words, output, cache, number, 0.02 + whole * 1.05 * (i + 0.5) / count))
    assert sum(code != 0 for code in codes) > len(codes) / 3, "most strikes must land before the end"


def test_privatize_at_any_moment(place, cache):
    spread(place, PRIVATIZE, "out.json", cache, {signal.SIGINT: 8, signal.SIGTERM: 3, signal.SIGKILL: 3})


def test_infer_at_any_moment(place, cache):
    spread(place, INFER, "out.nc", cache, {signal.SIGINT: 4, signal.SIGTERM: 1})


@pytest.mark.slow
def test_many_moments(place, cache):
    spread(place, PRIVATIZE, "out.json", cache, {signal.SIGINT: 150, signal.SIGTERM: 50, signal.SIGKILL: 100})
    spread(place, INFER, "out.nc", cache, {signal.SIGINT: 80, signal.SIGTERM: 30, signal.SIGKILL: 30})


@pytest.mark.slow
def test_a_long_computation_can_be_stopped(place, cache):
    """Ctrl-C inside compiled code, to which Python does not listen, works all the same, and at once."""
    plan = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=[str(i) for i in range(200)]), tacit.PureDP(1.0))
    tacit.simulate(plan, n=1000, seed=0).release.save(place / "work" / "long.json")
    words = ("infer", "long.json", "-o", "out.nc", "--warmup", "2000000", "--draws", "1000")
    child = start(place, [TOOL, *words], cache)
    time.sleep(15)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert child.communicate(timeout=60)[1] == "Stopped.\n"
    assert child.returncode == 130
    assert time.monotonic() - began < 5
    assert not (place / "work" / "out.nc").exists()


def test_a_run_that_ignores_ctrl_c_goes_on(place, cache):
    """As under nohup: a signal that was ignored from the start, before the program itself begins, stays ignored."""

    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    child = start(place, [TOOL, *PRIVATIZE], cache, preexec_fn=ignore)
    for _ in range(6):
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[1] == ""
    assert child.returncode == 0
    assert (place / "work" / "out.json").exists()


# ---------------------------------------------------------------------------------------------------------------------
# The block that is not interrupted, in a program of one's own


def test_an_interrupt_waits_for_the_end_of_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with uninterrupted(), uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")
        done.append("what follows it")
    assert done == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_is_not_lost_without_an_interrupt():
    with pytest.raises(ZeroDivisionError), uninterrupted():
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_are_left_alone():
    """Only the main thread may set handlers: elsewhere the block does nothing, and does not fail."""
    seen = []

    def work():
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
