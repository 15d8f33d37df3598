"""An output never lands on what is read, is whole or absent, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import pytest

import tacit
from tacit._support import files
from tacit._support.files import check_apart, write_atomically


@pytest.mark.parametrize(
    ("output", "data"),
    [
        ("rows.csv", "rows.csv"),
        ("data/x.csv", "data"),
        ("data/sub/y.parquet", "data"),
        ("data/x.csv", "data/*.csv"),
        ("data/sub/y.parquet", "data/*"),
        ("shop.duckdb", "shop.duckdb::orders"),
    ],
)
def test_data_of_any_kind_is_not_written_over(output, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "sub").mkdir(parents=True)
    for name in ("rows.csv", "data/x.csv", "data/sub/y.parquet", "shop.duckdb"):
        (tmp_path / name).touch()
    with pytest.raises(tacit.InputError, match="not to be the data or part of it"):
        check_apart(output, "output", data=data)
    check_apart("release.json", "output", data=data)
    check_apart("data/release.json", "output", data=data)
    check_apart("other/x.csv", "output", data=data)


# Writes a private file and is killed at the moment that `where` says; `named`: on a system without nameless files.
KILLED = """
import os, signal, sys
from tacit._support import files
path, where, named, overwrite = sys.argv[1:]
if named == "hidden":
    del os.O_TMPFILE
def die(*_args, **_more):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, where, die)
files.write_atomically(path, b"exact sums" * 1000, name="partial", overwrite=overwrite == "yes", private=True)
"""


@pytest.mark.parametrize("overwrite", ["no", "yes"])
@pytest.mark.parametrize("where", ["fsync", "link", "replace"])
@pytest.mark.parametrize("named", ["nameless", "hidden"])
def test_a_killed_writer_leaves_no_secret_behind(tmp_path, where, named, overwrite):
    """Before, a hidden file with the exact sums stayed for ever.

    Where the system has files without a name, nothing is left; else a hidden file that only its owner may read, which
    the next writer removes. So it is, too, at the one moment in which a file takes the place of another.
    """
    if named == "nameless" and not hasattr(os, "O_TMPFILE"):
        pytest.skip("no O_TMPFILE on this system")
    path = tmp_path / "a.partial"
    if overwrite == "yes":
        path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), where, named, overwrite], check=False)
    dies = where == "fsync" or where == ("replace" if overwrite == "yes" else "link")
    dies = dies or (where == "link" and named == "nameless")
    assert done.returncode == (-signal.SIGKILL if dies else 0)
    if dies:
        assert path.exists() is (overwrite == "yes")
        assert not path.exists() or path.read_bytes() == b"old", "the old file is there until the new one is whole"
    left = [file for file in tmp_path.iterdir() if file != path]
    if named == "nameless" and where != "replace":
        assert left == []
    for file in left:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write_atomically(path, b"new", name="partial", overwrite=True, private=True)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_of_a_writer_who_is_still_there_stays(tmp_path):
    """It is locked; the planted fault is a cleaner that goes by the name alone."""
    path = tmp_path / "a.partial"
    with files._hidden_name(path) as temporary, open(temporary, "xb") as stream:
        files._lock(stream.fileno())
        files._remove_stale(path)
        assert temporary.exists()
    with files._hidden_name(path) as temporary:
        temporary.write_bytes(b"left behind")
        other = tmp_path / f".b.partial.{'0' * 16}"
        other.touch()
        files._remove_stale(path)
        assert not temporary.exists()
        assert other.exists()


@pytest.mark.parametrize("nameless", [True, False])
def test_files_are_whole_and_no_other_is_overwritten(tmp_path, monkeypatch, nameless):
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "a.json"
    umask = os.umask(0o022)
    try:
        write_atomically(path, b"one", name="release", overwrite=False)
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        with pytest.raises(tacit.InputError, match="not to exist yet"):
            write_atomically(path, b"two", name="release", overwrite=False)
        monkeypatch.setattr(files, "check_writable", lambda path, **_: path)  # another process was faster
        with pytest.raises(tacit.InputError, match="not to exist yet"):
            write_atomically(path, b"two", name="release", overwrite=False)
        assert path.read_bytes() == b"one"
        write_atomically(path, b"two", name="release", overwrite=True, private=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(umask)
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(tacit.InputError, match="to be writable"):
        write_atomically(tmp_path / ("x" * 300), b"", name="release", overwrite=True)


def _device(path):
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("NOT TESTED: only root can make a device")


SPECIAL = {
    "pipe": os.mkfifo,
    "device": _device,
    "link to a file": lambda path: path.symlink_to(path.parent / "whole"),
    "link to a pipe": lambda path: (os.mkfifo(path.parent / "pipe"), path.symlink_to("pipe")),
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", SPECIAL)
def test_nothing_but_a_regular_file_is_replaced(tmp_path, kind, overwrite):
    """As root, `-o /dev/stdout --overwrite > file` used to put a file in the place of the link, for everybody."""
    (tmp_path / "whole").write_text("stays")
    target = tmp_path / "target"
    SPECIAL[kind](target)
    before = os.lstat(target)
    with pytest.raises(tacit.InputError, match="a new file or a regular file, not a link, a pipe or a device"):
        write_atomically(target, b"new", name="output", overwrite=overwrite)
    assert os.lstat(target) == before
    assert (tmp_path / "whole").read_text() == "stays"
    assert len(os.listdir(tmp_path)) == 2 + (kind == "link to a pipe")


@pytest.mark.parametrize("named", ["nameless", "hidden"])
def test_what_came_after_the_check_is_not_replaced(tmp_path, monkeypatch, named):
    """Somebody makes a pipe by that name while the content is written."""
    if named == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE")
    filled = files._fill
    monkeypatch.setattr(files, "_fill", lambda *given: (filled(*given), os.mkfifo(tmp_path / "x")))
    with pytest.raises(tacit.InputError, match="not to exist yet"):
        write_atomically(tmp_path / "x", b"new", name="output", overwrite=True)
    assert stat.S_ISFIFO(os.lstat(tmp_path / "x").st_mode)
    assert os.listdir(tmp_path) == ["x"]


def test_standard_output_is_no_file_to_write(tmp_path):
    """Whatever it leads to: `/dev/stdout` is a link such as this one, and the file behind it is the shell's."""
    plan, link = tmp_path / "plan.toml", tmp_path / "stdout"
    tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["a", "b"]), tacit.PureDP(1.0)).save(plan)
    link.symlink_to("/proc/self/fd/1")
    words = ["simulate", str(plan), "--n", "9", "-o", str(link), "--overwrite"]
    with open(tmp_path / "out", "wb") as out:
        command = [sys.executable, "-c", "from tacit.cli import main; main()", *words]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "regular file" in done.stderr
    assert (tmp_path / "out").read_bytes() == b""
    assert os.readlink(link) == "/proc/self/fd/1"
