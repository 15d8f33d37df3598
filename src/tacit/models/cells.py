"""How a regression's design depends on levels and numbers: cells, and within each cell a linear map of the numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from tacit.errors import expected
from tacit.models.regression import DesignMatrix
from tacit.schema import Category
from tacit.statistics.design import Mapped, Scaled

MOST_CELLS, MOST_DERIVED = 200, 1000
MOST_WORK = 10**6
"""Combinations of levels times the square of the columns up to which sums are sampled: at 100 levels a gradient took
half a millisecond, which makes a posterior of some three minutes, and at 300 it would take half an hour or more."""


@dataclass(frozen=True)
class Cells:
    """Every combination of the levels that a design reads, and the plain numbers that it reads.

    Within cell c the design vector is w = a_c + B_c x for the mapped numbers x, with zeros and ones in a_c and B_c. For
    x to have a distribution of its own, a number within levels must be mapped as it is elsewhere, and there are no
    products of numbers. Where ``derived`` is set these are allowed, and are numbers of their own.
    """

    design: DesignMatrix
    derived: bool = False

    def __post_init__(self) -> None:
        most = MOST_DERIVED if self.derived else MOST_CELLS
        if self.count > most:
            raise expected("formula", str(self.design.formula), f"to have at most {most} combinations of levels")
        if self.derived:
            return
        numbers = {column.number for column in self.design.columns if isinstance(column, Scaled)}
        if not all(number.plain for number in numbers):
            raise expected(
                "formula",
                str(self.design.formula),
                "to have no products and no functions of numbers for noisy sums: scores in rounds take them, "
                'with kind = "newton" in [mechanism]',
            )
        if len({number.numbers for number in numbers}) < len(numbers):
            raise expected("formula", str(self.design.formula), "to have the levels themselves beside a number in them")

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The columns with levels."""
        schema = self.design.schema
        return tuple(name for name in self.design.cells if isinstance(schema.declared(name), Category))

    @cached_property
    def numbers(self) -> tuple[Mapped, ...]:
        """The numbers, each once."""
        found = [column.number for column in self.design.columns if isinstance(column, Scaled)]
        return tuple(dict.fromkeys(found))

    @property
    def number_names(self) -> list[str]:
        """The columns that hold the numbers."""
        return [number.numbers[0] for number in self.numbers]

    @property
    def count(self) -> int:
        """How many combinations of levels there are; 1 where no levels are read."""
        return math.prod(len(self.design.schema.category(name).levels) for name in self.factors)

    @cached_property
    def codes(self) -> list[tuple[int, ...]]:
        """The code of each factor in each cell."""
        return list(product(*(range(len(self.design.schema.category(name).levels)) for name in self.factors)))

    @property
    def labels(self) -> list[str]:
        """The levels of each cell."""
        levels = [self.design.schema.category(name).levels for name in self.factors]
        return [", ".join(str(own[code]) for own, code in zip(levels, codes, strict=True)) for codes in self.codes]

    @property
    def too_large(self) -> str | None:
        """Why a posterior from noisy sums would take too long, and what to do; None where it does not."""
        columns = len(self.design.columns)
        if self.count * columns**2 <= MOST_WORK:
            return None
        return (
            f"Expected formula={str(self.design.formula)!r} to have fewer levels: {self.count} combinations of them "
            f"with {columns} columns would take half an hour or more. Put levels together, leave a column out, or take "
            "VaryingRegression with a term such as (1 | group) for a column of many levels; --method naive answers at "
            "once, and leaves the noise out."
        )

    def maps(self) -> tuple[Any, Any]:
        """a (cells, p) and B (cells, p, numbers)."""
        import numpy as np

        p, d = len(self.design.columns), len(self.numbers)
        constants, slopes = np.zeros((self.count, p)), np.zeros((self.count, p, d))
        place = {number: i for i, number in enumerate(self.numbers)}
        for c, codes in enumerate(self.codes):
            at = dict(zip(self.factors, codes, strict=True))
            for j, column in enumerate(self.design.columns):
                if any(at[name] != code for name, code in column.levels):
                    continue
                if isinstance(column, Scaled):
                    slopes[c, j, place[column.number]] = 1.0
                else:
                    constants[c, j] = 1.0
        return constants, slopes
