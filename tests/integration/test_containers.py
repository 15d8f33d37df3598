"""A hardened container: a user id that nobody has, no home, a read-only root, no temporary folder, one volume.

The container is a mount namespace of its own, which only root can make. The user may read everything, because this
Python may lie in somebody's home, and may write to the volume alone.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from tacit.runtime import backend

TOOL = str(Path(sys.executable).parent / "tacit")
SRC = str(Path(__file__).parents[2] / "src")
PLAN = """
[model]
family = "bernoulli"
column = "smoker"
[schema]
smoker = ["no", "yes"]
[budget]
epsilon = 1.0
"""
VOLUME = "/mnt"
QUICK = "--chains 2 --draws 20 --method naive"
# What is run, in this order, and its exit code.
COMMANDS = {
    "--version": 0,
    "init /mnt/rows.csv -o /mnt/new.toml": 0,
    "check /mnt/plan.toml": 0,
    "ledger new /mnt/ledger.db --dataset rows --epsilon 3": 0,
    "privatize /mnt/plan.toml /mnt/rows.csv -o /mnt/release.json --ledger /mnt/ledger.db --dataset rows": 0,
    "privatize /mnt/plan.toml /mnt/rows.csv -o /release.json --no-ledger": 2,
    f"infer /mnt/release.json -o /mnt/posterior.nc {QUICK}": 0,
    "report /mnt/posterior.nc -o /mnt/report.html --quick": 0,
    "design /mnt/plan.toml --n 100 --plot /mnt/plot.svg": 1,  # matplotlib insists on a temporary folder
    "audit /mnt/plan.toml --runs 200": 1,  # tries a ledger in one
    "calibrate /mnt/plan.toml --n 20 --trials 20 --method naive --processes 2": (0, 1),
    "ledger verify /mnt/ledger.db --release /mnt/release.json": 0,
    "survey /mnt/habits": 0,
    "demo -o /habits": (1, 2),
}


def container(inputs, script):
    """Run a shell script in it; ``inputs`` is a folder whose files the volume starts with."""
    # A temporary folder that the code lies in is read-only like the rest, and not covered.
    covered = [place for place in ("/tmp", "/var/tmp", "/dev/shm") if not f"{TOOL} {SRC}".count(f"{place}/")]
    outside = f"""
    set -e
    mount -t tmpfs -o mode=0777 tmpfs {VOLUME}
    cp {shlex.quote(str(inputs))}/* {VOLUME}
    chmod a+rw {VOLUME}/*
    mount -o remount,ro,bind / /
    for place in {" ".join(covered)}; do mount -t tmpfs -o ro,mode=0755 tmpfs $place; done
    cd /
    exec setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all,+dac_read_search \\
      --ambient-caps=-all,+dac_read_search env -i PATH=/usr/bin:/bin PYTHONPATH={shlex.quote(SRC)} \\
      bash -c {shlex.quote(script)}
    """
    return subprocess.run(["unshare", "-m", "bash", "-c", outside], capture_output=True, text=True, timeout=300)


def possible(folder):
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None:
        return False
    (folder / "empty").write_text("")
    done = container(folder, "id -u; touch /x; touch /tmp/x; echo written > /mnt/x && cat /mnt/x; echo ~")
    return (
        done.returncode == 0 and done.stdout.split()[:2] == ["54321", "written"] and done.stderr.count("ead-only") == 2
    )


def test_no_command_ends_in_a_traceback(tmp_path):
    if not possible(tmp_path):
        pytest.skip("NOT TESTED: only root, where it may mount, can make a container")
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "rows.csv").write_text("smoker\n" + "yes\nno\n" * 20)
    lines = [
        f"{shlex.quote(TOOL)} {words} > /mnt/out 2> /mnt/err; echo $? >> /mnt/codes; cat /mnt/err; echo '=='"
        for words in COMMANDS
    ]
    done = container(tmp_path, "\n".join([*lines, "cat /mnt/codes >&2"]))
    errors, codes = done.stdout.split("==\n")[:-1], [int(code) for code in done.stderr.split()]
    found = dict(zip(COMMANDS, zip(codes, errors, strict=True), strict=True))
    for (words, wanted), (code, error) in zip(COMMANDS.items(), found.values(), strict=True):
        assert code in (wanted if isinstance(wanted, tuple) else (wanted,)), (words, error)
        assert "Traceback" not in error, words
        assert error == "" if code == 0 else error.count("\n") <= 1, (words, error)


def test_a_home_that_is_not_there_is_no_error(monkeypatch):
    """The old code looked for the home outside its `try`."""

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(backend.jax.config, "update", lambda *_: pytest.fail("no cache without a home"))
    monkeypatch.setattr(backend, "jax", _without_cache(backend.jax))
    backend._use_cache.__wrapped__()


class _without_cache:  # noqa: N801 - stands in for a module
    """JAX to which nobody has said where its cache is."""

    def __init__(self, jax):
        self.config = type("Config", (), {"jax_compilation_cache_dir": None, "update": jax.config.update})()


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777, 0o770])
def test_compiled_code_is_kept_where_nobody_else_can_write(monkeypatch, tmp_path, mode):
    """Compiled code is run: a folder in which others can put some is not used. A new one is its owner's alone."""
    told = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = _without_cache(backend.jax)
    monkeypatch.setattr(type(fake.config), "update", lambda _self, *said: told.append(said))
    monkeypatch.setattr(backend, "jax", fake)
    folder = tmp_path / "tacit" / "jax"
    backend._use_cache.__wrapped__()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    told.clear()
    folder.chmod(mode)
    backend._use_cache.__wrapped__()
    assert bool(told) == (mode in (0o700, 0o755))


def test_a_ledger_needs_no_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.mkdtemp", lambda *_, **__: pytest.fail("a temporary folder"))
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("a", tacit.PureDP(1.0))
    assert ledger.verify() == []
    assert json.loads(json.dumps(ledger.to_plain()))
