"""The folder of compiled code: its owner's alone, because whatever lies there is run."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def cache_folder(name: str) -> Path | None:
    """A folder of that name in the user's cache, made where it is missing; None where others could write to it."""
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = root / "tacit" / name
        for made in (root, folder.parent, folder):  # one by one: what `parents=True` makes follows the umask
            made.mkdir(mode=0o700, parents=made is root, exist_ok=True)
        if not _ours_alone(folder):
            return None
        if os.name == "posix":
            folder.chmod(0o700)  # an earlier tacit may have left it open to readers
    except (OSError, RuntimeError):  # a home that cannot be written to, or none: compile every time
        return None
    return folder


def _ours_alone(folder: Path) -> bool:
    """Whether nobody else can put compiled code there, which would be run, and whether we can."""
    found = folder.stat()
    return _ours(found) and os.access(folder, os.W_OK | os.X_OK)


def _ours(found: os.stat_result) -> bool:
    user = os.geteuid() if hasattr(os, "geteuid") else found.st_uid
    return found.st_uid == user and not found.st_mode & 0o022


def read_ours(path: Path) -> bytes | None:
    """The content of a file that we alone can write; None where it is missing, a link, or anybody else's."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        return file.read() if stat.S_ISREG(found.st_mode) and _ours(found) else None


def drop_oldest(folder: Path, most: int) -> None:
    """Delete what was used longest ago until the files take at most so many bytes."""
    with suppress(OSError):
        found = [(one.stat(), one) for one in folder.iterdir()]
        size = sum(about.st_size for about, _ in found)
        for about, path in sorted(found, key=lambda pair: pair[0].st_mtime):
            if size <= most:
                return
            path.unlink(missing_ok=True)
            size -= about.st_size
