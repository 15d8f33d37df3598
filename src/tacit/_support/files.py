"""Files that are whole or absent: a half-written one never replaces a good one.

Nor is one left lying about. Where the system can, a file gets its name only when it is whole (``O_TMPFILE``): whoever
kills the process before that leaves nothing behind. Elsewhere, and for the moment in which a file takes the place of
another, it goes by a hidden name, which only its owner may read where the content is private. One that was left behind,
whose writer is gone (its lock is free), is removed when the same file is written the next time.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tacit._support.interrupts import uninterrupted
from tacit.errors import InputError, expected, one_thing

DATA_SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
"""Of files that hold rows."""

_IN_THE_WAY = "not to exist yet; choose another name, or allow overwriting (--overwrite) where that is offered"


def check_writable(path: str | Path, *, name: str, overwrite: bool) -> Path:
    """Refuse now what would fail later: a missing folder, a folder in the file's place, a file already there.

    Nor is a link, a pipe or a device ever replaced, even where files are: `/dev/null` would be a file for everybody on
    the computer from then on, and so would `/dev/stdout`, which is a link.
    """
    target = _as_path(path, name)
    try:
        if target.is_dir():
            raise expected(name, str(path), "to be a file, not a folder")
        if not target.parent.is_dir():
            raise expected(name, str(path), "to lie in a folder that exists")
        with suppress(FileNotFoundError):
            mode = os.lstat(target).st_mode  # not exists(): a link to nowhere is in the way as well
            if not stat.S_ISREG(mode):
                raise expected(name, str(path), "to be a new file or a regular file, not a link, a pipe or a device")
            if not overwrite:
                raise expected(
                    name,
                    str(path),
                    _IN_THE_WAY,
                )
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise expected(name, str(path), "to lie in a folder that can be written to")
    except OSError as error:
        raise _failed(name, path, "writable", error) from None
    return target


def check_apart(path: str | Path, name: str, **others: str | Path | None) -> None:
    """Refuse an output that is one of the ``others``, which are read or kept: overwriting would destroy it.

    Data may be a folder or a pattern, which stand for the data files they hold or match, or a table of a database,
    which stands for the file. A ledger also stands for the files that SQLite puts beside it.
    """
    target = os.path.realpath(path)
    for other, place in others.items():
        if place is None:
            continue
        for one in _places(place) if other == "data" else [str(place)]:
            taken = os.path.realpath(one)
            inside = target.lower().endswith(DATA_SUFFIXES) and target.startswith(taken.rstrip(os.sep) + os.sep)
            beside = other == "ledger" and target in (f"{taken}-journal", f"{taken}-wal", f"{taken}-shm")
            if target == taken or inside or beside or _same_file(path, one):
                raise expected(name, str(path), f"not to be the {other} or part of it, which would be lost")


def _places(data: str | Path) -> list[str]:
    """The files and folders that the data are in."""
    text = str(data).split("::")[0]
    return [text, *glob.glob(text, recursive=True)]


def _same_file(path: str | Path, other: str | Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def write_atomically(path: str | Path, content: bytes, *, name: str, overwrite: bool, private: bool = False) -> Path:
    """Write a file that has no name yet, or a hidden one beside ``path``, sync it, and put it into place in one step.

    Where it is ``private`` nobody but its owner may ever read it.
    """
    target = check_writable(path, name=name, overwrite=overwrite)
    mode = 0o600 if private else 0o666
    with uninterrupted():
        try:
            _remove_stale(target)
            try:
                _write_nameless(target, content, mode, overwrite=overwrite)
            except _NotNamelessError:
                _write_hidden(target, content, mode, overwrite=overwrite)
            _sync_folder(target.parent)
        except FileExistsError:
            raise expected(
                name,
                str(path),
                _IN_THE_WAY,
            ) from None
        except OSError as error:
            raise _failed(name, path, "writable", error) from None
    return target


class _NotNamelessError(Exception):
    """This system, or this file system, has no files without a name."""


def _write_nameless(target: Path, content: bytes, mode: int, *, overwrite: bool) -> None:
    try:
        file = os.open(target.parent, os.O_TMPFILE | os.O_WRONLY, mode)
    except (OSError, AttributeError):
        raise _NotNamelessError from None
    with os.fdopen(file, "wb") as stream:
        _lock(file)
        _fill(stream, content)
        if overwrite:
            with _hidden_name(target) as temporary:  # a link can not replace a file
                _name(file, temporary)
                _replace(temporary, target)
        else:
            _name(file, target)


def _name(file: int, target: Path) -> None:
    """Give an open file a name; fails if there is one by it."""
    try:
        # With a folder to start from, which a whole path needs not, Python calls linkat, and that follows the link.
        os.link(f"/proc/self/fd/{file}", target, src_dir_fd=file, follow_symlinks=True)
    except FileExistsError:
        raise
    except OSError:
        raise _NotNamelessError from None


def _write_hidden(target: Path, content: bytes, mode: int, *, overwrite: bool) -> None:
    with (
        _hidden_name(target) as temporary,
        open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as stream,
    ):
        _lock(stream.fileno())
        if os.fstat(stream.fileno()).st_nlink == 0:  # taken for one that was left behind, before it was locked
            raise FileNotFoundError(errno.EAGAIN, "another process writes the same file")
        _fill(stream, content)
        if overwrite:
            _replace(temporary, target)
        else:
            _put(temporary, target)


def _fill(stream: Any, content: bytes) -> None:
    stream.write(content)
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def _hidden_name(target: Path) -> Generator[Path]:
    temporary = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}"
    try:
        yield temporary
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _remove_stale(target: Path) -> None:
    """Remove what a process that was killed has left behind of the same file."""
    hidden = re.compile(rf"\.{re.escape(target.name[:40])}\.[0-9a-f]{{16}}")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if hidden.fullmatch(name):
                with suppress(OSError):
                    _remove_if_free(target.parent / name)


def _remove_if_free(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(file, wait=False):
            os.unlink(path)
    finally:
        os.close(file)


def _lock(file: int, *, wait: bool = True) -> bool:
    """Lock an open file until it is closed, so that nobody takes it for one that was left behind; whether it worked."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return True
    return False


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _replace(temporary: Path, target: Path) -> None:
    """Take the place of a regular file, or of none; what else may have come there since it was checked stays."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(target).st_mode):
            raise FileExistsError
    os.replace(temporary, target)


def _put(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)  # unlike a rename, fails if another process made the file meanwhile
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        if os.path.lexists(target):  # without hard links, as on a memory stick, one can only look first
            raise FileExistsError from None
        os.rename(temporary, target)


def check_readable(path: str | Path, *, name: str) -> Path:
    """Refuse what cannot be read as a file: a folder, a pipe that may wait for ever, a device that may never end."""
    source = _as_path(path, name)
    try:
        mode = source.stat().st_mode
        if stat.S_ISDIR(mode):
            raise expected(name, str(path), "to be a file, not a folder")
        if not stat.S_ISREG(mode):
            raise expected(name, str(path), "to be a regular file")
        source.open("rb").close()
    except FileNotFoundError:
        raise expected(name, str(path), "to be a file that exists") from None
    except OSError as error:
        raise _failed(name, path, "readable", error) from None
    return source


def read_bytes(path: str | Path, *, name: str, limit: int) -> bytes:
    """The content of a file that holds no rows (a plan, a release), or one clear sentence."""
    source = check_readable(path, name=name)
    try:
        with source.open("rb") as stream:
            content = stream.read(min(limit, os.fstat(stream.fileno()).st_size) + 1)
    except OSError as error:
        raise _failed(name, path, "readable", error) from None
    if len(content) > limit:
        raise expected(name, str(path), f"to have at most {limit} bytes")
    return content


def read_text(path: str | Path, *, name: str, limit: int) -> str:
    """The same as text in UTF-8."""
    try:
        return read_bytes(path, name=name, limit=limit).decode("utf-8")
    except UnicodeDecodeError:
        raise expected(name, str(path), "to be text in UTF-8") from None


def _as_path(path: object, name: str) -> Path:
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        ours = type(path).__module__.startswith("tacit.")  # a plan, a release: its kind says enough
        raise expected(
            name, type(path).__name__ if ours else one_thing(path), f"to be a {name} or the path of its file"
        )
    return Path(path)


def _failed(name: str, path: object, what: str, error: OSError) -> InputError:
    return expected(name, str(path), f"to be {what}: {error.strerror or error}")
