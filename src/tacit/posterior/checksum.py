"""A checksum at the end of a binary file, so that a damaged one is refused at once.

    file = content + "\\ntacit-sha256 " + SHA-256(content) in hexadecimal + "\\n"

It has no key: it tells damage, not forgery. Who forges a file computes it again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_MARK = b"\ntacit-sha256 "
CHECKSUM_LENGTH = len(_MARK) + 64 + 1
_PIECE = 2**20


def sealed(content: bytes) -> bytes:
    """The content with its checksum."""
    return content + _checksum(hashlib.sha256(content).hexdigest())


def has_seal(path: Path) -> bool:
    """Whether the file ends with the checksum of what stands before it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = path.stat().st_size - CHECKSUM_LENGTH
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
        return left == 0 and file.read(CHECKSUM_LENGTH + 1) == _checksum(digest.hexdigest())


def _checksum(digest: str) -> bytes:
    return _MARK + digest.encode() + b"\n"
