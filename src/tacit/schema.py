"""What each column may hold, declared in public before any row is read.

A column is a `Number` with bounds or a `Category` with levels. Nothing here looks at data: bounds and levels that were
read from rows would themselves be a leak, so there is no default for either.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit._support.cell_forms import level_form
from tacit._support.dates import refuse_dates
from tacit._support.printable import flaw
from tacit.errors import InputError, did_you_mean, expected, one_thing, shown

Level = str | int | float | bool

LEAST_WIDTH = 2.0**-1000
"""The least width of a range that cells are mapped from: its half, and what a step of a lattice is in it, are normal
numbers, in whatever way a processor treats subnormal ones."""


@dataclass(frozen=True)
class Number:
    """A numeric column with public bounds; what lies outside is clamped.

    ``missing`` stands in for every empty, unreadable or non-finite cell. It is public; the middle of the bounds unless
    said otherwise. With ``clamp`` false the bounds are units only, in which a prior is stated, and values outside keep
    their size: for mechanisms whose privacy asks nothing of such a column.
    """

    low: float
    high: float
    missing: float = field(default=math.nan)
    clamp: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.clamp, bool):
            raise expected("clamp", self.clamp, "to be true or false")
        for name in ("low", "high", "missing"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise expected(name, value, "to be a number")
            try:
                object.__setattr__(self, name, float(value))
            except OverflowError:
                raise expected(name, value, "to be a number that float64 can hold") from None
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise expected("bounds", (self.low, self.high), "to be two finite numbers, the smaller one first")
        if not LEAST_WIDTH <= self.high - self.low < math.inf:  # a map by another width would give NaN for some cells
            raise expected("bounds", (self.low, self.high), "to be at least 1e-301 and less than 1.8e308 apart")
        if math.isnan(self.missing):
            object.__setattr__(self, "missing", self.low + (self.high - self.low) / 2)
        if not self.low <= self.missing <= self.high:
            raise expected("missing", self.missing, f"to lie in the bounds {(self.low, self.high)}")

    def to_plain(self) -> Any:
        """The value that a plan file holds for this column."""
        bounds = [_shortest(self.low), _shortest(self.high)]
        if self == Number(self.low, self.high):
            return bounds
        middle = Number(self.low, self.high).missing
        missing = {} if self.missing == middle else {"missing": _shortest(self.missing)}
        return {"bounds": bounds, **missing, **({} if self.clamp else {"clamp": False})}


@dataclass(frozen=True)
class Category:
    """A column that takes one of the declared levels; the first one is the reference.

    ``missing`` stands in for every empty or undeclared cell. It is public; the reference level unless said otherwise.
    Cells and levels are compared in one form, whatever they are stored as: ``"01"``, ``1`` and ``1.0`` are one level,
    and so are ``"True"``, ``true`` and ``1`` (see `cell_forms`).
    """

    levels: tuple[Level, ...]
    missing: Level | None = None

    def __post_init__(self) -> None:
        levels = tuple(self.levels)
        object.__setattr__(self, "levels", levels)
        if len(levels) < 2:
            raise expected("levels", list(levels), "to name at least two levels")
        kinds = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in levels}
        if not all(isinstance(v, str | int | float) for v in levels) or len(kinds) != 1:
            raise expected("levels", list(levels), "to be all strings, all numbers or all booleans")
        if kinds == {float} and not all(abs(v) < 2**1023 for v in levels):  # type: ignore[arg-type, operator]
            raise expected("levels", list(levels), "to be finite numbers")
        if any(isinstance(v, str) and v != v.strip(" \t\n\r\v\f") for v in levels):
            raise expected("levels", list(levels), "to have no spaces around them, as cells lose theirs")
        for flawed in (flaw(v) for v in levels if isinstance(v, str)):
            if flawed:
                raise expected("levels", list(levels), f"to hold no {flawed}")
        if len(set(levels)) != len(levels):
            raise expected("levels", list(levels), "to differ from each other")
        self._check_forms(levels)
        if self.missing is None:
            object.__setattr__(self, "missing", levels[0])
        if self.missing not in levels:
            raise expected("missing", self.missing, f"to be one of the levels {list(levels)}")

    def _check_forms(self, levels: tuple[Level, ...]) -> None:
        """Refuse levels that no cell could tell apart, or that read like a missing number (see `cell_forms`)."""
        found: dict[bytes, Level] = {}
        for level in levels:
            form = level_form(_literal(level))
            if form is None:
                raise expected("level", level, "to be another word: many programs store this one as a missing number")
            if form in found:
                raise expected(
                    "level",
                    level,
                    f"to differ from {shown(found[form])} as a number, because a column of text that "
                    "looks like numbers may be stored as numbers, and true and false as 1 and 0; keep one of the two",
                )
            found[form] = level

    @property
    def missing_code(self) -> int:
        """The position in ``levels`` that a missing cell takes."""
        return self.levels.index(self.missing)  # type: ignore[arg-type]

    def to_plain(self) -> Any:
        """The value that a plan file holds for this column."""
        if self.missing != self.levels[0]:
            return {"levels": list(self.levels), "missing": self.missing}
        if all(isinstance(v, str) for v in self.levels):
            return list(self.levels)
        return {"levels": list(self.levels)}


@dataclass(frozen=True)
class Identifier:
    """A column that tells people apart. Only whether two cells are equal matters; it has no bounds and no levels.

    It is never declared in a schema: a plan whose unit of privacy is a person names it. Rows without an identifier
    count as one person together.
    """


@dataclass(frozen=True)
class Screened:
    """A declared column of which only the class of each cell is wanted, for a count of what is wrong with its cells.

    A cell is as declared (code 0), or it belongs to one of ``classes`` (its position there, plus 1): it is missing (an
    empty cell), unreadable (anything else that is no number), unknown (anything else that is no declared level), or a
    number below or above the bounds.
    """

    column: Number | Category

    @property
    def classes(self) -> tuple[str, ...]:
        """What may be wrong with a cell; a number whose bounds are units only is never outside of them."""
        if isinstance(self.column, Category):
            return ("missing", "unknown")
        return ("missing", "unreadable", "below", "above") if self.column.clamp else ("missing", "unreadable")

    @property
    def missing_code(self) -> int:
        """The code of an empty cell."""
        return 1 + self.classes.index("missing")

    def to_plain(self) -> Any:
        """The value that a plan file holds for the column itself."""
        return self.column.to_plain()


@dataclass(frozen=True)
class Gaps:
    """A declared column of which missing cells are to be told apart: they are NaN, or the code -1, and not filled."""

    column: Number | Category

    def to_plain(self) -> Any:
        """The value that a plan file holds for the column itself."""
        return self.column.to_plain()


Parsed = Number | Category | Identifier
"""What cells are parsed as."""

Column = Parsed | Screened | Gaps
"""What may be asked of a column: its parsed cells, their classes, or its cells before any is filled."""


class Derivation(ABC):
    """How a column follows from others of the same row (see `tacit.expressions`)."""

    column: Number | Category
    """What it is declared as."""

    @property
    @abstractmethod
    def named(self) -> frozenset[str]:
        """The columns that its expression names."""

    @abstractmethod
    def to_plain(self) -> Any:
        """The value that a plan file holds in its ``[derive]`` table."""


def check_column_name(what: str, name: object) -> None:
    """Refuse what no header can name; ``what`` says in the refusal which name it is."""
    if not isinstance(name, str) or not name or name != name.strip():
        raise expected(what, one_thing(name), "to be a non-empty string without spaces around it")
    if flawed := flaw(name):
        raise expected(what, name, f"to hold no {flawed}; rename the column")


def _literal(level: Level) -> bytes:
    if isinstance(level, str):
        return level.encode()
    return (int.__repr__(level) if isinstance(level, int) else float.__repr__(level)).encode()


def _shortest(value: float) -> float | int:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def column_from_plain(name: str, value: object) -> Column:
    """Read one column's declaration: two numbers are bounds, strings are levels, a table says which it is."""
    try:
        return _column_from_plain(value)
    except InputError as error:
        raise InputError(f"In the schema, column {shown(name)}: {error}") from None


def _column_from_plain(value: object) -> Column:
    if isinstance(value, Number | Category | Screened | Gaps):
        return value
    if isinstance(value, Mapping):
        keys = set(value)
        for key in value:
            if key not in ("bounds", "levels", "missing", "clamp"):
                hint = did_you_mean(key, ("bounds", "levels", "missing", "clamp"))
                raise expected("key", key, f"to be bounds, levels, missing or clamp{hint}")
        if len(keys & {"bounds", "levels"}) != 1:
            raise expected("column", dict(value), "to have either `bounds` or `levels`, and perhaps `missing`")
        if "levels" in keys:
            if "clamp" in keys:
                raise expected("clamp", value["clamp"], "to be left out for a column with levels")
            levels = value["levels"]
            if not isinstance(levels, list | tuple):
                raise expected("levels", levels, "to be a list")
            return Category(tuple(levels), value.get("missing"))
        bounds = value["bounds"]
        if not isinstance(bounds, list | tuple) or len(bounds) != 2:
            raise expected("bounds", bounds, "to be two numbers")
        refuse_dates(bounds)
        return Number(bounds[0], bounds[1], value.get("missing", math.nan), value.get("clamp", True))
    if isinstance(value, list | tuple):
        if value and all(isinstance(v, str) for v in value):
            return Category(tuple(value))
        if len(value) == 2 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value):
            return Number(value[0], value[1])
        if len(value) <= 4:
            refuse_dates(value)
        value = value if len(value) <= 4 else one_thing(value)  # the cells of a column, perhaps
    raise expected("column", value, "to be two numbers (bounds), a list of strings (levels) or a table with either")


class Schema(Mapping[str, Column]):
    """The declared columns, by name: ``Schema(age=(18, 65), smoker=["no", "yes"])``.

    Names that are no Python identifiers go in as a mapping: ``Schema({"body mass": (15, 55)})``. A plan adds the
    columns that it derives from these; to everything but the reading of rows they are columns like others.

    ```pycon
    >>> schema = tacit.Schema(age=(18, 90), smoker=["no", "yes"])
    >>> schema["smoker"].levels
    ('no', 'yes')

    ```
    """

    __slots__ = ("_columns", "derived")

    derived: Mapping[str, Derivation]
    """The columns that are derived from others, by name, each behind those that it names."""

    def __init__(self, columns: Mapping[str, object] | None = None, /, **more: object) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise InputError("Expected schema to be names with bounds or levels: Schema(age=(18, 100)) or a dict.")
        declared: dict[str, object] = {**(columns or {}), **more}
        if not declared:
            raise InputError("Expected schema to declare at least one column.")
        for name in declared:
            check_column_name("column name", name)
        self._columns = {name: column_from_plain(name, value) for name, value in declared.items()}
        self.derived = {}

    def __getitem__(self, name: str) -> Column:
        if isinstance(name, list | tuple):
            raise expected("column", name, "to be one name: a plan is about one column, so make a plan for each")
        try:
            return self._columns[name]
        except (KeyError, TypeError):  # TypeError: a plan that gives a list for the name
            raise expected("column", name, f"to be declared in the schema{did_you_mean(name, self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._columns == other._columns and self.derived == other.derived

    def __hash__(self) -> int:
        return hash(frozenset(self._columns.items()))

    def __repr__(self) -> str:
        return f"Schema({self.to_plain()!r})"

    def declared(self, name: str) -> Number | Category:
        """The column ``name``, which must not be an identifier; of a screened one, what it was declared as."""
        column = self[name]
        if isinstance(column, Identifier):
            raise expected("column", name, "to be declared with bounds or levels")
        return column.column if isinstance(column, Screened | Gaps) else column

    def number(self, name: str) -> Number:
        """The column ``name``, which must be a number."""
        column = self[name]
        if not isinstance(column, Number):
            raise expected("column", name, "to be declared with bounds, not levels")
        return column

    def category(self, name: str) -> Category:
        """The column ``name``, which must be a category."""
        column = self[name]
        if not isinstance(column, Category):
            raise expected("column", name, "to be declared with levels, not bounds")
        return column

    def with_identifier(self, name: str) -> Schema:
        """This schema with the column ``name``, not declared so far, as the one that tells people apart."""
        if name in self._columns:
            raise expected("id", name, "not to be declared in the schema as well")
        return self._with({**self._columns, name: Identifier()}, self.derived)

    def with_derived(self, derived: Mapping[str, Derivation]) -> Schema:
        """The columns of the table with these columns derived from them."""
        return self._with({**self.of_table._columns, **{name: one.column for name, one in derived.items()}}, derived)

    @property
    def flat(self) -> Schema:
        """The same columns, each as if it were in the table: for tables that somebody makes up."""
        return self._with(self._columns, {})

    @property
    def of_table(self) -> Schema:
        """The columns that the table has: all but the derived ones."""
        return self._with({name: column for name, column in self._columns.items() if name not in self.derived}, {})

    def read_for(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns of the table that must be read to know ``columns``, in order, each once."""
        asked = tuple(columns)
        needed = self.needed_for(asked)
        ordered = dict.fromkeys((*asked, *self._columns))
        return tuple(name for name in ordered if name in needed and name not in self.derived)

    def needed_for(self, columns: Iterable[str]) -> frozenset[str]:
        """``columns`` and all that they follow from."""
        found = set(columns)
        for name in reversed(tuple(self.derived)):  # each stands behind those that it names
            if name in found:
                found |= self.derived[name].named
        return frozenset(found)

    def with_gaps(self, columns: Iterable[str]) -> Schema:
        """This schema, with the missing cells of ``columns`` told apart."""
        gaps = {name: Gaps(self.declared(name)) for name in columns}
        return self._with({**self._columns, **gaps}, self.derived)

    def _with(self, columns: Mapping[str, Column], derived: Mapping[str, Derivation]) -> Schema:
        made = Schema.__new__(Schema)
        made._columns, made.derived = dict(columns), dict(derived)
        return made

    def screened(self) -> Schema:
        """This schema, asked for the classes of cells and not for the cells; what is derived has no cells."""
        return Schema({name: Screened(self.declared(name)) for name in self if name not in self.derived})

    def derived_plain(self) -> dict[str, Any]:
        """The ``[derive]`` table of a plan file."""
        return {name: one.to_plain() for name, one in self.derived.items()}

    def to_plain(self) -> dict[str, Any]:
        """The ``[schema]`` table of a plan file."""
        of_table = {name: column for name, column in self._columns.items() if name not in self.derived}
        return {name: column.to_plain() for name, column in of_table.items() if not isinstance(column, Identifier)}
