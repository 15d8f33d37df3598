"""Posteriors of format 1, which were netCDF and nothing else: read once more, with care, to be written anew.

The file is walked before a number is read. Only what tacit wrote is taken: the groups, variables and attributes that it
named, by hard links, with contiguous storage in the file itself, without filters, of the types it used. The library in
C that this needs may crash or run for ever on a forged file, so the walk happens in a process of its own, with little
memory and little time, which prints where the numbers lie; they are then read as those of format 2.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tacit._support.reading import LARGEST_JSON
from tacit.errors import InputError, expected
from tacit.posterior.checksum import CHECKSUM_LENGTH, has_seal
from tacit.posterior.file import FORMAT as NEXT
from tacit.posterior.file import LARGEST, TYPES, PosteriorFile, broken, posterior_file

ATTRIBUTES = ("release", "prior", "method", "seed", "warmup", "inference_library")  # of format 1
_INTERNAL = {
    *("_NCProperties", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_FillValue", "CLASS", "NAME", "DIMENSION_LIST"),
    *("REFERENCE_LIST", "dtype", "coordinates"),
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_MOST_LINKS = 100
_SECONDS = 60
_MEMORY = 2**31


@contextmanager
def open_old_posterior(path: Path) -> Generator[PosteriorFile]:
    """Open a file of format 1 as if it had an index."""
    if path.stat().st_size > LARGEST:
        raise expected("posterior", str(path), f"to have at most {LARGEST} bytes")
    if not has_seal(path):
        raise broken(path)
    command = [sys.executable, "-I", "-c", _CHILD, str(path.resolve()), json.dumps([p for p in sys.path if p])]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise expected("posterior", str(path), f"to be read within {_SECONDS} seconds") from None
    if done.returncode != 0:
        raise broken(path)
    with path.open("rb") as stream:
        yield posterior_file(done.stdout, stream, path.stat().st_size - CHECKSUM_LENGTH, path)


_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from tacit.posterior.old_formats import child; child()"
)


def child() -> None:
    """What the process of its own does: walk, print, or end with exit code 1 and no word."""
    import resource  # which some systems do not have

    import_module("h5py")  # before the limit: libraries reserve more address space the more processors there are
    used = Path("/proc/self/statm")
    pages = int(used.read_text().split()[0]) if used.exists() else 0
    most = _MEMORY + pages * resource.getpagesize()
    for limit, amount in ((resource.RLIMIT_AS, most), (resource.RLIMIT_CPU, _SECONDS), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # a system that has no such limit, or a lower one
            resource.setrlimit(limit, (amount, amount))
    try:
        found = json.dumps(walk(sys.argv[1]))
    except Exception:  # h5py raises many kinds
        sys.exit(1)
    sys.stdout.write(found)  # in ASCII


def walk(path: str) -> dict[str, Any]:
    """The attributes and the places of the arrays; raises on anything that tacit did not write."""
    import h5py

    with h5py.File(path, "r") as file:
        names = _links(file)
        _check(set(names) <= {"posterior", "sample_stats", "observed_data"} and "posterior" in names)
        _check(set(file.attrs) - {"_NCProperties"} == set(ATTRIBUTES) and file.userblock_size == 0)
        attributes = {name: _text(file, name) for name in ATTRIBUTES}
        arrays: dict[str, Any] = {}
        for group_name in names:
            group = h5py.h5g.open(file.id, group_name.encode())
            for name in _links(h5py.Group(group)):
                place = _place(group, name)
                if place is not None and group_name != "observed_data":
                    arrays[f"{group_name}/{name}"] = place
        return {"format": NEXT, "attributes": attributes, "arrays": arrays}


def _links(group: Any) -> list[str]:
    """The names in a group, all of them hard links: an external or a soft one leads elsewhere."""
    import h5py

    library: Any = h5py
    _check(group.id.get_num_objs() <= _MOST_LINKS)
    names = [name.decode("ascii") for name in group.id]
    _check(all(_NAME.fullmatch(name) for name in names))
    _check(all(group.id.links.get_info(name.encode()).type == library.h5l.TYPE_HARD for name in names))
    return names


def _place(group: Any, name: str) -> dict[str, Any] | None:
    """Where a variable of numbers lies, or None for labels, which follow from the plan and are not read."""
    import h5py

    found = h5py.h5d.open(group, name.encode())
    created = found.get_create_plist()  # before the shape: to ask that of a virtual one opens what it points to
    _check(created.get_layout() == h5py.h5d.CONTIGUOUS and created.get_external_count() == 0)
    _check(created.get_nfilters() == 0)
    kind = found.get_type()
    _check(not kind.committed())
    _check({a.decode() for a in _attribute_names(found)} <= _INTERNAL)
    if isinstance(kind, h5py.h5t.TypeStringID):
        _check(len(found.shape) == 1)
        return None
    _check(isinstance(kind, h5py.h5t.TypeIntegerID | h5py.h5t.TypeFloatID | h5py.h5t.TypeEnumID))
    number: str = kind.dtype.str
    offset, shape = found.get_offset(), found.shape
    _check(number in TYPES and offset is not None and len(shape) >= 1)
    size = int(number[2:])
    for axis in shape:
        size *= axis
    _check(found.get_storage_size() == size)
    if name in ("chain", "draw"):
        return None
    return {"type": number, "shape": list(shape), "offset": offset}


def _attribute_names(found: Any) -> list[bytes]:
    import h5py

    _check(h5py.h5a.get_num_attrs(found) <= _MOST_LINKS)
    return [h5py.h5a.open(found, index=i).name for i in range(h5py.h5a.get_num_attrs(found))]


def _text(file: Any, name: str) -> str:
    import h5py

    found = file.attrs.get_id(name)
    _check(found.shape == () and h5py.check_string_dtype(found.dtype) is not None)
    _check(found.get_storage_size() <= LARGEST_JSON)
    value = file.attrs[name]
    _check(isinstance(value, str) and len(value) <= LARGEST_JSON)
    return value


def _check(true: bool) -> None:
    if not true:
        raise InputError("Expected what tacit wrote.")
