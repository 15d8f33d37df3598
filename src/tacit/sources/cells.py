"""What one cell means: total functions from anything at all to a number or to the code of a level.

Nothing here raises, warns or logs. What can not be read is missing, and missing is part of the schema.

**Numbers in text.** ASCII white space around is dropped; the rest must be, in full,

    [+-] digits [. [digits]] [e|E [+-] digits]        or        [+-] . digits [e|E [+-] digits]

with ASCII digits. It takes the nearest float64. Commas between thousands are dropped where all of them stand there:
``75,872`` and ``1,038,500.25``, and neither ``75,87`` nor ``1038,500``. ``true`` is 1 and ``false`` is 0, in any case.
Everything else is missing: an empty cell, ``nan``, ``inf``, ``NA``, ``1_000``, ``1,5``, hexadecimal, digits of other
scripts, a date. So is a literal past the float64 range (``1e999``): no infinity and no NaN is ever a value.

**Numbers in typed cells.** Integers, floats, decimals and fractions take the nearest float64; true is 1, false is 0.
Dates and timestamps are days since 1970-01-01 (UTC where a zone is known), durations are days, a time of day is a
fraction of a day.

**Levels and identifiers** are compared in the one form that `cell_forms` gives them, from a cell's text or, for typed
cells, from its literal. Integers and decimals are written exactly; a float is the shortest decimal that its own width
prints (so that 0.1 is 0.1 as float16, float32 and float64); booleans are 1 and 0; dates are written ``2020-01-31``;
bytes are themselves, UTF-8 or not; text is its UTF-8; any other object is its ``str``, and missing where that fails or
says no more than where the object lies in memory. A cell that is no declared level is missing; an empty one too,
unless the empty string is a declared level. All missing identifiers are the same. Bytes of Python that name a person
are taken exactly, white space and leading zeros included.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real

import numpy as np

from tacit._support.cell_forms import BOOLEANS, identifier_form, is_number, level_form, without_separators
from tacit.schema import Category

BYTES = bytes | bytearray | memoryview
"""Of Python; drivers of databases give the last of them, whose ``str`` is another one for every cell."""
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1)
# pandas' markers of a missing cell, by name because pandas may not be installed. NaT calls itself a datetime.
_MARKERS = {"NAType", "NaTType"}


def number_of_text(text: bytes) -> float:
    """The number that ``text`` spells, or NaN (missing)."""
    stripped = text.strip()
    if not is_number(stripped):
        stripped = without_separators(stripped) or BOOLEANS.get(stripped.lower(), b"nan")
    number = float(stripped)
    return number if math.isfinite(number) else math.nan


def number_of(cell: object) -> float:
    """The finite number that ``cell`` holds, or NaN (missing)."""
    try:
        number = float(cell) if type(cell) is float or type(cell) is int else _number_of(cell)  # most cells, quickly
    except Exception:  # a total function: whatever a value does, it is only missing
        return math.nan
    return number if math.isfinite(number) else math.nan


def form_of(cell: object) -> bytes | None:
    """The form by which the level in ``cell`` is compared with the declared ones, or None (missing)."""
    try:
        literal, _ = _literal(cell)
        return None if literal is None else level_form(literal)
    except Exception:
        return None


def name_of(cell: object) -> bytes:
    """What tells the person of ``cell`` apart, which is empty where the cell is missing."""
    try:
        if type(cell) is bytes:  # most cells, quickly
            return identifier_form(cell)
        literal, typed = _literal(cell)
        return b"" if literal is None else identifier_form(literal, typed=typed)
    except Exception:
        return b""


def name_of_object(cell: object) -> bytes:
    """`name_of` for an object of Python, where bytes are no text: white space around them is part of the value."""
    return bytes(cell) if isinstance(cell, BYTES) else name_of(cell)


def coder(column: Category, *, missing: int | None = None) -> Callable[[object], int]:
    """The function from a cell to the position of its level, or to ``missing``, the declared one if left out."""
    codes: dict[bytes | None, int] = {form_of(level): code for code, level in enumerate(column.levels)}
    stand_in = column.missing_code if missing is None else missing
    return lambda cell: codes.get(form_of(cell), stand_in)


def _number_of(cell: object) -> float:
    if _marks_missing(cell):
        return math.nan
    if isinstance(cell, str):
        return number_of_text(str.__str__(cell).encode("utf-8", "replace"))
    if isinstance(cell, BYTES):
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


def _literal(cell: object) -> tuple[bytes | None, bool]:
    """What ``cell`` is written as (None: missing), and whether it is a number by its type."""
    if isinstance(cell, str):
        return _encoded(str.__str__(cell)), False  # the characters themselves, whatever a subclass overrides
    if _marks_missing(cell):
        return None, False
    if isinstance(cell, BYTES):
        return bytes(cell), False
    if isinstance(cell, np.timedelta64):  # it passes for an integer
        return _written(cell).encode(), False
    if isinstance(cell, bool | np.bool_ | Integral):
        return _digits(int(cell)), True
    if isinstance(cell, Decimal):
        return (str(cell).encode() if cell.is_finite() else None), True
    if isinstance(cell, Fraction) and cell.denominator == 1:
        return _digits(cell.numerator), True
    if isinstance(cell, np.floating) and cell.dtype.itemsize < 8:
        return (np.format_float_scientific(cell, unique=True).encode() if np.isfinite(cell) else None), True
    if isinstance(cell, Real):
        number = float(cell)
        return (repr(number).encode() if math.isfinite(number) else None), True
    if type(cell).__str__ is object.__str__ and type(cell).__repr__ is object.__repr__:
        return None, False  # an address in memory, by which each cell would be a person
    return _encoded(_written(cell)), False


def _digits(number: int) -> bytes:
    return (str(number) if number.bit_length() < 2**13 else str(Decimal(number))).encode()  # str() refuses long ones


def _encoded(text: str) -> bytes:
    """UTF-8, and the bytes that Python smuggles through text as surrogates where they were not."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _written(cell: object) -> str:
    with warnings.catch_warnings():  # a warning's text may hold the value
        warnings.simplefilter("ignore")
        return str.__str__(str(cell))
