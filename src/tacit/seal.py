"""A digest at the end of a binary file, so that a damaged one is refused before a library in C tries to read it.

    sealed = content + "\\ntacit-sha256 " + SHA-256(content) in hexadecimal + "\\n"

Readers of HDF5, and so of netCDF, go by addresses inside the file and never look behind the content. A damaged HDF5
file, on the other hand, can keep its library busy for ever. The seal has no key: it tells damage, not forgery.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_MARK = b"\ntacit-sha256 "
_LENGTH = len(_MARK) + 64 + 1
_PIECE = 2**20


def sealed(content: bytes) -> bytes:
    """The content with its seal."""
    return content + _seal(hashlib.sha256(content).hexdigest())


def has_seal(path: Path) -> bool:
    """Whether the file ends with the seal of what stands before it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = path.stat().st_size - _LENGTH
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
        return left == 0 and file.read() == _seal(digest.hexdigest())


def _seal(digest: str) -> bytes:
    return _MARK + digest.encode() + b"\n"
