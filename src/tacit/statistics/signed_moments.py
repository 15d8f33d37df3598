"""Sums of the powers of yx up to some order: what a logistic regression by a polynomial needs (kulkarni2021)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any

from tacit.errors import expected
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.addition import addition_in_ball
from tacit.statistics.design import DesignColumn, Scaled, Sign
from tacit.statistics.noise_allocation import balanced_scales, root_above_inverse, with_root_bound
from tacit.statistics.order_sensitivity import in_ball_squared, multiplicity, on_line_squared
from tacit.statistics.region import Region, checked_radius, covariates, plain_numbers, region_of
from tacit.statistics.statistic import Statistic

_CELLS = 2**22  # how many products are held at once
_TIMES = 65  # values of t at which pairs of records are compared when scales are chosen


@dataclass(frozen=True)
class SignedMoments(Statistic):
    """Sums over rows of all monomials of z = yx of degree 1 to ``order``: y x_j, x_j x_k, y x_j x_k x_l and so on.

    x are the plain numbers of ``design``, mapped to [-1, 1] and moved into the ball of ``radius``; a constant is left
    out. y is the sign of the response, so its even powers are 1. Every entry is brought to the degree ``order`` by
    factors of 1, which is ``steps`` on the lattice, so that one `unit` serves all.
    """

    design: tuple[DesignColumn, ...]
    response: Sign
    order: int
    radius: Fraction

    def __post_init__(self) -> None:
        numbers = plain_numbers(self.design)
        if numbers is None:
            names = [column.name for column in self.design]
            raise expected("design", names, "to be different plain numbers and at most a constant")
        if isinstance(self.order, bool) or not isinstance(self.order, int) or not 2 <= self.order <= 4:
            raise expected("order", self.order, "to be 2, 3 or 4")
        object.__setattr__(self, "radius", checked_radius(self.radius, numbers, self.steps))

    @property
    def steps(self) -> int:
        """The lattice steps of a one."""
        return lattice.resolution(self.order)

    @cached_property
    def numbers(self) -> tuple[Scaled, ...]:
        """The covariates."""
        return tuple(column for column in self.design if isinstance(column, Scaled))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the covariates and the response."""
        return (*(column.numbers[0] for column in self.numbers), self.response.column)

    @cached_property
    def monomials(self) -> tuple[tuple[int, ...], ...]:
        """The factors of each entry, positions in x, degree by degree."""
        places = range(len(self.numbers))
        return tuple(m for i in range(1, self.order + 1) for m in combinations_with_replacement(places, i))

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of each monomial."""
        return tuple(
            "*".join([self.response.name] * (len(m) % 2) + [self.numbers[j].name for j in m]) for m in self.monomials
        )

    @property
    def unit(self) -> int:
        """Products of ``order`` lattice numbers."""
        return self.steps**self.order

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum below 2^53."""
        return lattice.batch_rows(self.order)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums: products of one or two factors row by row, then sums of their products by BLAS."""
        import numpy as np

        size = len(self.numbers) + 1  # of (1, z)
        singles, pairs = (list(combinations_with_replacement(range(size), k)) for k in (1, 2))
        left, right = pairs if self.order > 2 else singles, pairs if self.order > 3 else singles
        at_left, at_right = ({m: i for i, m in enumerate(side)} for side in (left, right))
        padded = [(0,) * (self.order - len(m)) + tuple(j + 1 for j in m) for m in self.monomials]
        places = [(at_left[m[: len(left[0])]], at_right[m[len(left[0]) :]]) for m in padded]
        rows, total = len(next(iter(columns.values()))), [0] * len(places)
        chunk_rows = max(1, min(self.batch_rows, _CELLS // len(left)))
        for start in range(0, rows, chunk_rows):
            chunk = {name: values[start : start + chunk_rows] for name, values in columns.items()}
            x = covariates(self.numbers, chunk, self.steps, self.radius)
            z = x * self.response.values(chunk, 1)[:, None]
            v = np.column_stack([np.full(len(z), float(self.steps)), z])
            first, second = (np.stack([v[:, m].prod(axis=1) for m in side], axis=1) for side in (left, right))
            sums = lattice.exact_products(first, second)
            total = [a + sums[i][j] for a, (i, j) in zip(total, places, strict=True)]
        return total

    def sensitivity(self) -> Sensitivity:
        """Balanced scales by degree (`noise_allocation`), and the exact L2 maximum over the ball for them.

        Proof: z = yx lies in the ball and in the box [-b_j, b_j], b_j the largest |x_j|. L2 is that of
        `order_sensitivity_squared`: the entry z^e counts for no more than its multiplicity, as its scale is rounded up
        (`root_above_inverse`). L1: a monomial moves by at most 2 b^e, or b^e if all its exponents are even; these
        bounds are added up, over the scales. If the bound that L2 implies is smaller, that is claimed. []
        """
        region = region_of(self.numbers, self.steps, self.radius)
        by_degree, l2_squared = _balanced(region, self.order)
        scales = [by_degree[len(m) - 1] * root_above_inverse(multiplicity(m)) for m in self.monomials]
        highs = [hi for _, hi in region.box]
        l1 = Fraction(0)
        for m, scale in zip(self.monomials, scales, strict=True):
            even = all(e % 2 == 0 for e in Counter(m).values())
            l1 += math.prod((highs[j] for j in m), start=Fraction(1 if even else 2)) / scale
        return with_root_bound(l1 * self.unit, l2_squared * Fraction(self.unit) ** 2, scales)

    @property
    def addition_attained(self) -> tuple[float, float]:
        """L1 is a bound, and so is L2 where the ball sticks out of the box."""
        return 0.5, 0.999 if self.radius <= 1 else 0.4

    def addition(self) -> Sensitivity:
        """See `addition_in_ball`.

        Proof: the vector of a record is the monomials of z = yx of degree 1 to ``order``, and |z| = |x|. []
        """
        monomials = [(0, m) for m in self.monomials]
        return addition_in_ball(monomials, self.sensitivity().relative_scales, self.radius**2, self.unit)


@lru_cache(maxsize=64)
def _balanced(region: Region, order: int) -> tuple[tuple[Fraction, ...], Fraction]:
    """Relative scales by degree, and the squared L2 sensitivity for them."""
    assert region.square is not None
    degrees = range(1, order + 1)
    shares = [2 * i / (_TIMES - 1) - 1 for i in range(_TIMES)]
    r2, line = float(region.square), region.dimension == 1
    table = [[r2**i * ((1 - share**i) ** 2 if line else 2 - 2 * share**i) for i in degrees] for share in shares]
    scales = balanced_scales(table, [math.comb(region.dimension + i - 1, i) for i in degrees])
    ratios = [1 / scale**2 for scale in scales]
    l2_squared = on_line_squared(region.box[0][1], ratios) if line else in_ball_squared(region.square, ratios)
    return tuple(scales), l2_squared
