"""The distinct sums of products of a design's columns and the response: what linear regression needs of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.design import DesignColumn, Indicator, Scaled
from tacit.statistics.gram_sensitivity import gram_sensitivity
from tacit.statistics.statistic import Statistic

_CHUNK = 2**16  # rows whose design matrix is held at once


@dataclass(frozen=True)
class Place:
    """Where an entry stands in the Gram matrix of (design, response): at (j, k), j <= k, the first of its equals."""

    j: int
    k: int


@dataclass(frozen=True)
class Gram(Statistic):
    """Sums over rows of v_j v_k for v = (design, response), each distinct one once.

    Three identities make entries equal or void, and such entries are not released again: the product of the constant
    with itself is n, which is public; an indicator is its own square, and a product of indicators is the indicator of
    both; indicators of two levels of one column exclude each other.
    """

    design: tuple[DesignColumn, ...]
    response: Scaled
    steps: int = lattice.resolution(2)

    @property
    def vector(self) -> tuple[DesignColumn, ...]:
        """All columns whose products are summed."""
        return (*self.design, self.response)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the data that some design column or the response reads."""
        named: dict[str, None] = {}
        for column in self.vector:
            named |= dict.fromkeys(name for name, _ in column.levels)
            named |= dict.fromkeys(column.numbers if isinstance(column, Scaled) else ())
        return tuple(named)

    @cached_property
    def layout(self) -> tuple[dict[Any, Place], dict[tuple[int, int], Any]]:
        """The distinct entries by key, in order, and the key of every (j, k), j <= k.

        The key of n is (); of what is always 0 it is None; neither is an entry.
        """
        entries: dict[Any, Place] = {}
        keys: dict[tuple[int, int], Any] = {}
        for j, first in enumerate(self.vector):
            for k in range(j, len(self.vector)):
                key = keys[j, k] = _key(j, first, k, self.vector[k])
                if key is not None and key != ():
                    entries.setdefault(key, Place(j, k))
        return entries, keys

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of each distinct product."""
        return tuple(self._named(place) for place in self.layout[0].values())

    def _named(self, place: Place) -> str:
        first, second = self.vector[place.j].name, self.vector[place.k].name
        return f"{first}*{second}"

    @property
    def unit(self) -> int:
        """Products of two lattice numbers."""
        return self.steps**2

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum below 2^53."""
        return lattice.batch_rows(2)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums: the design in whole numbers, its Gram matrix by BLAS, chunk by chunk."""
        import numpy as np

        rows = len(next(iter(columns.values())))
        total = [[0] * len(self.vector) for _ in self.vector]
        for start in range(0, rows, _CHUNK):
            chunk = {name: values[start : start + _CHUNK] for name, values in columns.items()}
            matrix = np.stack([column.values(chunk, self.steps) for column in self.vector], axis=1)
            gram = lattice.exact_gram(matrix)
            total = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(total, gram, strict=True)]
        return [total[place.j][place.k] for place in self.layout[0].values()]

    def sensitivity(self) -> Sensitivity:
        """See `gram_sensitivity`, which holds the proof.

        Proof: the statistic is the set of distinct products that `gram_sensitivity` bounds. []
        """
        return gram_sensitivity(self.vector, list(self.layout[0]), self.steps)


def _key(j: int, first: DesignColumn, k: int, second: DesignColumn) -> Any:
    """What a product is, whatever columns it came from: the levels that hold and the numbers that are multiplied."""
    if isinstance(first, Indicator) and isinstance(second, Indicator):
        return first.merged(second)
    if isinstance(first, Indicator):
        return (first.levels, k)
    if isinstance(second, Indicator):
        return (second.levels, j)
    return ((), j, k)
