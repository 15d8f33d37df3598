"""Sums of products of covariates and of a count: what a Poisson regression needs of the rows (kulkarni2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.errors import expected
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.addition import addition_in_ball
from tacit.statistics.count_sensitivity import CountScales, count_claims
from tacit.statistics.design import DesignColumn, Scaled
from tacit.statistics.noise_allocation import least_volume, with_root_bound
from tacit.statistics.region import checked_radius, covariates, plain_numbers, region_of
from tacit.statistics.statistic import Statistic

_CHUNK = 2**14  # rows whose products are held at once


@dataclass(frozen=True)
class CountMoments(Statistic):
    """Sums over rows of x, xx', yx, yxx' and y, each distinct product once.

    x are the plain numbers of ``design``, which may hold a constant besides, mapped to [-1, 1]; with a ``radius`` the
    vector of them is moved into the Euclidean ball of that radius. y is the count in the column ``response``, clamped
    to [0, ``most``] and divided by ``most``. So the entries with y are those of the count over ``most``.
    """

    design: tuple[DesignColumn, ...]
    response: str
    most: int
    radius: Fraction | None = None

    def __post_init__(self) -> None:
        numbers = plain_numbers(self.design)
        if numbers is None or any(self.response in column.numbers for column in numbers):
            names = [column.name for column in self.design]
            raise expected("design", names, "to be different plain numbers, at most a constant, and not the response")
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise expected("most", self.most, "to be a whole number of at least 1")
        if self.radius is not None:
            object.__setattr__(self, "radius", checked_radius(self.radius, numbers, self.steps))

    @property
    def steps(self) -> int:
        """The lattice steps of a one: a multiple of ``most`` if that can be, so that every count is on the lattice."""
        finest = lattice.resolution(3)
        return finest - finest % self.most if self.most <= finest else finest

    @cached_property
    def numbers(self) -> tuple[Scaled, ...]:
        """The covariates."""
        return tuple(column for column in self.design if isinstance(column, Scaled))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the covariates and the response."""
        return (*(column.numbers[0] for column in self.numbers), self.response)

    @cached_property
    def layout(self) -> tuple[tuple[bool, int, int], ...]:
        """Each entry as (whether y is a factor, j, k), j <= k positions in (1, x); the constant itself is not one."""
        size = len(self.numbers) + 1
        pairs = [(j, k) for j in range(size) for k in range(j, size)]
        return tuple((with_y, j, k) for with_y in (False, True) for j, k in pairs if with_y or k > 0)

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of each product."""
        names = ["", *(column.name for column in self.numbers)]
        factors = [[self.response] * with_y + [names[i] for i in (j, k) if i > 0] for with_y, j, k in self.layout]
        return tuple("*".join(parts) for parts in factors)

    @property
    def unit(self) -> int:
        """Products of three lattice numbers."""
        return self.steps**3

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum below 2^53."""
        return lattice.batch_rows(3)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums: (v, y v)' v for v = (1, x) by BLAS, chunk by chunk."""
        import numpy as np

        rows, size = len(next(iter(columns.values()))), len(self.numbers) + 1
        total = [0] * len(self.layout)
        for start in range(0, rows, _CHUNK):
            chunk = {name: values[start : start + _CHUNK] for name, values in columns.items()}
            x = covariates(self.numbers, chunk, self.steps, self.radius)
            v = np.column_stack([np.full(len(x), float(self.steps)), x])
            count = np.clip(np.asarray(chunk[self.response], np.float64), 0, self.most)
            y = np.clip(np.rint(count / self.most * self.steps), 0, self.steps)
            sums = lattice.exact_products(np.concatenate([self.steps * v, y[:, None] * v], axis=1), v)
            total = [a + sums[size * with_y + j][k] for a, (with_y, j, k) in zip(total, self.layout, strict=True)]
        return total

    @property
    def attained(self) -> tuple[float, float]:
        """In the box as ever; in a ball L1 is a bound, and L2 is exact up to a radius of 1."""
        if self.radius is None or len(self.numbers) < 2:
            return super().attained
        return 0.8, 0.999 if self.radius <= 1 else 0.7

    def sensitivity(self) -> Sensitivity:
        """The claim of the least criterion (`noise_allocation`) among those of `count_sensitivity`, which holds the
        proofs.

        Proof: the statistic is the sum over rows of the entries that `count_claims` bounds, times `unit`. []
        """
        unit = Fraction(self.unit)
        found: list[Sensitivity] = []
        for claim in count_claims(region_of(self.numbers, self.steps, self.radius)):
            scales = [_scale(claim.scales, with_y, j, k) for with_y, j, k in self.layout]
            found.append(with_root_bound(claim.l1 * unit, claim.l2_squared * unit**2, scales))
        return least_volume(found)

    @property
    def addition_attained(self) -> tuple[float, float]:
        """In the box exact; in a ball L1 is a bound, and so is L2 where the ball sticks out of the box."""
        if self.radius is None or len(self.numbers) < 2:
            return super().addition_attained
        return 0.75, 0.999 if self.radius <= 1 else 0.6

    def addition(self) -> Sensitivity:
        """In a ball see `addition_in_ball`.

        Proof: the vector of a record is monomials of x and y times monomials of x, with 0 <= y <= 1; without a radius
        no entry exceeds one unit (`Statistic.addition`). []
        """
        if self.radius is None:
            return super().addition()
        monomials = [(int(with_y), tuple(i for i in (j, k) if i > 0)) for with_y, j, k in self.layout]
        return addition_in_ball(monomials, self.sensitivity().relative_scales, self.radius**2, self.unit)


def _scale(scales: CountScales, with_y: bool, j: int, k: int) -> Fraction:
    if k == 0:
        return scales.y
    if j == 0:
        return scales.yx if with_y else scales.x
    if j == k:
        return scales.ysquare if with_y else scales.square
    return scales.ycross if with_y else scales.cross
