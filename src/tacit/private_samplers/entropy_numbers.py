"""Normal and uniform numbers one after the other, from the bytes of an entropy source alone: no generator, no seed."""

from __future__ import annotations

import math
from typing import Any

from tacit.private_samplers.entropy_arrays import normals, uniforms

_BLOCK = 1024


class EntropyNumbers:
    """Answers to the two calls that chains make of a numpy generator; ``source`` has ``bytes(count)``."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._normals: Any = normals((0,), source)
        self._uniforms: Any = uniforms((0,), source)

    def standard_normal(self, shape: tuple[int, ...] | int = ()) -> Any:
        """Standard normal numbers; one alone is a number and no array."""
        import numpy as np

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
