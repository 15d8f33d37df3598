"""What one cell means: total functions from anything at all to a number or to the code of a level.

Nothing here raises, warns or logs. What can not be read is missing, and missing is part of the schema.

**Numbers in text.** ASCII white space around is dropped; the rest must be, in full,

    [+-] digits [. [digits]] [e|E [+-] digits]        or        [+-] . digits [e|E [+-] digits]

with ASCII digits. It takes the nearest float64. Everything else is missing: an empty cell, ``nan``, ``inf``, ``NA``,
``1_000``, ``1,5``, hexadecimal, digits of other scripts, a date. So is a literal past the float64 range (``1e999``): no
infinity and no NaN is ever a value.

**Numbers in typed cells.** Integers, floats, decimals and fractions take the nearest float64; true is 1, false is 0.
Dates and timestamps are days since 1970-01-01 (UTC where a zone is known), durations are days, a time of day is a
fraction of a day.

**Text of typed cells**, for levels that are strings. Integers in decimal; booleans as ``true`` and ``false``; other
numbers as the nearest float64, without ``.0`` when it is whole and below 2^53 (so that 1, 1.0 and decimal 1.00 are
all ``1``), else as Python writes it; dates as ``2020-01-31``; bytes as UTF-8, replaced where they are not; any other
object as its ``str``, and missing where that fails.

**Levels.** White space around a cell is dropped. Strings must then be equal, case and all. Numeric levels compare as
float64. Boolean levels take booleans, ``true`` and ``false`` in any case, and the numbers 1 and 0. Anything else is
missing. An empty cell is missing unless the empty string is a declared level.

**Identifiers** are the text of a cell, without white space around it. An empty cell is missing, and all missing ones
are the same.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real

import numpy as np

from tacit.schema import Category

SPACES = " \t\n\r\v\f"
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"

_NUMBER = re.compile(NUMBER.encode())
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1)
# pandas' markers of a missing cell, by name because pandas may not be installed. NaT calls itself a datetime.
_MARKERS = {"NAType", "NaTType"}


def number_of_text(text: bytes) -> float:
    """The number that ``text`` spells, or NaN (missing)."""
    stripped = text.strip()  # for bytes this drops exactly SPACES
    if _NUMBER.fullmatch(stripped) is None:
        return math.nan
    number = float(stripped)
    return number if math.isfinite(number) else math.nan


def number_of(cell: object) -> float:
    """The finite number that ``cell`` holds, or NaN (missing)."""
    try:
        number = float(cell) if type(cell) is float or type(cell) is int else _number_of(cell)  # most cells, quickly
    except Exception:  # a total function: whatever a value does, it is only missing
        return math.nan
    return number if math.isfinite(number) else math.nan


def text_of(cell: object) -> str | None:
    """The text that ``cell`` is written as, without white space around it, or None (missing)."""
    try:
        text = _text_of(cell)
    except Exception:
        return None
    return None if text is None else text.strip(SPACES)


def name_of(cell: object) -> str:
    """What tells the person of ``cell`` apart: its text, which is empty where the cell is missing."""
    return text_of(cell) or ""


def coder(column: Category) -> Callable[[object], int]:
    """The function from a cell to the position of its level, or to the position that stands for missing."""
    missing = column.missing_code
    if isinstance(column.levels[0], str):
        by_text = {level: code for code, level in enumerate(column.levels)}

        def of_text(cell: object) -> int:
            text = text_of(cell)
            return missing if text is None else by_text.get(text, missing)

        return of_text

    by_number: dict[float, int] = {}
    for code, level in enumerate(column.levels):
        by_number.setdefault(float(level), code)  # two integers past 2^53 may share a float64: the first one has it
    boolean = isinstance(column.levels[0], bool)

    def of_number(cell: object) -> int:
        number = number_of(cell)
        if boolean and math.isnan(number):
            number = {"true": 1.0, "false": 0.0}.get((text_of(cell) or "").lower(), math.nan)
        return by_number.get(number, missing)

    return of_number


def _number_of(cell: object) -> float:
    if _marks_missing(cell):
        return math.nan
    if isinstance(cell, str):
        return number_of_text(str.__str__(cell).encode("utf-8", "replace"))
    if isinstance(cell, bytes | bytearray):
        return number_of_text(bytes(cell))
    if isinstance(cell, date | time | timedelta | np.datetime64 | np.timedelta64):
        return _days(cell)
    if isinstance(cell, Real | Decimal | np.bool_):
        return float(cell)
    return number_of_text(_written(cell).encode("utf-8", "replace"))


def _marks_missing(cell: object) -> bool:
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return cell is None or type(cell).__name__ in _MARKERS


def _days(cell: date | time | timedelta | np.datetime64 | np.timedelta64) -> float:
    if isinstance(cell, np.datetime64):
        return float((cell - np.datetime64(0, "D")) / np.timedelta64(1, "D"))
    if isinstance(cell, np.timedelta64):
        return float(cell / np.timedelta64(1, "D"))
    if isinstance(cell, datetime):
        return (cell - (_EPOCH if cell.tzinfo is None else _EPOCH.replace(tzinfo=UTC))) / _DAY
    if isinstance(cell, date):
        return float(cell.toordinal() - _EPOCH.toordinal())
    if isinstance(cell, timedelta):
        return cell / _DAY
    return timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second, microseconds=cell.microsecond) / _DAY


def _text_of(cell: object) -> str | None:
    if isinstance(cell, str):
        return str.__str__(cell)  # the characters themselves, whatever a subclass overrides
    if _marks_missing(cell):
        return None
    if isinstance(cell, bytes | bytearray):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, np.timedelta64):  # it passes for an integer
        return _written(cell)
    if isinstance(cell, Integral):
        return str(int(cell))
    if isinstance(cell, Real | Decimal):
        number = float(cell)
        if not math.isfinite(number):
            return None
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return _written(cell)


def _written(cell: object) -> str:
    with warnings.catch_warnings():  # a warning's text may hold the value
        warnings.simplefilter("ignore")
        return str.__str__(str(cell))
