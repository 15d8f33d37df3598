"""Which files a path, a pattern or a list of paths stands for.

A folder stands for the data files in it and in its folders, in the order of their names; what begins with ``.`` or
``_`` is left out, and so are files that do not end like data. A folder called ``name=value``, as partitioned tables
have, is a column: every row below it has that text in it, and it is parsed like any other text.

A value that is a folder's name is still a cell of somebody's row. No message shows it: ``region=north/0.parquet`` is
called ``region=*/0.parquet``.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from tacit.errors import expected
from tacit.files import DATA_SUFFIXES
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


def find_files(data: str | os.PathLike[str] | Sequence[object]) -> tuple[str, list[Found]]:
    """What messages call all of it, and the files, none twice."""
    if isinstance(data, str | os.PathLike):
        shown = label_of(Path(data))
        found = _find_one(str(data))
    else:
        paths = [one for one in data if isinstance(one, str | os.PathLike)]
        shown = f"{len(paths)} paths"
        found = [file for one in paths for file in _find_one(str(one))]
        places = {os.path.realpath(file.path) for file in found}
        if len(places) < len(found):
            raise expected("data", shown, "to name every file once")
    if len({_kind(file) for file in found}) > 1:
        raise expected("data", shown, "to be files of one kind, such as .parquet")
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
    found = _walk(path, path)
    if found is None:
        raise expected("data", label, "to be a folder that can be read")
    if not found:
        raise expected("data", label, "to be a file, or a folder with .parquet files (or another kind of data) in it")
    return found


def _find_pattern(text: str) -> list[Found]:
    fixed = text
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    found: list[Found] = []
    matched = sorted(glob.glob(text))
    for one in matched:
        path = Path(one)
        mode = _mode(path, text)
        if stat.S_ISDIR(mode):
            below = _walk(Path(fixed), path)
            if below is None:
                raise expected("data", label_of(Path(text)), "to match folders that can be read")
            found.extend(below)
        elif stat.S_ISREG(mode):
            found.append(_found(Path(fixed), path))
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


def _walk(root: Path, folder: Path) -> list[Found] | None:
    """The data files below ``folder``, or None where some folder can not be read."""
    try:
        entries = sorted(folder.iterdir())
        if (folder / "_delta_log").is_dir():
            entries = None
    except OSError:
        return None
    if entries is None:
        # Its folder also holds the files of rows that were deleted or replaced; only its log tells them apart.
        raise expected("data", label_of(folder), "to be plain files, not a Delta table, whose folder holds old rows")
    found: list[Found] = []
    for entry in entries:
        if entry.name[0] in "._":
            continue
        if entry.is_dir():
            below = _walk(root, entry)
            if below is None:
                return None
            found.extend(below)
        elif entry.suffix.lower() in DATA_SUFFIXES:
            found.append(_found(root, entry))
    return found


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
