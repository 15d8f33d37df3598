"""Uniform and normal numbers, in arrays or one after the other, from the bytes of an entropy source alone: no seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri


def uniforms(shape: tuple[int, ...], source: Any) -> Any:
    """Uniform numbers in (0, 1), 53 random bits each; ``source`` has ``bytes(count)``."""
    count = int(np.prod(shape, dtype=np.int64))
    words = np.frombuffer(source.bytes(8 * count), dtype="<u8")
    return (((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53).reshape(shape)


def exponentials(shape: tuple[int, ...], source: Any) -> Any:
    """Standard exponential numbers, 64 random bits each: their tail is right to a part in 2^64 of the whole."""
    count = int(np.prod(shape, dtype=np.int64))
    words = np.frombuffer(source.bytes(8 * count), dtype="<u8")
    return -np.log((words.astype(np.float64) + 0.5) / 2.0**64).reshape(shape)


def normals(shape: tuple[int, ...], source: Any) -> Any:
    """Standard normal numbers: the size by its tail, with 52 random bits, and a sign."""
    count = int(np.prod(shape, dtype=np.int64))
    words = np.frombuffer(source.bytes(8 * count), dtype="<u8")
    tail = ((words >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**53
    size = -ndtri(tail)
    return np.where(words & np.uint64(1), size, -size).reshape(shape)


_BLOCK = 1024


class EntropyNumbers:
    """Answers to the two calls that chains make of a numpy generator; ``source`` has ``bytes(count)``."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._normals: Any = normals((0,), source)
        self._uniforms: Any = uniforms((0,), source)

    def standard_normal(self, shape: tuple[int, ...] | int = ()) -> Any:
        """Standard normal numbers; one alone is a number and no array."""
        shape = (shape,) if isinstance(shape, int) else shape
        count = math.prod(shape)
        if len(self._normals) < count:
            self._normals = np.concatenate([self._normals, normals((count + _BLOCK,), self._source)])
        found, self._normals = self._normals[:count], self._normals[count:]
        return found.reshape(shape) if shape else float(found[0])

    def random(self) -> float:
        """A uniform number in (0, 1)."""
        if not len(self._uniforms):
            self._uniforms = uniforms((_BLOCK,), self._source)
        found, self._uniforms = self._uniforms[0], self._uniforms[1:]
        return float(found)
