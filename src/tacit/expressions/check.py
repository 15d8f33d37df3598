"""From the tree of an expression to a checked one, whose columns, types, levels and ranges are declared.

What can be refused is refused here, from the declarations alone. Nothing that is left can fail on account of a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

from tacit._support.cell_forms import level_form
from tacit.errors import InputError, did_you_mean
from tacit.expressions.cells import Condition, Expression, Leveled, Numeric
from tacit.expressions.conditions import AtLevel, Compared, HowMany, Joined, Missing, Not
from tacit.expressions.levels import Cut, LevelColumn, Recoded
from tacit.expressions.numbers import (
    LARGEST,
    SMALLEST,
    Applied,
    Arithmetic,
    Extreme,
    Literal,
    NumberColumn,
    Power,
    range_of,
)
from tacit.expressions.syntax import Syntax, UnreadableError
from tacit.schema import Category, Level, Number

MOST_EDGES = 1025
_OF_ONE = ("abs", "floor", "sqrt", "log")
FUNCTIONS = (*_OF_ONE, "min", "max", "cut", "recode", "count", "is_missing")


def check(tree: Syntax, columns: Mapping[str, Number | Category], *, condition: bool = False) -> Expression:
    """The checked expression, or ``condition``; raises `UnreadableError` with the place of what is wrong."""
    checker = _Checker(columns)
    return checker.condition(tree) if condition else checker.any(tree)


class _Checker:
    def __init__(self, columns: Mapping[str, Number | Category]) -> None:
        self.columns = columns
        self.kinds: dict[str, Callable[[Syntax], Expression]] = {
            "number": self.literal,
            "name": self.column,
            "arithmetic": self.arithmetic,
            "power": lambda tree: Power((self.number(tree.parts[0]),), int(tree.value)),
            "compare": self.compare,
            "in": self.member,
            "and": self.joined,
            "or": self.joined,
            "not": lambda tree: Not(self.condition(tree.parts[0])),
            "call": self.call,
        }

    def any(self, tree: Syntax) -> Expression:
        if tree.kind not in self.kinds:
            raise UnreadableError(tree.at, "to have a column, a number or a condition here")
        return self.kinds[tree.kind](tree)

    def number(self, tree: Syntax) -> Numeric:
        found = None if tree.kind == "text" else self.any(tree)
        if not isinstance(found, Numeric):
            raise UnreadableError(tree.at, f"to have a number here, not {_kind_of(found)}")
        return found

    def condition(self, tree: Syntax) -> Condition:
        found = None if tree.kind in ("text", "truth") else self.any(tree)
        if isinstance(found, Leveled) and all(isinstance(level, bool) for level in found.levels):
            return AtLevel(found, (found.levels.index(True),))
        if not isinstance(found, Condition):
            raise UnreadableError(tree.at, f"to have a condition here, such as x > 0, not {_kind_of(found)}")
        return found

    def leveled(self, tree: Syntax) -> Leveled:
        found = None if tree.kind in ("text", "truth") else self.any(tree)
        if not isinstance(found, Leveled):
            raise UnreadableError(tree.at, f"to have a column of levels here, not {_kind_of(found)}")
        return found

    def literal(self, tree: Syntax) -> Literal:
        value = float(tree.value)
        if not math.isfinite(value):
            raise UnreadableError(tree.at, "to have numbers that float64 can hold")
        return Literal(0.0 if abs(value) < SMALLEST else value)

    def column(self, tree: Syntax) -> Expression:
        if tree.value not in self.columns:
            hint = did_you_mean(tree.value, self.columns)
            raise UnreadableError(tree.at, f"to name columns of the schema{hint}; a text needs quotes")
        column = self.columns[tree.value]
        if isinstance(column, Category):
            return LevelColumn(tree.value, column.levels)
        ends = (column.low, column.high) if column.clamp else (-LARGEST, LARGEST)
        return NumberColumn(tree.value, range_of(ends))

    def arithmetic(self, tree: Syntax) -> Numeric:
        left, right = (self.number(part) for part in tree.parts)
        if tree.value == "/" and right.low == right.high == 0:
            raise UnreadableError(tree.parts[1].at, "not to divide by 0")
        return Arithmetic((left, right), tree.value)

    def compare(self, tree: Syntax) -> Condition:
        found = [None if part.kind in ("text", "truth") else self.any(part) for part in tree.parts]
        for one, other in ((0, 1), (1, 0)):
            column = found[one]
            if isinstance(column, Leveled):
                if tree.value not in ("==", "!="):
                    raise UnreadableError(tree.at, f"to compare levels with ==, != or in, not with {tree.value}")
                equal = AtLevel(column, (self.code(column, tree.parts[other]),))
                return equal if tree.value == "==" else Not(equal)
        for one, part in zip(found, tree.parts, strict=True):
            if not isinstance(one, Numeric):
                raise UnreadableError(part.at, f"to compare numbers, or levels; here stands {_kind_of(one)}")
        left, right = found
        assert isinstance(left, Numeric)
        assert isinstance(right, Numeric)
        if (outcome := _foregone(left, right, tree.value)) is not None:
            raise UnreadableError(
                tree.at,
                f"to compare what the bounds leave open: cells outside of them are clamped first, so this "
                f"{'always' if outcome else 'never'} holds",
            )
        return Compared(left, right, tree.value)

    def member(self, tree: Syntax) -> Condition:
        what, members = tree.parts
        if not members.parts:
            raise UnreadableError(members.at, "to have something in the list")
        found = None if what.kind in ("text", "truth") else self.any(what)
        if isinstance(found, Leveled):
            return AtLevel(found, tuple(dict.fromkeys(self.code(found, part) for part in members.parts)))
        if not isinstance(found, Numeric):
            raise UnreadableError(what.at, f"to have a column before in, not {_kind_of(found)}")
        return Joined(tuple(Compared(found, self.number(part), "==") for part in members.parts), every=False)

    def code(self, found: Leveled, tree: Syntax) -> int:
        """The place of the level that is written there."""
        if tree.kind not in ("text", "number", "truth"):
            raise UnreadableError(tree.at, "to compare a column of levels with one of its levels")
        return _places(found.levels, tree)

    def joined(self, tree: Syntax) -> Joined:
        return Joined(tuple(self.condition(part) for part in tree.parts), every=tree.kind == "and")

    def call(self, tree: Syntax) -> Expression:
        name, parts = tree.value, tree.parts
        if name not in FUNCTIONS:
            hint = did_you_mean(name, FUNCTIONS)
            raise UnreadableError(tree.at, f"to call {', '.join(FUNCTIONS[:-1])} or {FUNCTIONS[-1]}{hint}")
        wanted = {"min": None, "max": None, "count": None, "cut": 2, "recode": 2}.get(name, 1)
        if (wanted is None and not parts) or (wanted is not None and len(parts) != wanted):
            raise UnreadableError(tree.at, f"to give {name} {wanted or 'one'} argument{'s' if wanted == 2 else ''}")
        if name == "is_missing":
            if parts[0].kind != "name" or parts[0].value not in self.columns:
                raise UnreadableError(parts[0].at, "to give is_missing the name of a declared column")
            return Missing(parts[0].value)
        if name in ("min", "max"):
            return Extreme(tuple(self.number(part) for part in parts), largest=name == "max")
        if name == "count":
            return HowMany(tuple(self.condition(part) for part in parts))
        if name == "cut":
            return self.cut(*parts)
        if name == "recode":
            return self.recode(*parts)
        part = self.number(parts[0])
        if (name == "sqrt" and part.high < 0) or (name == "log" and part.high <= 0):
            raise UnreadableError(parts[0].at, f"to have a number here that has a {name}: it is never above 0")
        return Applied((part,), name)

    def cut(self, what: Syntax, edges: Syntax) -> Cut:
        part = self.number(what)
        if edges.kind != "list" or not all(edge.kind == "number" for edge in edges.parts):
            raise UnreadableError(edges.at, "to have a list of numbers here, such as [18, 35, 50]")
        found = [self.literal(edge).value for edge in edges.parts]
        if not 1 <= len(found) <= MOST_EDGES or any(a >= b for a, b in pairwise(found)):
            raise UnreadableError(edges.at, f"to have 1 to {MOST_EDGES} edges that rise")
        if not -LARGEST < part.low < part.high < LARGEST:
            raise UnreadableError(what.at, "to cut a number whose bounds are known; derive it with bounds first")
        bounds = (_short(part.low), _short(part.high))
        if found[0] < part.low or found[-1] > part.high:
            raise UnreadableError(edges.at, f"to have edges inside the bounds {bounds}")
        inner = [edge for edge in found if part.low < edge < part.high]
        if not inner:
            raise UnreadableError(edges.at, f"to have an edge between the bounds {bounds}")
        return Cut(part, (part.low, *inner, part.high))

    def recode(self, what: Syntax, table: Syntax) -> Recoded:
        part = self.leveled(what)
        if table.kind != "table" or not table.parts:
            raise UnreadableError(table.at, 'to have a table here, such as {"a": "b"}')
        new: dict[int, Level] = {}
        for pair in table.parts:
            old, name = pair.parts
            place = self.code(part, old)
            if place in new:
                raise UnreadableError(old.at, "to name every level once")
            if name.kind not in ("text", "number", "truth"):
                raise UnreadableError(name.at, "to have the new name of a level here")
            new[place] = _level(name)
        named = [new.get(place, level) for place, level in enumerate(part.levels)]
        known = tuple(dict.fromkeys(named))
        if len(known) < 2:
            raise UnreadableError(table.at, "to leave two levels or more")
        try:
            Category(known)
        except InputError as error:
            raise UnreadableError(table.at, f"to make levels that a column may have ({error})") from None
        return Recoded(part, known, tuple(known.index(level) for level in named))


def _foregone(left: Numeric, right: Numeric, sign: str) -> bool | None:
    """Whether the declared bounds alone say that the comparison holds for every row, or for none; None where not."""
    apart = left.high < right.low or left.low > right.high
    same = left.low == left.high == right.low == right.high
    always = {
        "<": left.high < right.low,
        "<=": left.high <= right.low,
        ">": left.low > right.high,
        ">=": left.low >= right.high,
        "==": same,
        "!=": apart,
    }
    never = {"<": always[">="], "<=": always[">"], ">": always["<="], ">=": always["<"], "==": apart, "!=": same}
    return True if always[sign] else False if never[sign] else None


def _kind_of(found: Expression | None) -> str:
    if isinstance(found, Condition):
        return "a condition"
    if isinstance(found, Leveled):
        return "a column of levels"
    return "a number" if isinstance(found, Numeric) else "a text"


def _places(levels: tuple[Level, ...], tree: Syntax) -> int:
    forms = [level_form(str(level).encode()) if isinstance(level, bool | str) else _form(level) for level in levels]
    form = level_form(tree.value.encode())
    if form is None or form not in forms:
        hint = did_you_mean(tree.value, [level for level in levels if isinstance(level, str)])
        raise UnreadableError(tree.at, f"to name declared levels{hint}")
    return forms.index(form)


def _form(level: float) -> bytes | None:
    return level_form(repr(level).encode())


def _level(tree: Syntax) -> Level:
    if tree.kind == "text":
        return tree.value
    if tree.kind == "truth":
        return tree.value == "true"
    number = float(tree.value)
    if not math.isfinite(number):
        raise UnreadableError(tree.at, "to have numbers that float64 can hold")
    return int(tree.value) if tree.value.lstrip("-").isdigit() else number


def _short(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
