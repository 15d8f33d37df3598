"""Files that are whole or absent: a half-written one never replaces a good one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tacit.errors import InputError, expected


def check_writable(path: str | Path, *, name: str, overwrite: bool) -> Path:
    """Refuse now what would fail later: a missing folder, a folder in the file's place, a file already there."""
    target = Path(path)
    if target.is_dir():
        raise expected(name, str(path), "to be a file, not a folder")
    if not target.parent.is_dir():
        raise expected(name, str(path), "to lie in a folder that exists")
    if target.exists() and not overwrite:
        raise expected(name, str(path), "not to exist yet; choose another name or allow overwriting")
    if not os.access(target.parent, os.W_OK):
        raise expected(name, str(path), "to lie in a folder that can be written to")
    return target


def write_atomically(path: str | Path, content: bytes, *, name: str, overwrite: bool) -> Path:
    """Write to a temporary file beside ``path``, sync it, and move it into place in one step."""
    target = check_writable(path, name=name, overwrite=overwrite)
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        if overwrite:
            os.replace(temporary, target)
        else:
            os.link(temporary, target)  # unlike a rename, fails if another process made the file meanwhile
            os.unlink(temporary)
        temporary = None
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except FileExistsError:
        raise expected(name, str(path), "not to exist yet; choose another name or allow overwriting") from None
    except OSError as error:
        raise InputError(f"Expected {name}={str(path)!r} to be writable: {error.strerror or error}.") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
    return target


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def read_bytes(path: str | Path, *, name: str, limit: int = 2**28) -> bytes:
    """The content of a file that holds no rows (a plan, a release), or one clear sentence."""
    source = Path(path)
    try:
        if source.is_dir():
            raise expected(name, str(path), "to be a file, not a folder")
        if source.stat().st_size > limit:
            raise expected(name, str(path), f"to be smaller than {limit} bytes")
        return source.read_bytes()
    except FileNotFoundError:
        raise expected(name, str(path), "to be a file that exists") from None
    except OSError as error:
        raise InputError(f"Expected {name}={str(path)!r} to be readable: {error.strerror or error}.") from None


def read_text(path: str | Path, *, name: str) -> str:
    """The same as text in UTF-8."""
    try:
        return read_bytes(path, name=name).decode("utf-8")
    except UnicodeDecodeError:
        raise expected(name, str(path), "to be text in UTF-8") from None
