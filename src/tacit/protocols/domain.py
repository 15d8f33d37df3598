"""Which vectors of whole numbers a device takes in or sends out: a box, and balls inside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.protocols.parameters import read_table, read_whole, read_wholes, whole, written_whole

_LARGEST = 2**140  # far past the largest noise scale


@dataclass(frozen=True)
class Block:
    """Components that belong together: v_i from ``low[i]`` to ``high[i]``, and sum_i v_i^2 <= ``radius_squared``.

    ``radius_squared`` is None where the box is all.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    radius_squared: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", tuple(whole("low", v, -_LARGEST, _LARGEST) for v in self.low))
        object.__setattr__(self, "high", tuple(whole("high", v, -_LARGEST, _LARGEST) for v in self.high))
        pairs = list(zip(self.low, self.high, strict=False))
        if not self.low or len(self.low) != len(self.high) or any(a > b for a, b in pairs) or self.low == self.high:
            raise expected("low, high", (self.low, self.high), "to bound one or more components, low below high")
        if self.radius_squared is not None:
            whole("radius_squared", self.radius_squared, 1)
            nearest = (0 if a <= 0 <= b else min(abs(a), abs(b)) for a, b in pairs)
            if sum(v * v for v in nearest) > self.radius_squared:
                raise expected("radius_squared", self.radius_squared, "to leave some vector of the box inside the ball")

    @classmethod
    def ball(cls, size: int, radius_squared: int) -> Block:
        """All vectors of ``size`` whole numbers with sum_i v_i^2 <= ``radius_squared``."""
        edge = math.isqrt(whole("radius_squared", radius_squared, 1))
        components = whole("size", size, 1)
        return cls((-edge,) * components, (edge,) * components, radius_squared)

    @property
    def size(self) -> int:
        """How many components it has."""
        return len(self.low)

    def spread(self, scales: tuple[int, ...]) -> Fraction:
        """At least sum_i (D_i / s_i)^2 for the difference D of any two of its vectors, s = ``scales``.

        Proof: |D_i| <= high_i - low_i, so the sum is at most that of the box, and it is reached at opposite corners. In
        a ball sum_i D_i^2 <= (2 r)^2 by the triangle inequality, so it is at most 4 r^2 / min_i s_i^2 as well. []
        """
        box = sum((Fraction(b - a, s) ** 2 for a, b, s in zip(self.low, self.high, scales, strict=True)), Fraction(0))
        return box if self.radius_squared is None else min(box, Fraction(4 * self.radius_squared, min(scales) ** 2))

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a public header."""
        plain: dict[str, Any] = {
            "low": [written_whole(v) for v in self.low],
            "high": [written_whole(v) for v in self.high],
        }
        if self.radius_squared is not None:
            plain["radius_squared"] = written_whole(self.radius_squared)
        return plain

    def holds(self, vectors: Any) -> bool:
        """Whether every row of ``vectors`` (rows, size), integers, lies inside; decided in whole numbers."""
        import numpy as np

        limit = self.radius_squared
        for smallest, largest, low, high in zip(vectors.min(0), vectors.max(0), self.low, self.high, strict=True):
            least, most = int(smallest), int(largest)
            if least < low or most > high or (limit is not None and max(least * least, most * most) > limit):
                return False
        if limit is None:
            return True
        # One component after the other: a sum is refused before it can exceed twice the limit.
        held = np.zeros(len(vectors), dtype=np.int64 if limit < 2**62 else object)
        for column in vectors.T.astype(held.dtype):
            held = held + column * column
            if int(held.max()) > limit:
                return False
        return True


@dataclass(frozen=True)
class Domain:
    """The admissible vectors: one after the other, the components of each of ``blocks``."""

    blocks: tuple[Block, ...]

    @property
    def size(self) -> int:
        """How many whole numbers a vector has."""
        return sum(block.size for block in self.blocks)

    def check(self, name: str, array: Any) -> None:
        """Refuse anything but an integer array of shape (N, ``size``) with every row inside.

        The rows are somebody's: the sentence shows none of them, and not how far it was read.
        """
        import numpy as np

        try:
            vectors = np.asarray(array)
        except (TypeError, ValueError, OverflowError):
            vectors = np.zeros(())
        if not self._holds(vectors):
            raise expected(name, "...", f"to be an array of whole numbers of shape (N, {self.size}), {self._words()}")

    def _holds(self, vectors: Any) -> bool:
        if vectors.ndim != 2 or vectors.shape[1] != self.size:
            return False
        if vectors.dtype.kind not in "iu" and not _python_integers(vectors):
            return False
        start = 0
        for block in self.blocks if len(vectors) else ():
            if not block.holds(vectors[:, start : start + block.size]):
                return False
            start += block.size
        return True

    def _words(self) -> str:
        low = tuple(v for block in self.blocks for v in block.low)
        high = tuple(v for block in self.blocks for v in block.high)
        same = len(set(low)) == len(set(high)) == 1
        words = f"each from {low[0]} to {high[0]}" if same else f"each from its own of {low} to its own of {high}"
        balls = [b.radius_squared for b in self.blocks if b.radius_squared is not None]
        return words + ("" if not balls else f", and in a ball of squared radius {', '.join(map(str, balls))}")


def box(low: tuple[int, ...], high: tuple[int, ...]) -> Domain:
    """The domain of one block without a ball."""
    return Domain((Block(low, high),))


def block_from_plain(table: object) -> Block:
    """Read what `Block.to_plain` wrote."""
    plain = read_table("block", table, ("low", "high"), ("radius_squared",))
    radius_squared = read_whole("radius_squared", plain["radius_squared"]) if "radius_squared" in plain else None
    return Block(read_wholes("low", plain["low"]), read_wholes("high", plain["high"]), radius_squared)


def _python_integers(vectors: Any) -> bool:
    return vectors.dtype == object and all(type(value) is int for value in vectors.ravel())
