"""The columns that a plan derives, and its filter: expressions over the columns of a schema, checked before any row.

A derived number takes the bounds that are declared beside it, and otherwise those that interval arithmetic finds. A
condition becomes a column of the levels false and true; `cut` and `recode` have levels of their own, in order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import InputError, did_you_mean, expected
from tacit.expressions.cells import Condition, Expression, Leveled, Numeric
from tacit.expressions.check import check
from tacit.expressions.conditions import Missing
from tacit.expressions.levels import LevelColumn, Truth
from tacit.expressions.numbers import LARGEST, NumberColumn
from tacit.expressions.syntax import Syntax, UnreadableError, parse
from tacit.schema import LEAST_WIDTH, Category, Derivation, Number, Schema, check_column_name, column_from_plain

_KEYS = ("value", "bounds", "missing")
MOST_DERIVED = 100


@dataclass(frozen=True)
class Derived(Derivation):
    """A column that follows from others of the same row, by ``expression``, which was written as ``text``.

    Where the expression has no value the cell is ``column.missing``.
    """

    text: str
    expression: Numeric | Leveled
    column: Number | Category
    said: tuple[tuple[str, Any], ...]
    """What was declared beside it: bounds, missing."""

    @property
    def named(self) -> frozenset[str]:
        return reads(self.expression) | asks(self.expression)

    def to_plain(self) -> Any:
        said = {key: list(value) if isinstance(value, tuple) else value for key, value in self.said}
        return {"value": self.text, **said} if said else self.text


@dataclass(frozen=True)
class RowFilter:
    """The rows that count: those for which ``condition``, written as ``text``, is known to hold."""

    text: str
    condition: Condition

    @property
    def named(self) -> frozenset[str]:
        """The columns that it names."""
        return reads(self.condition) | asks(self.condition)


def reads(expression: Expression) -> frozenset[str]:
    """The columns whose values it uses."""
    return frozenset(one.name for one in expression.walk() if isinstance(one, NumberColumn | LevelColumn))


def asks(expression: Expression) -> frozenset[str]:
    """The columns of which it asks if a cell is missing."""
    return frozenset(one.name for one in expression.walk() if isinstance(one, Missing))


def with_derived(schema: Schema, table: object) -> Schema:
    """``schema`` with the columns of a plan's ``[derive]`` table, which may name each other but not go in a circle."""
    if not isinstance(table, Mapping):
        raise expected("derive", table, "to be a table from names of columns to expressions")
    if len(table) > MOST_DERIVED:
        raise expected("derive", len(table), f"to have at most {MOST_DERIVED} columns")
    known = {name: schema.declared(name) for name in schema.of_table}
    asked: dict[str, _Asked] = {}
    for name, said in table.items():
        check_column_name("derived column", name)
        if name in known:
            raise expected("derived column", name, "to have a name that no column of the schema has")
        asked[name] = _Asked.of(name, said)
    found: dict[str, Derived] = {}

    def resolve(name: str, chain: tuple[str, ...]) -> None:
        if name in chain:
            raise expected(f"derive.{name}", asked[name].text, "not to follow from itself")
        for other in asked[name].tree.names():
            if other in asked and other not in found:
                resolve(other, (*chain, name))
        found[name] = asked[name].derived(known)
        known[name] = found[name].column

    for name in asked:
        if name not in found:
            resolve(name, ())
    return schema.with_derived(found)


def row_filter_of(schema: Schema, text: object) -> RowFilter:
    """The filter that a plan's ``[where]`` table declares."""
    tree = _tree("rows", text)
    try:
        condition = check(tree, {name: schema.declared(name) for name in schema}, condition=True)
    except UnreadableError as error:
        refusal = error.sentence("rows", str(text))
    else:
        assert isinstance(condition, Condition)
        return RowFilter(str(text), condition)
    raise refusal


def _tree(name: str, text: object) -> Syntax:
    if not isinstance(text, str) or not text.strip():
        raise expected(name, text, 'to be an expression in a text, such as "visits > 0"')
    try:
        tree = parse(text)
    except UnreadableError as error:
        refusal = error.sentence(name, text)
    else:
        if not any(tree.names()):
            raise expected(name, text, "to name a column")
        return tree
    raise refusal


@dataclass(frozen=True)
class _Asked:
    """One entry of a ``[derive]`` table, before it is known what its columns are."""

    name: str
    text: str
    tree: Syntax
    beside: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, said: object) -> _Asked:
        plain = dict(said) if isinstance(said, Mapping) else {"value": said}
        for key in plain:
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS)
                raise expected("key", key, f"of derived column {name!r} to be value, bounds or missing{hint}")
        text = plain.pop("value", None)
        return cls(name, str(text), _tree(f"derive.{name}", text), plain)

    def derived(self, known: Mapping[str, Number | Category]) -> Derived:
        """It, now that all that it names is ``known``."""
        try:
            found = check(self.tree, known)
        except UnreadableError as error:
            found = error.sentence(f"derive.{self.name}", self.text)
        if isinstance(found, InputError):  # raised out here, without the other as its context
            raise found
        expression = Truth(found) if isinstance(found, Condition) else found
        if isinstance(expression, Numeric):
            column = _number(self.name, self.text, expression, self.beside)
        else:
            assert isinstance(expression, Leveled)
            if "bounds" in self.beside:
                raise expected("bounds", self.beside["bounds"], f"of {self.name!r} to be left out, as it has levels")
            column = column_from_plain(self.name, {"levels": list(expression.levels), **self.beside})
        assert isinstance(column, Number | Category)
        said = tuple((key, tuple(v) if isinstance(v, list) else v) for key, v in self.beside.items())
        return Derived(self.text, expression, column, said)


def _number(name: str, text: str, expression: Numeric, plain: Mapping[str, Any]) -> Any:
    """The column of a number: with the bounds that were declared, or with those of the expression's range."""
    if "bounds" not in plain:
        width = expression.high - expression.low
        if expression.low > -LARGEST and expression.high < LARGEST and LEAST_WIDTH <= width < math.inf:
            return column_from_plain(name, {"bounds": [expression.low, expression.high], **plain})
        raise expected(
            f"derive.{name}",
            text,
            "to have bounds that follow from those of its columns, or bounds beside it, as in "
            f'{name} = {{value = "...", bounds = [0, 1]}}',
        )
    column = column_from_plain(name, dict(plain))
    if column.high < expression.low or column.low > expression.high:  # pyright: ignore[reportAttributeAccessIssue]
        raise expected("bounds", list(plain["bounds"]), f"of derived column {name!r} to hold some of its values")
    return column
