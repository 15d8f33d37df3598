"""The distinct sums of products of a design's columns and the response: what linear regression needs of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.design import DesignColumn, Product, Scaled, product_of
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

    Identities make entries equal or void, and such entries are not released again: the product of the constant with
    itself is n, which is public; an indicator is its own square, a product of indicators is the indicator of both, and
    a number within a level stays itself when multiplied by that level; two levels of one column exclude each other.
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
    def layout(self) -> tuple[dict[Product, Place], dict[tuple[int, int], Product | None]]:
        """The distinct entries in order, each with its place, and the product at every (j, k), j <= k.

        The product that is 1 for every row sums to n, and None to 0; neither is an entry.
        """
        entries: dict[Product, Place] = {}
        products: dict[tuple[int, int], Product | None] = {}
        for j, first in enumerate(self.vector):
            for k in range(j, len(self.vector)):
                found = products[j, k] = product_of(first, self.vector[k])
                if found is not None and not found.constant:
                    entries.setdefault(found, Place(j, k))
        return entries, products

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of each distinct product."""
        return tuple(f"{self.vector[p.j].name}*{self.vector[p.k].name}" for p in self.layout[0].values())

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

        Proof: the statistic is the sum over rows of the distinct products that `gram_sensitivity` bounds. []
        """
        return gram_sensitivity(list(self.layout[0]), self.steps)
