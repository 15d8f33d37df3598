"""Which files a path, a pattern or a list of paths stands for.

A folder stands for the data files in it and in its folders, in the order of their names; what begins with ``.`` or
``_`` is left out, and so are files that do not end like data. A folder called ``name=value``, as partitioned tables
have, is a column: every row below it has that text in it, and it is parsed like any other text.

A value that is a folder's name is still a cell of somebody's row. No message shows it: ``region=north/0.parquet`` is
called ``region=*/0.parquet``.

However many names a file has, its rows count once: links, hard links and folders that are reached twice, or reach
themselves, are told by their device and inode. Of several names the one without a link counts, then the first. A list
that names a file twice is refused. So is the folder of a table whose files are not its rows: such tables (Delta,
Iceberg, Hudi) keep the files of rows that were deleted or replaced, and only their log tells them apart.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from tacit._support.files import DATA_SUFFIXES
from tacit.errors import expected
from tacit.sources.base import label_of

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # how Hive, and all that followed it, call the folder of the missing


@dataclass(frozen=True)
class Found:
    """One data file, what messages call it, and the columns that the names of its folders are."""

    path: Path
    label: str
    folders: dict[str, str | None]

    @property
    def suffix(self) -> str:
        """How the file ends, in lower case."""
        return self.path.suffix.lower()


def identity_of(path: str | os.PathLike[str]) -> Hashable:
    """What is the same for all names of one file or folder; the whole path where there is no inode to go by."""
    with suppress(OSError, ValueError):
        found = os.stat(path)
        if found.st_ino:
            return found.st_dev, found.st_ino
    return os.path.realpath(path)


def has_twice(paths: Iterable[str | os.PathLike[str]]) -> bool:
    """Whether two of ``paths`` are names of one file."""
    found = [identity_of(path) for path in paths]
    return len(set(found)) < len(found)


def find_files(data: str | os.PathLike[str] | Sequence[object]) -> tuple[str, list[Found]]:
    """What messages call all of it, and the files, none twice."""
    paths = (
        [data] if isinstance(data, str | os.PathLike) else [one for one in data if isinstance(one, str | os.PathLike)]
    )
    shown = label_of(Path(data)) if isinstance(data, str | os.PathLike) else f"{len(paths)} paths"
    found = [file for one in paths for file in _find_one(str(one))]
    if has_twice(file.path for file in found):
        raise expected("data", shown, "to name every file once")
    if len({_kind(file) for file in found}) > 1:
        raise expected("data", shown, "to be files of one kind, such as .parquet")
    if [Path(one) for one in paths] != [file.path for file in found[:1]]:  # one file holds each of its rows once
        check_plain(shown, (file.path for file in found))
    return shown, found


def _kind(file: Found) -> str:
    return ".arrow" if file.suffix == ".feather" else file.suffix


def _find_one(text: str) -> list[Found]:
    if glob.has_magic(text) and not os.path.lexists(text):
        return _find_pattern(text)
    path = Path(text)
    label = label_of(path)
    mode = _mode(path, label)
    if stat.S_ISREG(mode):
        return [Found(path, label, {})]
    if not stat.S_ISDIR(mode):  # a pipe may wait for ever, and rows are read by another opening than the header
        raise expected("data", label, "to be a regular file, or a folder")
    walk = _Walk(path)
    if not walk.through([path]):
        raise expected("data", label, "to be a folder that can be read")
    found = walk.found()
    if not found:
        raise expected("data", label, "to be a file, or a folder with .parquet files (or another kind of data) in it")
    return found


def _find_pattern(text: str) -> list[Found]:
    fixed = text
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    matched = [Path(one) for one in sorted(glob.glob(text))]
    for path in matched:
        _mode(path, text)
    walk = _Walk(Path(fixed))
    if not walk.through(matched):
        raise expected("data", label_of(Path(text)), "to match folders that can be read")
    found = walk.found()
    if not found:
        raise expected("data", text, "to match at least one data file")
    return found


def _mode(path: Path, label: str) -> int:
    problem = "to exist"  # raised after the handlers: see `unbroken`
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
        return mode
    except FileNotFoundError:
        pass
    except PermissionError:
        problem = "to be readable with your permissions"
    except (OSError, ValueError):  # ValueError: a null byte in the path
        problem = "to be a file that can be read"
    raise expected("data", label, problem)


@dataclass
class _Walk:
    """The data files below ``root`` that were come across, and the folders, each once."""

    root: Path
    files: dict[Hashable, Path] = field(default_factory=dict[Hashable, Path])
    folders: set[Hashable] = field(default_factory=set[Hashable])
    links: list[Path] = field(default_factory=list[Path])

    def through(self, named: Sequence[Path]) -> bool:
        """Take in all ``named`` files, and the data files of folders; false where some folder can not be read.

        Links wait until nothing else is left: what they lead to may have been come across under its own name.
        """
        top = os.path.realpath(self.root)
        try:
            for linked in (False, True):
                for path in named:
                    own = os.path.normpath(os.path.join(top, os.path.relpath(path, self.root)))
                    if (os.path.realpath(path) != own) is linked:
                        self._enter(path, named=True)
            while self.links:
                self._enter(self.links.pop(0), named=False)
        except OSError:
            return False
        return True

    def found(self) -> list[Found]:
        """In the order of their names."""
        return [_found(self.root, path) for path in sorted(self.files.values())]

    def _enter(self, path: Path, *, named: bool) -> None:
        if path.is_dir():
            if (who := identity_of(path)) in self.folders:
                return
            self.folders.add(who)
            for entry in sorted(path.iterdir()):
                if entry.name[0] in "._":
                    continue
                if entry.is_symlink():
                    self.links.append(entry)
                else:
                    self._enter(entry, named=False)
        elif path.is_file() and (named or path.suffix.lower() in DATA_SUFFIXES):
            self.files.setdefault(identity_of(path), path)
        elif not named and path.suffix.lower() in DATA_SUFFIXES:  # a link to nowhere, or a pipe, which may never end
            raise expected("data", _found(self.root, path).label, "to be a regular file")


def check_plain(label: str, paths: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse files that lie in the folder of a table of which they may not be the rows."""
    seen: set[str] = set()
    for path in paths:
        folder = os.path.dirname(os.path.realpath(path))
        while folder not in seen:
            seen.add(folder)
            kind = _table_in(Path(folder))
            if kind is not None:
                raise expected("data", label, f"to be plain files, not {kind} table, whose folder holds old rows")
            folder = os.path.dirname(folder)


def _table_in(folder: Path) -> str | None:
    if (folder / "_delta_log").is_dir():
        return "a Delta"
    if (folder / ".hoodie").is_dir():
        return "a Hudi"
    with suppress(OSError), os.scandir(folder / "metadata") as entries:
        if any(entry.name.endswith((".metadata.json", ".metadata.json.gz")) for entry in entries):
            return "an Iceberg"
    return None


def _found(root: Path, path: Path) -> Found:
    folders: dict[str, str | None] = {}
    shown = [str(root)] if str(root) != "." else []
    *above, last = path.relative_to(root).parts
    for name in above:
        key, sign, value = name.partition("=")
        if sign and key:
            text = unquote(value)
            folders[unquote(key)] = None if text == _NO_VALUE else text
            shown.append(f"{key}=*")
        else:
            shown.append(name)
    return Found(path, label_of(Path(*shown, last)), folders)
