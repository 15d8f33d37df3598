"""What a formula's functions are on a schema: public curves on declared bounds, or a sentence about what is wrong."""

from __future__ import annotations

from itertools import pairwise

from tacit.errors import did_you_mean
from tacit.models.formula import Formula, Varying
from tacit.models.formula_terms import Call, Factor, column_of, quoted, written_level
from tacit.schema import Category, Level, Number, Schema
from tacit.statistics.curves import PublicFunction, least_of
from tacit.statistics.design import NumberFactor

_CLOSEST = 1e-4  # of the width of the bounds: knots are no nearer to each other, nor to the ends
_LARGEST_OFFSET = 64  # between the ends of an offset: beyond it no linear predictor says more


def curves_of(call: Call, column: Number) -> list[tuple[str, NumberFactor]]:
    """The curves that a function stands for, each with its name: several for poly() and bs().

    The first B-spline is left out: all of them add up to 1, and what they would add to an intercept is its own.
    """
    low, high, name = column.low, column.high, str(call)
    match call.function:
        case "poly":
            degrees = range(1, int(call.numbers[0]) + 1)
            return [(f"{name}[{k}]", (call.column, PublicFunction("poly", low, high, (float(k),)))) for k in degrees]
        case "bs":
            degree, *knots = call.numbers
            places = range(1, int(degree) + 1 + len(knots))
            return [
                (f"{name}[{k}]", (call.column, PublicFunction("bs", low, high, (degree, float(k), *knots))))
                for k in places
            ]
        case _:
            return [(name, (call.column, PublicFunction(call.function, low, high, call.numbers)))]


def checked(formula: Formula, schema: Schema) -> Formula:
    """The formula, once every column of it is declared and every function has a meaning on its bounds."""
    for name in formula.columns:
        if name not in schema:
            formula.no(name, f"to name columns that the schema has declared, not {name!r}{did_you_mean(name, schema)}")
        schema.declared(name)
    if formula.varying is not None:
        _check_varying(formula, formula.varying, schema)
    for factor in dict.fromkeys(factor for term in (*formula.terms, formula.offsets) for factor in term):
        if isinstance(factor, Call):
            _check_call(formula, factor, schema)
    for factor in formula.offsets:
        _check_offset(formula, factor, schema)
    for name, level in formula.references:
        column, x = schema.declared(name), quoted(name)
        if not isinstance(column, Category):
            formula.no(name, f"to have C() of columns with levels: declare the levels of {name!r}, or write {x}")
        if level is not None and _same_level(column, level) is None:
            known = ", ".join(written_level(one) for one in column.levels[:8])
            formula.no(
                name,
                f"to have one of the declared levels as ref ({known}){did_you_mean(level, map(str, column.levels))}",
            )
    return formula


def _check_varying(formula: Formula, varying: Varying, schema: Schema) -> None:
    if not isinstance(schema.declared(varying.column), Category):
        formula.no(varying.column, f"to have a column with levels behind |: declare the levels of {varying.column!r}")
    for name in varying.slopes:
        if not isinstance(schema.declared(name), Number):
            formula.no(name, f"to have a number in front of |, and {name!r} has levels")


def reference_code(column: Category, level: Level) -> int:
    """Which of the levels a reference is."""
    found = _same_level(column, level)
    assert found is not None
    return found


def _same_level(column: Category, level: Level) -> int | None:
    same = [i for i, one in enumerate(column.levels) if isinstance(one, str) == isinstance(level, str) and one == level]
    return same[0] if same else None


def _check_call(formula: Formula, call: Call, schema: Schema) -> None:
    column, name = schema.declared(call.column), call.column
    if not isinstance(column, Number):
        formula.no(call, f"to have {_shown(call)} of a number: {name!r} has levels, so write {quoted(name)}")
    if not column.clamp:
        formula.no(call, f"to have {_shown(call)} of a number that is clamped: leave out clamp = false of {name!r}")
    least, closed = least_of(call.function)
    if column.low < least or (column.low == least and not closed):
        other = f", or write log1p({quoted(name)})" if call.function.startswith("log") and column.low > -1 else ""
        low = f"a low {'of at least' if closed else 'above'} {least:g}"
        formula.no(call, f"to have {_shown(call)} where it exists: declare {name!r} with {low}{other}")
    if call.function == "bs":
        _, *knots = call.numbers
        ends = [column.low, *knots, column.high]
        nearest = _CLOSEST * (column.high - column.low)
        if any(not b - a >= nearest for a, b in pairwise(ends)):
            formula.no(
                call,
                f"to have knots apart from each other and inside the bounds {column.low:g} to {column.high:g} "
                f"of {name!r}, which are knots already",
            )


def _check_offset(formula: Formula, factor: Factor, schema: Schema) -> None:
    name = column_of(factor)
    column = schema.declared(name)
    if not isinstance(column, Number):
        formula.no(factor, f"to have a number in offset(), and {name!r} has levels")
    low, high = (column.low, column.high) if isinstance(factor, str) else curves_of(factor, column)[0][1][1].range  # type: ignore[union-attr]
    if not formula.intercept:
        formula.no(factor, "to have an intercept beside offset(): leave out - 1 or + 0")
    if not high - low <= _LARGEST_OFFSET:
        formula.no(
            factor, f"to have an offset whose bounds are at most {_LARGEST_OFFSET} apart; offset(log({quoted(name)}))?"
        )
    if any(column_of(other) == name and (factor,) == term for term in formula.terms for other in term):
        formula.no(factor, f"to have {name!r} as an offset or as a term, not both")


def _shown(call: Call) -> str:
    return "a power" if call.function == "power" else f"{call.function}()"
