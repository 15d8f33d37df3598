"""The distinct sums of products of a design's columns and the response: what a regression needs of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.errors import expected
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.addition import addition_in_ball, addition_in_box
from tacit.statistics.design import DesignColumn, Product, Scaled, Sign, product_of
from tacit.statistics.gram_ball_sensitivity import gram_ball_sensitivity
from tacit.statistics.gram_groups import grouped_bounds, has_splines
from tacit.statistics.gram_sensitivity import gram_sensitivity
from tacit.statistics.region import checked_radius, plain_numbers, region_of, whole_bounds
from tacit.statistics.statistic import Statistic

_CHUNK = 2**15  # rows whose design matrix is held at once; a column of it fits into a core's own cache


@dataclass(frozen=True)
class GramPlace:
    """Where an entry stands in the Gram matrix of (design, response): at (j, k), j <= k, the first of its equals."""

    j: int
    k: int


@dataclass(frozen=True)
class Gram(Statistic):
    """Sums over rows of v_j v_k for v = (design, response), each distinct one once.

    Identities make entries equal or void, and such entries are not released again: the product of the constant with
    itself is n, which is public; an indicator is its own square, a product of indicators is the indicator of both, and
    a number within a level stays itself when multiplied by that level; two levels of one column exclude each other; the
    square of a `Sign`, the response of a logistic regression, is 1.

    With a ``radius`` the covariates, mapped to [-1, 1], are moved into the Euclidean ball of that radius before they
    are multiplied. At a radius of 1 that takes much less noise than the box, the less the more covariates there are.
    The design must then be plain numbers and at most a constant. The response stays as it is.
    """

    design: tuple[DesignColumn, ...]
    response: Scaled | Sign
    steps: int = lattice.resolution(2)
    radius: Fraction | None = None

    def __post_init__(self) -> None:
        if self.radius is None:
            return
        numbers = plain_numbers(self.design)
        plain = isinstance(self.response, Sign) or (not self.response.levels and len(self.response.numbers) == 1)
        if numbers is None or not plain or any(column.name == self.response.name for column in numbers):
            names = [column.name for column in self.vector]
            raise expected("design", names, "to be different plain numbers and at most a constant, for a radius")
        object.__setattr__(self, "radius", checked_radius(self.radius, numbers, self.steps))

    @property
    def vector(self) -> tuple[DesignColumn | Sign, ...]:
        """All columns whose products are summed."""
        return (*self.design, self.response)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the data that some design column or the response reads."""
        named: dict[str, None] = {}
        for column in self.vector:
            named |= dict.fromkeys(name for name, _ in column.levels)
            named |= dict.fromkeys(column.numbers if isinstance(column, Scaled) else ())
            named |= dict.fromkeys([column.column] if isinstance(column, Sign) else ())
        return tuple(named)

    @cached_property
    def layout(self) -> tuple[dict[Product, GramPlace], dict[tuple[int, int], Product | None]]:
        """The distinct entries in order, each with its place, and the product at every (j, k), j <= k.

        The product that is 1 for every row sums to n, and None to 0; neither is an entry.
        """
        entries: dict[Product, GramPlace] = {}
        products: dict[tuple[int, int], Product | None] = {}
        for j, first in enumerate(self.vector):
            for k in range(j, len(self.vector)):
                found = products[j, k] = product_of(first, self.vector[k])
                if found is not None and not found.constant:
                    entries.setdefault(found, GramPlace(j, k))
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

    def matrix(self, columns: Mapping[str, Any]) -> Any:
        """The rows' design and response as whole numbers, (rows, vector) in float64."""
        import numpy as np

        found = np.empty((len(self.vector), len(next(iter(columns.values()))))).T  # a column's numbers stand together
        for j, column in enumerate(self.vector):
            column.write(columns, self.steps, found[:, j])
        if self.radius is not None:
            places = [j for j, column in enumerate(self.design) if isinstance(column, Scaled)]
            found[:, places] = lattice.into_ball(found[:, places], self.radius, self.steps)
        return found

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums: the design in whole numbers, its Gram matrix by BLAS, chunk by chunk."""
        import numpy as np

        rows = len(next(iter(columns.values())))
        total = np.zeros((len(self.vector), len(self.vector)))
        for start in range(0, rows, _CHUNK):
            chunk = {name: values[start : start + _CHUNK] for name, values in columns.items()}
            total += lattice.gram_in_floats(self.matrix(chunk))
        # Whole numbers below 2^53, as `batch_rows` sees to.
        return total[self._places].astype(np.int64).tolist()

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """The rows and the columns of the Gram matrix at which the entries stand."""
        places = self.layout[0].values()
        return [place.j for place in places], [place.k for place in places]

    @property
    def attained(self) -> tuple[float, float]:
        """In the box as ever, and a bound where numbers are functions of each other; in a ball L1 is a bound, and L2 is
        exact up to a radius of 1.
        """
        if any(isinstance(column, Scaled) and not column.number.plain for column in self.design):
            return 0.3, 0.3
        if self.radius is None or sum(isinstance(column, Scaled) for column in self.design) < 2:
            return super().attained
        return 0.8, 0.999 if self.radius <= 1 else 0.7

    def sensitivity(self) -> Sensitivity:
        """See `gram_sensitivity`, `grouped_bounds` and, for a ball, `gram_ball_sensitivity`, which hold the proofs.

        Proof: the statistic is the sum over rows of the distinct products that these functions bound. []
        """
        products = list(self.layout[0])
        if self.radius is None:
            found = gram_sensitivity(products, self.steps)
            if not has_splines(self.design):
                return found
            l1, l2_squared = grouped_bounds(self.design, self.response, self.steps)
            return replace(found, l1=min(found.l1, l1), l2_squared=min(found.l2_squared, l2_squared))
        numbers = [column for column in self.design if isinstance(column, Scaled)]
        return gram_ball_sensitivity(
            products,
            self.steps,
            region_of(numbers, self.steps, self.radius),
            whole_bounds(numbers, self.steps, self.radius),
            self.response.number if isinstance(self.response, Scaled) else None,
        )

    @property
    def addition_attained(self) -> tuple[float, float]:
        """In the box exact; in a ball L1 is a bound, and so is L2 where the ball sticks out of the box."""
        if self.radius is None or sum(isinstance(column, Scaled) for column in self.design) < 2:
            return super().addition_attained
        return 0.75, 0.999 if self.radius <= 1 else 0.6

    def addition(self) -> Sensitivity:
        """See `addition_in_box` and, for a ball, `addition_in_ball`, which hold the proofs.

        Proof: the vector of a record is the distinct products that these functions bound. []
        """
        products, scales = list(self.layout[0]), self.sensitivity().relative_scales
        if self.radius is None:
            return addition_in_box(products, scales, self.unit)
        numbers = [column.number for column in self.design if isinstance(column, Scaled)]
        response = self.response.number if isinstance(self.response, Scaled) else None
        monomials = [
            (
                sum(number == response for number in one.numbers) + len(one.signs),
                tuple(numbers.index(number) for number in one.numbers if number != response),
            )
            for one in products
        ]
        return addition_in_ball(monomials, scales, self.radius**2, self.unit)
