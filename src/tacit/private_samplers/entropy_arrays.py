"""Uniform and normal numbers in arrays, from the bytes of an entropy source alone: no generator, no seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri


def uniforms(shape: tuple[int, ...], source: Any) -> Any:
    """Uniform numbers in (0, 1), 53 random bits each; ``source`` has ``bytes(count)``."""
    count = int(np.prod(shape, dtype=np.int64))
    words = np.frombuffer(source.bytes(8 * count), dtype="<u8")
    return (((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53).reshape(shape)


def normals(shape: tuple[int, ...], source: Any) -> Any:
    """Standard normal numbers: the size by its tail, with 52 random bits, and a sign."""
    count = int(np.prod(shape, dtype=np.int64))
    words = np.frombuffer(source.bytes(8 * count), dtype="<u8")
    tail = ((words >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**53
    size = -ndtri(tail)
    return np.where(words & np.uint64(1), size, -size).reshape(shape)
