"""What every regression shares: a formula and a schema become a design, and coefficients go back to original units."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from tacit._support.printable import in_prose
from tacit.errors import InputError, expected
from tacit.models.coefficient_statements import changed
from tacit.models.effects import EffectDraws, EffectScale, effects_of_coefficients, response_words
from tacit.models.formula import Formula, parse_formula
from tacit.models.formula_columns import checked, curves_of, reference_code
from tacit.models.formula_terms import Call, Factor, column_of
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
        found = _design(self.formula, schema) if isinstance(self.formula, str) else design_for(self.formula, schema)
        if found.formula.varying is not None and not self.varies:
            found.formula.no(
                found.formula.varying.column,
                'to have a term with | in the family "varying": tacit.VaryingRegression("y ~ (1 | g)"), or '
                '"varying-logistic" for a response of two levels',
            )
        return found

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

    def check_offsets(self, schema: Schema, *, taken: bool) -> None:
        """Refuse offset() where what is released does not know it (``taken`` says that it does)."""
        design = self.design(schema)
        if not design.fixed:
            return
        factor = design.formula.offsets[0]
        if not taken:
            design.formula.no(
                factor,
                'to have offset() with kind = "newton" in [mechanism], which logistic and Poisson regression have; '
                "in a linear regression declare the difference as the response",
            )
        if self.radius is not None:
            design.formula.no(factor, "to have no offset() beside a radius, which would move it")

    @property
    def in_data_units(self) -> bool:
        """Whether `coefficients` are in the units of the data; otherwise they are in mapped units."""
        return True

    varies: ClassVar[bool] = False
    """Whether a formula may have (1 | g): effects that vary by the levels of a column."""
    effect_scale: ClassVar[EffectScale] = "difference"
    """How a coefficient is read: as so much more of the response, or as so many times its odds or its rate."""

    @property
    def has_ratios(self) -> bool:
        """Whether the exponential of a coefficient is a ratio of odds or of rates."""
        return self.effect_scale in ("odds", "rate")

    def question(self, schema: Schema) -> str:
        """What goes with the response, or how does it differ between groups?"""
        formula = self.design(schema).formula
        if formula.varying is not None and not formula.terms:
            groups = in_prose(formula.varying.column)
            return f"How does {in_prose(formula.response)} differ between the levels of {groups}?"
        return f"What goes with {in_prose(self.design(schema).formula.response)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """What a step of each covariate goes with; none where coefficients by themselves say nothing."""
        if not self.in_data_units:
            return []
        design = self.design(schema)
        outcome = response_words(design.formula.response, schema)
        return effects_of_coefficients(self.coefficients(draws, schema), design, self.effect_scale, outcome)

    @abstractmethod
    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """Predictive draws (draws, points) of the response at public design points, in the units of the data."""

    def mean_response(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """The expected response (draws, points) at public design points, in the units of the data."""
        raise expected("family", self.family, "to have one number or two levels as its response, for a marginal effect")

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
            factors = any(isinstance(self.schema.declared(column_of(factor)), Category) for factor in term)
            found += self._of_term(term, centred, every_level=whole and factors)
            whole = whole and not factors
        for factor in self.formula.offsets:
            (column,) = self._of_term((factor,), centred, every_level=False)
            assert isinstance(column, Scaled)
            found.append(Scaled(column.number, (), f"offset({column.name})"))
        return tuple(found)

    def _of_term(
        self, term: tuple[Factor, ...], centred: Collection[Levels], *, every_level: bool
    ) -> list[DesignColumn]:
        parts = [curves_of(f, self.schema.number(f.column)) if isinstance(f, Call) else f for f in term]
        codes = {
            one.column: reference_code(self.schema.category(one.column), one.level)
            for one in self.formula.references
            if one.level is not None
        }
        return columns_of_term(parts, self.schema, centred=centred, every_level=every_level, references=codes)

    @cached_property
    def fixed(self) -> dict[int, float]:
        """The places of coefficients that are known, those of offsets, with their values in mapped units."""
        first = len(self.columns) - len(self.formula.offsets)
        return {place: c.scale for place, c in enumerate(self.columns) if place >= first and isinstance(c, Scaled)}

    @cached_property
    def number_response(self) -> Scaled:
        """The response as a mapped number, for families where it is one."""
        name = self.formula.response
        return Scaled(mapped(((name, None),), self.schema, centred=self.formula.intercept), (), name)

    @property
    def names(self) -> list[str]:
        """The names of the coefficients."""
        return [column.name for column in self.columns]

    @property
    def all_numeric(self) -> bool:
        """Whether the design is a constant and plain numbers, so that a normal distribution can describe it."""
        first, *others = self.columns or (None,)
        plain = all(isinstance(c, Scaled) and c.number.plain and not c.levels for c in others)
        return isinstance(first, Indicator) and not first.levels and plain and len(others) > 0

    def matrix(self, cells: Mapping[str, Any]) -> Any:
        """The design matrix of parsed cells (numbers; level codes), in mapped units, neither clamped nor rounded.

        A function of a number takes what lies outside the declared bounds for the nearer end, as in a release.
        """
        import numpy as np

        rows = len(next(iter(cells.values()))) if cells else 1
        made: list[Any] = []
        for column in self.columns:
            holds = np.ones(rows)
            for name, code in column.levels:
                holds = holds * (cells[name] == code)
            if isinstance(column, Scaled):
                made.append(holds * (column.number.raw(cells) - column.offset) / column.scale)
            else:
                made.append(holds)
        return np.stack(made, axis=1)

    @property
    def cells(self) -> list[str]:
        """The columns of the data that the design reads, in order of appearance."""
        return list(self.formula.columns[:-1])

    def parse(self, new: Any) -> dict[str, Any]:
        """Public design points as numbers and level codes; ``new`` is a mapping of columns or a data frame."""
        cells = parsed_points(self.cells, self.schema, new)
        self._warn_outside(cells)
        return cells

    def _warn_outside(self, cells: Mapping[str, Any]) -> None:
        """Say so where points lie beyond the declared bounds, about which the release says nothing."""
        import warnings

        numbers = [column.number for column in self.columns if isinstance(column, Scaled)]
        curved = {name for number in numbers if number.curves for name in number.numbers}
        for name in dict.fromkeys(name for number in numbers for name in number.numbers):
            column = self.schema.number(name)
            if ((cells[name] < column.low) | (cells[name] > column.high)).any():
                what = (
                    "functions of it count such values as the nearer of these bounds, as the release did."
                    if name in curved
                    else "no row of the release lies there, and the line goes on by assumption."
                )
                warnings.warn(
                    f"Column {name!r} of new goes beyond {column.low:g} to {column.high:g}: {what}", stacklevel=6
                )
                return

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
    design = DesignMatrix(checked(parse_formula(formula), schema), schema)
    sizes = [math.prod(_codes(schema[column_of(f)], f) for f in term) for term in design.formula.terms]
    if sum(sizes) > 2 * _MOST_COLUMNS or len(design.columns) > _MOST_COLUMNS:  # all pairs of them are released
        raise expected("formula", formula, f"to make at most {_MOST_COLUMNS} columns")
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


def _codes(column: Column, factor: Factor) -> int:
    if isinstance(factor, Call):
        return int(factor.numbers[0]) + len(factor.numbers) if factor.numbers else 1
    return len(column.levels) if isinstance(column, Category) else 1
