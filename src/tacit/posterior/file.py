"""The file of a posterior: netCDF for every other program, and behind it an index by which tacit reads its numbers.

    content = netCDF (HDF5) + numbers that do not lie in it as they are + JSON index + "\\ntacit-index " + its length
    file = content + checksum

The library that reads HDF5 follows links to other files, takes any type for a number and may run for ever on a forged
file. A checksum does not help, as who forges computes it again. So tacit never hands a file to it: the index says where
in the file each array lies, its type and its shape, and these bytes are all that is read. Readers of HDF5 go by
addresses inside the file and never look behind the content, so xarray and ArviZ open it as any other.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tacit._support.reading import LARGEST_JSON, check_format, read_table, strict_json, whole
from tacit.errors import InputError, expected
from tacit.posterior.checksum import CHECKSUM_LENGTH, has_seal

FORMAT = 2  # format 1 had no index
LARGEST = 2**33  # bytes of a file
TYPES = ("<f8", "<i8", "<i4", "|i1", "|b1")
_MARK = b"\ntacit-index "
_TAIL = len(_MARK) + 12
_MARKED = re.escape(_MARK) + rb"[0-9]{12}"
_MOST_ARRAYS = 64
_LONGEST_AXIS = 2**40
_NAME = re.compile(r"(posterior|sample_stats)/[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Place:
    """Where an array lies in the file."""

    type: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return int(self.type[2:]) * math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class PosteriorFile:
    """An open file: its attributes, and arrays by name, such as ``posterior/theta``."""

    attributes: Mapping[str, str]
    places: Mapping[str, Place]
    stream: BinaryIO

    def read(self, name: str) -> Any:
        """The numbers of one array."""
        import numpy as np

        place = self.places[name]
        self.stream.seek(place.offset)
        content = self.stream.read(place.size)
        if place.type == "|b1":
            return np.frombuffer(content, np.uint8).reshape(place.shape) != 0
        return np.frombuffer(content, np.dtype(place.type)).reshape(place.shape).copy()


def file_content(netcdf: bytes, arrays: Mapping[str, Any], attributes: Mapping[str, str]) -> bytes:
    """A file less its checksum: the netCDF part, and an index to the arrays and attributes that tacit reads again."""
    import h5py
    import numpy as np

    more = io.BytesIO()
    places: dict[str, Any] = {}
    with h5py.File(io.BytesIO(netcdf), "r") as tree:
        for name, values in arrays.items():
            array = np.ascontiguousarray(values)
            kind = array.dtype.newbyteorder("<").str
            if kind not in TYPES or name.startswith("posterior/"):
                kind = "<f8"
            if not _NAME.fullmatch(name):
                raise expected("array", name, "of the posterior to have a name of letters, digits and _")
            raw = array.astype(kind, copy=False).tobytes()
            stored: Any = tree[name]
            offset = stored.id.get_offset()
            if offset is None or netcdf[offset : offset + len(raw)] != raw:
                offset = len(netcdf) + more.tell()
                more.write(raw)
            places[name] = {"type": kind, "shape": list(array.shape), "offset": offset}
    index = json.dumps({"format": FORMAT, "attributes": dict(attributes), "arrays": places}).encode("ascii")
    return netcdf + more.getvalue() + index + _MARK + b"%012d" % len(index)


@contextmanager
def open_posterior(path: Path) -> Generator[PosteriorFile]:
    """Open a file by its index; refuse one that has none, or whose arrays do not fit into the file."""
    size = path.stat().st_size
    if size > LARGEST:
        raise expected("posterior", str(path), f"to have at most {LARGEST} bytes")
    if not has_seal(path):
        raise broken(path)
    with path.open("rb") as stream:
        index, end = _index(stream, size - CHECKSUM_LENGTH, path)
        yield posterior_file(index, stream, end, path)


def has_index(path: Path) -> bool:
    """Whether there is an index, as in every format but the first."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - CHECKSUM_LENGTH - _TAIL))
        return re.fullmatch(_MARKED, stream.read(_TAIL)) is not None


def posterior_file(index: bytes, stream: BinaryIO, end: int, path: Path) -> PosteriorFile:
    """An open file with this index, whose arrays all lie in the first ``end`` bytes."""
    try:
        found = _read_index(index, stream)
    except InputError:
        raise broken(path) from None
    places = found.places.values()
    if sum(place.size for place in places) > end or any(place.offset + place.size > end for place in places):
        raise broken(path)
    return found


def _index(stream: BinaryIO, end: int, path: Path) -> tuple[bytes, int]:
    """The index, and where it begins."""
    stream.seek(max(0, end - _TAIL))
    mark = stream.read(min(end, _TAIL))
    if not re.fullmatch(_MARKED, mark):
        raise expected(
            "posterior", str(path), f"to be of format {FORMAT}; `tacit migrate` makes it so, if an older tacit saved it"
        )
    length = int(mark[len(_MARK) :])
    start = end - _TAIL - length
    if start < 0 or length > LARGEST_JSON:
        raise broken(path)
    stream.seek(start)
    return stream.read(length), start


def _read_index(text: bytes, stream: BinaryIO) -> PosteriorFile:
    plain = strict_json(text, "index", floats=False)
    if isinstance(plain, dict):
        check_format("posterior", plain.get("format"), FORMAT)
    table = read_table("index", plain, ("format", "attributes", "arrays"))
    attributes, arrays = table["attributes"], table["arrays"]
    if not isinstance(attributes, dict) or not all(isinstance(text, str) for text in attributes.values()):
        raise InputError("Expected the attributes to be texts.")
    if not isinstance(arrays, dict) or len(arrays) > _MOST_ARRAYS:
        raise InputError(f"Expected the arrays to be at most {_MOST_ARRAYS}.")
    return PosteriorFile(attributes, {name: _place(name, one) for name, one in arrays.items()}, stream)


def _place(name: str, plain: object) -> Place:
    table = read_table("array", plain, ("type", "shape", "offset"))
    if not _NAME.fullmatch(name) or table["type"] not in TYPES:
        raise InputError("Expected an array of a known name and type.")
    if not isinstance(table["shape"], list) or not 1 <= len(table["shape"]) <= 8:
        raise InputError("Expected an array to have one to eight axes.")
    shape = tuple(whole("axis", axis, 1, _LONGEST_AXIS) for axis in table["shape"])
    return Place(table["type"], shape, whole("offset", table["offset"], 0, LARGEST))


def broken(path: Path) -> InputError:
    """What is said of a file that is no posterior, or was changed."""
    return expected("posterior", str(path), "to be a posterior that tacit saved, whole and unchanged")
