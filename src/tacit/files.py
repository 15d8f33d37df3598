"""Files that are whole or absent: a half-written one never replaces a good one."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from tacit.errors import InputError, expected
from tacit.interrupts import uninterrupted

DATA_SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
"""Of files that hold rows."""


def check_writable(path: str | Path, *, name: str, overwrite: bool) -> Path:
    """Refuse now what would fail later: a missing folder, a folder in the file's place, a file already there."""
    target = _as_path(path, name)
    try:
        if target.is_dir():
            raise expected(name, str(path), "to be a file, not a folder")
        if not target.parent.is_dir():
            raise expected(name, str(path), "to lie in a folder that exists")
        with suppress(FileNotFoundError):
            os.lstat(target)  # not exists(): a link to nowhere is in the way as well
            if not overwrite:
                raise expected(name, str(path), "not to exist yet; choose another name or allow overwriting")
            if not target.is_file():
                raise expected(name, str(path), "to be a regular file where there is one to overwrite")
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
    """Write to a temporary file beside ``path``, sync it, and move it into place in one step.

    Where it is ``private`` nobody but its owner may ever read it.
    """
    target = check_writable(path, name=name, overwrite=overwrite)
    temporary = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}"
    with uninterrupted():
        try:
            with open(temporary, "xb", opener=_owners_only if private else None) as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            if overwrite:
                os.replace(temporary, target)
            else:
                _put(temporary, target)
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except FileExistsError:
            raise expected(name, str(path), "not to exist yet; choose another name or allow overwriting") from None
        except OSError as error:
            raise _failed(name, path, "writable", error) from None
        finally:
            with suppress(OSError):
                os.unlink(temporary)
    return target


def _owners_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


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
        raise expected(name, path, "to be the path of a file")
    return Path(path)


def _failed(name: str, path: object, what: str, error: OSError) -> InputError:
    return expected(name, str(path), f"to be {what}: {error.strerror or error}")
