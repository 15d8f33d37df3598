"""Processes that end: children go with their parent, JAX is not started where it would hang, outputs may be closed."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tacit
from tacit.runtime import forks
from tacit.runtime.processes import Worker, workers

TOOL = str(Path(sys.executable).parent / "tacit")
PLAN = """
[model]
family = "bernoulli"
column = "smoker"
[schema]
smoker = ["no", "yes"]
[budget]
epsilon = 1.0
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: reads /proc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("processes")
    (place / "plan.toml").write_text(PLAN)
    (place / "rows.csv").write_text("smoker\n" + "yes\nno\n" * 20)
    tacit.simulate(place / "plan.toml", n=50, seed=0).release.save(place / "release.json")
    return place


def of_group(group):
    """The processes of a group that are still running, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(process_group) == group and state != "Z":
                found.append(int(entry.name))
    return found


def wait_until(condition, seconds):
    last = time.monotonic() + seconds
    while not condition() and time.monotonic() < last:
        time.sleep(0.05)
    return condition()


CALIBRATE = (TOOL, "calibrate", "plan.toml", "--n", "50", "--trials", "40000", "--processes", "2")
CERTIFY = (sys.executable, "-m", "tacit.certificates", "--out", "out", "--only", "linear", "--processes", "2")


@linux
@pytest.mark.parametrize(
    ("words", "number"),
    [
        pytest.param(words, number, id=f"{number.name}-{name}", marks=pytest.mark.slow if slow else ())
        for words, name in ((CALIBRATE, "calibrate"), (CERTIFY, "certificates"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
        for slow in (words is CERTIFY,)  # its children are started by the same few lines: see below
    ],
)
def test_children_end_with_their_parent(folder, words, number):
    """The signal goes to the parent alone. The pipe on which the caller waits is at its end when the last child is."""
    semaphores = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    parent = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        assert wait_until(lambda: len(of_group(parent.pid)) >= 4, 60), "the parent, a tracker and two children"
        time.sleep(0.3)
        parent.send_signal(number)
        out, _ = parent.communicate(timeout=20)  # hangs for as long as a child holds the pipe
        assert wait_until(lambda: not of_group(parent.pid), 10), "orphans"
        assert parent.returncode in (130, -number)
        assert "Traceback" not in out
        assert "leaked" not in out
        if os.path.isdir("/dev/shm"):
            assert {name for name in set(os.listdir("/dev/shm")) - semaphores if name.startswith("sem.mp-")} == set()
    finally:
        for left in of_group(parent.pid):
            os.kill(left, signal.SIGKILL)
        parent.wait()


def test_nothing_but_these_lines_starts_processes():
    """So that what holds for the children of one command holds for those of all."""
    source = Path(tacit.__file__).parent
    using = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if re.search(r"^\s*(from|import) (multiprocessing|concurrent\.futures\.process)", path.read_text("utf-8"), re.M)
        or "ProcessPoolExecutor" in path.read_text("utf-8")
    }
    assert using == {"runtime/processes.py"}


@linux
def test_ctrl_c_at_a_terminal_reaches_the_whole_group_and_prints_one_word(folder):
    """The children get the signal as well, also while they start, and have nothing to say about it."""
    for pause in (0.0, 0.5):
        parent = subprocess.Popen(
            CALIBRATE, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert wait_until(lambda group=parent.pid: len(of_group(group)) >= 4, 60)
        time.sleep(pause)
        os.killpg(parent.pid, signal.SIGINT)
        out, err = parent.communicate(timeout=20)
        assert (out, err, parent.returncode) == ("", "Stopped.\n", 130)
        assert wait_until(lambda group=parent.pid: not of_group(group), 10)


def _double(value):
    if value < 0:
        raise tacit.InputError("Expected value to be positive.")
    if value == 13:
        os._exit(3)
    return 2 * value


def test_workers_return_raise_and_end():
    with workers(_double, [(1,), (2,)]) as started:
        assert [worker.result() for worker in started] == [2, 4]
    with pytest.raises(tacit.InputError, match="positive"), workers(_double, [(-1,)]) as (worker,):
        worker.result()
    with pytest.raises(tacit.RefusedError, match="exit code 3"), workers(_double, [(13,)]) as (worker,):
        worker.result()
    sleeper = Worker(time.sleep, (1000,))
    with pytest.raises(TimeoutError):
        sleeper.result(0.05)
    sleeper.end()
    assert not sleeper._process.is_alive()


# ---------------------------------------------------------------------------------------------------------------------
# JAX where it cannot run


@linux
@pytest.mark.parametrize("kilobytes", [1_500_000, 2_000_000, 2_500_000])
def test_too_little_address_space_is_a_sentence(folder, kilobytes, tmp_path):
    """As under ulimit -v. Without the check JAX aborts or asks for ever, by how much there is."""

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (1024 * kilobytes, 1024 * kilobytes))

    for words in (
        ("infer", "release.json", "-o", str(tmp_path / "out.nc")),
        ("calibrate", "plan.toml", "--n", "20", "--trials", "20"),
    ):
        done = subprocess.run(
            [TOOL, *words], cwd=folder, preexec_fn=limited, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(r"Error: Expected the limit on address space \(ulimit -v\) [^\n]*\.\n", done.stderr)


FORKED = """
import os, sys, tacit
plan = tacit.Plan(tacit.Bernoulli("a"), tacit.Schema(a=["n", "y"]), tacit.PureDP(1.0))
release = tacit.simulate(plan, n=50, seed=0).release
if sys.argv[1] == "tacit":
    tacit.infer(release, draws=20, anyway=True, chains=2, method="naive")
elif sys.argv[1] == "jax":
    import jax
    jax.numpy.zeros(3).sum().block_until_ready()
child = os.fork()
if child == 0:
    import signal
    signal.alarm(60)
    try:
        tacit.infer(release, draws=20, anyway=True, chains=2, method="naive")
        os._exit(0)
    except tacit.RefusedError as error:
        os.write(1, str(error).encode())
        os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT TESTED: nothing forks here")
@pytest.mark.parametrize(("before", "code"), [("tacit", 7), ("jax", 7), ("nothing", 0)])
def test_inference_in_a_forked_child_is_refused_where_jax_ran_before(before, code):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, before], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    if code:
        assert done.stdout.startswith("Expected inference to run where JAX was started or in a fresh process")
        assert "spawn" in done.stdout


def test_this_process_was_not_forked():
    forks.check_not_forked()


# ---------------------------------------------------------------------------------------------------------------------
# Standard streams that are closed, full or broken

COMMANDS = {
    "help": ("--help",),
    "version": ("--version",),
    "help of a command": ("infer", "--help"),
    "check": ("check", "plan.toml"),
    "json": ("check", "plan.toml", "--json"),
    "tsv": ("check", "plan.toml", "--tsv"),
    "design": ("design", "plan.toml", "--n", "100"),
    "privatize": ("privatize", "plan.toml", "rows.csv", "-o", "out.json", "--ledger", "ledger.db", "--dataset", "a"),
    "infer": ("infer", "release.json", "-o", "out.nc", "--draws", "20", "--anyway", "--method", "naive"),
    "cite": ("cite",),
    "ledger": ("ledger", "show", "ledger.db"),
}


@pytest.fixture
def desk(folder, tmp_path):
    for name in ("plan.toml", "rows.csv", "release.json"):
        shutil.copy(folder / name, tmp_path)
    tacit.Ledger.create(tmp_path / "ledger.db").new_dataset("a", tacit.PureDP(5.0))
    return tmp_path


def shell(desk, words, redirect):
    """In a shell; the exit code of the command itself, and what it wrote to standard error."""
    line = f'"$@" {redirect}; echo ${{PIPESTATUS[0]}} > code'
    done = subprocess.run(
        ["bash", "-c", line, "bash", TOOL, *words], cwd=desk, capture_output=True, text=True, timeout=120
    )
    return int((desk / "code").read_text()), done.stderr


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_closed_or_full_output_is_one_sentence(desk, words):
    """And nothing is spent for a result that nobody would see; the ledger is not taken for standard output."""
    head = tacit.Ledger(desk / "ledger.db").head
    for redirect in (">&-", "> /dev/full", "<&- >&-"):
        code, err = shell(desk, words, redirect)
        assert (code, err.count("\n")) == (1, 1), (redirect, err)
        assert err.startswith("Error: Expected standard output to be writable: ")
    assert shell(desk, words, ">&- 2>&-") == (1, "")
    assert shell(desk, words, "> /dev/full 2> /dev/full") == (1, "")
    assert tacit.Ledger(desk / "ledger.db").head == head
    assert not any((desk / name).exists() for name in ("out.json", "out.nc"))


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_reader_that_goes_away_causes_no_words(desk, words):
    code, err = shell(desk, words, "| head -c 1 > /dev/null")
    assert code in (0, 1)
    assert err == ""


def test_errors_keep_their_code_where_standard_error_is_closed_or_full(desk):
    for redirect in ("2>&-", "2> /dev/full"):
        assert shell(desk, ("check", "nothing.toml"), redirect)[0] == 2
    assert shell(desk, ("check", "plan.toml"), "2>&-")[0] == 0
