"""The Gram statistic together with the third and fourth moments of the covariates, in one joint release.

A method that needs the covariates' fourth moments (Gibbs-SS-Noisy of bernstein2019) could pay for them apart, with half
of the budget each. In one joint release the moments of degree 1 and 2 serve both purposes, and no record is at its
worst for both parts at once. The noise is then less on every entry for one or two covariates. For more of them it is
less on the moments and more on the Gram matrix, which is the smaller part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

from tacit.errors import expected
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.design import DesignColumn, Indicator, Scaled
from tacit.statistics.gram import Gram
from tacit.statistics.moments import l1_with_fourth_moments
from tacit.statistics.statistic import Statistic


@dataclass(frozen=True)
class GramMoments(Statistic):
    """Sums over rows of the distinct products of (1, x, y), then of all monomials of x of degree 3, then of degree 4.

    For designs of a constant and plain numbers. Every entry is brought to degree 4 by factors of the constant, which is
    ``steps`` on the lattice, so that one `unit` serves all.
    """

    design: tuple[DesignColumn, ...]
    response: Scaled
    steps: int = lattice.resolution(4)

    def __post_init__(self) -> None:
        first, *others = self.design or (None,)
        plain = all(isinstance(column, Scaled) and column.number.plain and not column.levels for column in others)
        if not (isinstance(first, Indicator) and not first.levels and plain and others):
            names = [column.name for column in self.design]
            raise expected("design", names, "to be an intercept and plain numbers, for fourth moments")

    @cached_property
    def gram(self) -> Gram:
        """The first entries: the Gram statistic on the lattice of this one."""
        return Gram(self.design, self.response, self.steps)

    @cached_property
    def monomials(self) -> tuple[tuple[int, ...], ...]:
        """The factors of each entry: positions in (1, x, y), sorted, without the 0 of the constant."""
        pairs = [tuple(i for i in (place.j, place.k) if i > 0) for place in self.gram.layout[0].values()]
        covariates = range(1, len(self.design))
        higher = [m for degree in (3, 4) for m in combinations_with_replacement(covariates, degree)]
        return (*pairs, *higher)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the covariates and the response."""
        return self.gram.columns

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of each monomial."""
        own = self.monomials[len(self.gram.entries) :]
        return (*self.gram.entries, *("*".join(self.design[i].name for i in m) for m in own))

    @property
    def unit(self) -> int:
        """Products of four lattice numbers."""
        return self.steps**4

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum below 2^53."""
        return lattice.batch_rows(4)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums: products of two lattice numbers row by row, then their Gram matrix by BLAS."""
        import numpy as np

        rows = len(next(iter(columns.values())))
        pairs = list(combinations_with_replacement(range(len(self.design)), 2))
        at = {pair: i for i, pair in enumerate(pairs)}
        places = [_split(m, len(self.design), at) for m in self.monomials]
        total = [0] * len(places)
        for start in range(0, rows, self.batch_rows):
            chunk = {name: values[start : start + self.batch_rows] for name, values in columns.items()}
            v = [column.values(chunk, self.steps) for column in self.design]
            y = self.response.values(chunk, self.steps) * self.steps
            sums = lattice.exact_gram(np.stack([*(v[i] * v[j] for i, j in pairs), y], axis=1))
            total = [before + sums[j][k] for before, (j, k) in zip(total, places, strict=True)]
        return total

    def sensitivity(self) -> Sensitivity:
        """Joint, over all entries at once.

        Proof: under replace-one the entries of two records differ by differences of monomials, so the L1 bound is that
        of `l1_with_fourth_moments` on the box [-1, 1], in lattice units; as entries are whole numbers it may be rounded
        down. L2: no entry moves by more than 2 units, so sum D_i^2 <= 2 units sum |D_i|, and the bound is 2 L1.
        For one covariate (1 - x)^2 + (1 - x^2)^2 <= 2 (1 - x), the same for y, (1 - x^3)^2 + (1 - x^4)^2 <= 2 (1 - x^3)
        and (1 - xy)^2 <= 2 (1 - xy) on [-1, 1]; with the corner theorem sum D_i^2 is at most 2 (4 - x - x^3 - y - xy),
        which falls in x and is linear in y, so at most 12, attained at x = -1. []
        """
        covariates = len(self.design) - 1
        both = (Fraction(-1), Fraction(1))
        l1 = Fraction(math.floor(self.unit * l1_with_fourth_moments([both] * covariates, both)))
        l2_squared = 12 * Fraction(self.unit) ** 2 if covariates == 1 else 2 * self.unit * l1
        return Sensitivity(l1, l2_squared, (Fraction(1),) * len(self.monomials))


def _split(monomial: tuple[int, ...], response: int, at: Mapping[tuple[int, int], int]) -> tuple[int, int]:
    """The two columns whose product a monomial is; the last column, behind the pairs, is that of the response."""
    last = len(at)
    others = [i for i in monomial if i != response]
    if len(others) == len(monomial):
        a, b, c, d = (0,) * (4 - len(monomial)) + monomial
        return at[a, b], at[c, d]
    return (last, last) if len(monomial) - len(others) == 2 else (at[0, sum(others)], last)
