"""What every regression shares: a formula and a schema become a design, and coefficients go back to original units."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from tacit.errors import InputError, expected
from tacit.models.coefficient_statements import changed
from tacit.models.formula import Formula, parse_formula
from tacit.models.model import Model, Prior
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Column, Schema
from tacit.statistics.design import DesignColumn, Indicator, Levels, Scaled, columns_of_term, constant, mapped

_MOST_COLUMNS = 300


@dataclass(frozen=True)
class Regression(Model):
    """What every regression offers beside a model: predictions, and coefficients in the units of the data."""

    formula: str
    radius: float | None = None
    """Covariates, in mapped units, are moved into the Euclidean ball of this radius; left out, they fill the box."""

    def __post_init__(self) -> None:
        as_radius(self.radius)

    def design(self, schema: Schema) -> DesignMatrix:
        """The columns that the formula makes of the schema."""
        return _design(self.formula, schema) if isinstance(self.formula, str) else design_for(self.formula, schema)

    def uniform_covariates(self, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """n made-up rows without a response, and the same parsed: numbers uniform in their bounds, levels alike."""
        rows: dict[str, Any] = {}
        parsed: dict[str, Any] = {}
        for name in self.design(schema).cells:
            column = schema.declared(name)
            if isinstance(column, Category):
                parsed[name] = rng.integers(0, len(column.levels), n)
                rows[name] = [column.levels[code] for code in parsed[name]]
            else:
                rows[name] = parsed[name] = rng.uniform(column.low, column.high, n)
        return rows, parsed

    def changed_prior(self, default: Prior, changes: Mapping[str, Any], schema: Schema) -> Prior:
        """``default`` with some numbers changed; a coefficient's name gives its mean and sd in data units."""
        return changed(default, changes, self.design(schema).names)

    @property
    def in_data_units(self) -> bool:
        """Whether `coefficients` are in the units of the data; otherwise they are in mapped units."""
        return True

    @abstractmethod
    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """Predictive draws (draws, points) of the response at public design points, in the units of the data."""

    @abstractmethod
    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """The draws of each coefficient by name, in the units that `in_data_units` says."""


@dataclass(frozen=True)
class DesignMatrix:
    """The columns that a formula makes of a schema, in mapped units: numbers in [-1, 1], indicators 0 or 1.

    With an intercept every number is centred on the middle of its range. Without one it is only scaled, because moving
    the origin would bring an intercept back. In the same way a number within levels is centred only if the indicator
    of those levels is in the design, too.
    """

    formula: Formula
    schema: Schema

    @cached_property
    def columns(self) -> tuple[DesignColumn, ...]:
        """The design columns, the constant first if there is one."""
        start: list[DesignColumn] = [constant()] if self.formula.intercept else []
        plain = self._with_terms(start, ())
        if not self.formula.intercept:
            return plain
        return self._with_terms(start, [column.levels for column in plain if isinstance(column, Indicator)])

    def _with_terms(self, start: list[DesignColumn], centred: Collection[Levels]) -> tuple[DesignColumn, ...]:
        found = list(start)
        whole = not self.formula.intercept  # the first factor keeps all its levels when no constant stands for one
        for term in self.formula.terms:
            factors = any(isinstance(self.schema.declared(name), Category) for name in term)
            found += columns_of_term(term, self.schema, centred=centred, every_level=whole and factors)
            whole = whole and not factors
        return tuple(found)

    @cached_property
    def number_response(self) -> Scaled:
        """The response as a mapped number, for families where it is one."""
        name = self.formula.response
        return Scaled(mapped((name,), self.schema, centred=self.formula.intercept), (), name)

    @property
    def names(self) -> list[str]:
        """The names of the coefficients."""
        return [column.name for column in self.columns]

    @property
    def all_numeric(self) -> bool:
        """Whether the design is a constant and plain numbers, so that a normal distribution can describe it."""
        first, *others = self.columns or (None,)
        plain = all(isinstance(c, Scaled) and len(c.numbers) == 1 and not c.levels for c in others)
        return isinstance(first, Indicator) and not first.levels and plain and len(others) > 0

    def matrix(self, cells: Mapping[str, Any]) -> Any:
        """The design matrix of parsed cells (numbers; level codes), in mapped units, neither clamped nor rounded."""
        import numpy as np

        rows = len(next(iter(cells.values()))) if cells else 1
        made: list[Any] = []
        for column in self.columns:
            holds = np.ones(rows)
            for name, code in column.levels:
                holds = holds * (cells[name] == code)
            if isinstance(column, Scaled):
                raw = np.prod([np.asarray(cells[name], np.float64) for name in column.numbers], axis=0)
                made.append(holds * (raw - column.offset) / column.scale)
            else:
                made.append(holds)
        return np.stack(made, axis=1)

    @property
    def cells(self) -> list[str]:
        """The columns of the data that the design reads, in order of appearance."""
        return list(dict.fromkeys(name for term in self.formula.terms for name in term))

    def parse(self, new: Any) -> dict[str, Any]:
        """Public design points as numbers and level codes; ``new`` is a mapping of columns or a data frame."""
        return parsed_points(self.cells, self.schema, new)

    def original_units(self, theta: Any, response: Scaled | None = None) -> Any:
        """Coefficients (..., p) in mapped units as coefficients of the formula in the units of the data.

        u = sum_j theta_j (x_j - offset_j)/scale_j, so b_j = theta_j / scale_j, and b_j offset_j comes off the
        coefficient of the levels within which x_j was centred: of the intercept, where there are none. Without an
        intercept all offsets are 0. Where u is the mean of a mapped ``response``, that map is undone as well.
        """
        import numpy as np

        scales = np.array([c.scale if isinstance(c, Scaled) else 1.0 for c in self.columns])
        out = (1.0 if response is None else response.scale) * np.asarray(theta) / scales
        place = {column.levels: i for i, column in enumerate(self.columns) if isinstance(column, Indicator)}
        for j, column in enumerate(self.columns):
            if isinstance(column, Scaled) and column.offset:
                out[..., place[column.levels]] -= out[..., j] * column.offset
        if self.formula.intercept and response is not None:
            out[..., 0] += response.offset
        return out


def parsed_points(names: Collection[str], schema: Schema, new: Any) -> dict[str, Any]:
    """Public points as numbers and level codes; ``new`` is a mapping of columns or a data frame."""
    import numpy as np

    cells: dict[str, Any] = {}
    for name in names:
        try:
            values = list(new[name])
        except (KeyError, TypeError):
            raise expected("new", name, "to be one of its columns") from None
        column = schema.declared(name)
        if isinstance(column, Category):
            for value in values:
                if value not in column.levels:
                    raise expected("new", value, f"in column {name!r} to be one of {list(column.levels)}")
            cells[name] = np.array([column.levels.index(v) for v in values])
        else:
            try:
                cells[name] = np.array(values, np.float64)
            except (TypeError, ValueError):
                raise InputError(f"Expected column {name!r} of new to hold numbers.") from None
            if not np.isfinite(cells[name]).all():
                raise InputError(f"Expected column {name!r} of new to hold finite numbers.")
    if len({len(v) for v in cells.values()}) > 1:
        raise InputError("Expected the columns of new to have one length.")
    return cells


def design_for(formula: object, schema: Schema) -> DesignMatrix:
    """The design of a formula, every column checked against the schema."""
    design = DesignMatrix(parse_formula(formula), schema)
    sizes = [math.prod(_codes(schema[name]) for name in term) for term in design.formula.terms]
    if sum(sizes) > 2 * _MOST_COLUMNS or len(design.columns) > _MOST_COLUMNS:  # all pairs of them are released
        raise expected("formula", formula, f"to make at most {_MOST_COLUMNS} columns")
    schema.declared(design.formula.response)
    return design


@lru_cache(maxsize=64)
def _design(formula: str, schema: Schema) -> DesignMatrix:
    """`design_for`, made once: every draw of the parameters asks for it."""
    return design_for(formula, schema)


def as_radius(radius: object) -> Fraction | None:
    """The radius of the ball that covariates are moved into, exactly; None for the box."""
    if radius is None:
        return None
    if isinstance(radius, bool) or not isinstance(radius, int | float) or not 0 < radius < 1e6:
        raise expected("radius", radius, "to be a positive number, or nothing for the box")
    return Fraction(radius)


def _codes(column: Column) -> int:
    return len(column.levels) if isinstance(column, Category) else 1
