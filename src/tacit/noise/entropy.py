"""Where the boundary's randomness comes from: the operating system, without a seed."""

from __future__ import annotations

import os
from typing import Protocol


class Entropy(Protocol):
    """A source of independent, uniform bytes."""

    def bytes(self, count: int) -> bytes:
        """Return ``count`` fresh bytes."""
        ...


class OSEntropy:
    """The operating system's generator. It has no seed and no state that a caller could save."""

    def bytes(self, count: int) -> bytes:
        """Return ``count`` fresh bytes."""
        return os.urandom(count)
