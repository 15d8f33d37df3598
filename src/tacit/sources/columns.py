"""The rules of `cells`, a whole column at a time, with the same result for every cell.

Each function here takes the cells of one column in some container and its declaration, and returns what `Batch` holds.
Only a container's type decides which way is taken, or whether the container is refused; where a vectorised way can not
go on because of a value, the cells are read one by one and come out the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types

from tacit._support.cell_forms import NUMBER, SPACES, decimal_of
from tacit.errors import expected
from tacit.schema import Category, Identifier, Number
from tacit.schema import Parsed as Column
from tacit.sources.cells import coder, form_of, name_of, name_of_object, number_of, number_of_text

_GRAMMAR = rf"\A[{SPACES}]*{NUMBER}[{SPACES}]*\z"
_TICKS_PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400 * 10**9}
_EPOCH = date(1970, 1, 1)
_kernels: Any = pyarrow.compute  # made at run time: the type checker knows none of them


def check_type(label: str, name: str, kind: pa.DataType | np.dtype, column: Column) -> None:
    """Refuse a column whose type holds no scalar, or no exact one where that matters. It looks at types alone.

    Where a cell is missing, many programs store a column of integers as floats, and integers past a float's precision
    become others: two people one, or one level another. So identifiers may not be floats at all (nor booleans, which
    other programs write as words, nor bytes, which need not be text: white space around them may be part of a number),
    and levels only where each is the float's own shortest decimal and is told from every whole number beside it.
    """
    category = not isinstance(column, Number)
    stored = kind if isinstance(kind, np.dtype) else _value_type(kind)
    readable = _numpy_readable(stored, category) if isinstance(stored, np.dtype) else _arrow_readable(stored, category)
    shown = str(kind).partition("<")[0].partition("[")[0].partition("(")[0]  # fields of a struct are not shown
    if not readable:
        wanted = "text, numbers, booleans or dates" if category else "numbers, text, booleans, dates or times"
        raise expected("column", name, f"to hold {wanted} in {label}, not {shown}")
    if isinstance(column, Number):
        return
    width = _float_width(stored)
    exact = f"to be stored as text, whole numbers or decimals in {label}, not {shown}"
    if isinstance(column, Identifier):
        boolean = stored == np.dtype(bool) or stored == pa.bool_()
        if width is not None or boolean or (isinstance(stored, pa.DataType) and _is_bytes(stored)):
            raise expected("column", name, f"{exact}: two people could have one identifier, or one person two")
    elif width is not None:
        for level in column.levels:
            if not _holds(width, form_of(level)):
                raise expected("column", name, f"{exact}, which cannot hold the level {level!r} exactly")


def parse_arrow(array: pa.Array, column: Column) -> np.ndarray:
    """Parse an Arrow array of a type that `check_type` lets pass."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return parse_arrow(array.storage, column)
    if types.is_dictionary(kind):
        indices, values = array.indices.cast(pa.int64()), array.dictionary
        if _is_text(values.type) and len(values) > len(array):  # most of a long dictionary is about other batches
            return parse_text(_bytes(values).take(indices), column)
        return _look_up(parse_arrow(values, column), indices, column)
    if types.is_run_end_encoded(kind):
        return parse_arrow(_kernels.run_end_decode(array), column)
    if types.is_null(kind):
        return _look_up(np.empty(0), pa.nulls(len(array), pa.int64()), column)
    if _is_text(kind):
        return parse_text(_bytes(array), column)
    if types.is_temporal(kind):
        return _parse_ticks(_ticks(array), _arrow_unit(kind), _nulls(array), column)
    if not isinstance(column, Number):
        if isinstance(column, Identifier) and types.is_integer(kind):
            return parse_text(_bytes(array.cast(pa.large_string())), column)
        if types.is_decimal(kind) and kind.bit_width < 128:  # Arrow finds no distinct values of these
            array = array.cast(pa.decimal128(kind.precision, kind.scale))
        if types.is_float16(kind):  # nor, in some versions, of these
            bits = array.view(pa.uint16()).dictionary_encode()
            return _look_up(_codes(list(bits.dictionary.to_numpy().view(np.float16)), column), bits.indices, column)
        return _parse_uniques(array.dictionary_encode(), column)
    return finish(_floats(array), column)


def parse_text(cells: pa.Array, column: Column) -> np.ndarray:
    """Parse an Arrow array of bytes, each cell the UTF-8 text of a scalar."""
    if not isinstance(column, Number):
        return _parse_uniques(cells.dictionary_encode(), column)
    return finish(numbers_of_text(cells), column)


def numbers_of_text(cells: pa.Array) -> np.ndarray:
    """`number_of_text` of every cell; NaN for the missing ones.

    The grammar is matched first, so that nothing but the grammar decides what is a number. Both ways then round a
    literal to the nearest float64.
    """
    nothing = pa.scalar(None, cells.type)
    spelled = _kernels.if_else(_kernels.match_substring_regex(cells, _GRAMMAR), cells, nothing)
    try:
        text = spelled.view(pa.large_string() if types.is_large_binary(cells.type) else pa.string())
        bare = _kernels.ascii_ltrim(_kernels.ascii_trim_whitespace(text), "+")
        numbers = _kernels.cast(bare, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:  # releases of Arrow differ on literals past the float64 range
        return numbers_of_text_slowly(cells)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    if spelled.null_count > cells.null_count:  # some are no numbers, but may be booleans
        others = _kernels.indices_nonzero(_kernels.and_(spelled.is_null(), cells.is_valid()))
        words = cells.take(others).dictionary_encode()
        numbers[others] = numbers_of_text_slowly(words.dictionary)[words.indices]
    return numbers


def numbers_of_text_slowly(cells: pa.Array) -> np.ndarray:
    """`numbers_of_text`, cell by cell."""
    return np.array([np.nan if cell is None else number_of_text(cell) for cell in cells.to_pylist()], np.float64)


def parse_numpy(values: np.ndarray, column: Column) -> np.ndarray:
    """Parse a one-dimensional NumPy array of a type that `check_type` lets pass."""
    kind = values.dtype.kind
    if kind in "biuf":
        native = values.dtype.newbyteorder("=") if values.dtype.itemsize <= 8 else np.dtype(np.float64)
        with np.errstate(all="ignore"):
            array = np.ascontiguousarray(values, native)
        return parse_arrow(pa.array(array), column)
    if kind in "mM":
        unit, step = np.datetime_data(values.dtype)
        ticks = np.ascontiguousarray(values, values.dtype.newbyteorder("=")).view(np.int64)
        return _parse_ticks(ticks, (unit, step), np.isnat(values), column)
    return parse_objects(values.tolist(), column)


def parse_objects(cells: Sequence[object], column: Column) -> np.ndarray:
    """Parse Python objects of any types, mixed as they come. No type is inferred from them."""
    # Arrow would take some more types for text, each by a rule of its own.
    if set(map(type, cells)) <= {str, float, type(None)}:
        with suppress(Exception):  # some cell is a number, or no UTF-8 can write it
            text = pa.array(cells, pa.large_string(), from_pandas=True)  # takes text, None and NaN
            return parse_text(_bytes(text), column)
    return parse_objects_slowly(cells, column)


def parse_objects_slowly(cells: Sequence[object], column: Column) -> np.ndarray:
    """`parse_objects`, cell by cell."""
    if isinstance(column, Identifier):
        return np.fromiter(map(name_of_object, cells), object, len(cells))
    if isinstance(column, Category):
        return _codes(cells, column)
    return finish(np.fromiter(map(number_of, cells), np.float64, len(cells)), column)


def finish(numbers: np.ndarray, column: Number) -> np.ndarray:
    """Fill what is not finite and clamp what is out of bounds, unless the column says to keep it."""
    inside = np.clip(numbers, column.low, column.high) if column.clamp else np.array(numbers)
    finite = np.isfinite(numbers)
    if not finite.all():  # a mask takes as long as the rest together
        inside[~finite] = min(max(column.missing, column.low), column.high)
    return inside


def _parse_uniques(encoded: pa.Array, column: Category | Identifier) -> np.ndarray:
    # The distinct values stay in this process, like the rows they came from.
    distinct = encoded.dictionary
    cells = list(distinct.to_numpy(zero_copy_only=False)) if types.is_floating(distinct.type) else distinct.to_pylist()
    return _look_up(_codes(cells, column), encoded.indices, column)  # floats of NumPy know their width


def _codes(cells: Sequence[object], column: Category | Identifier) -> np.ndarray:
    if isinstance(column, Identifier):
        return np.fromiter(map(name_of, cells), object, len(cells))
    return np.fromiter(map(coder(column), cells), np.int64, len(cells))


def _look_up(parsed: np.ndarray, indices: pa.Array, column: Column) -> np.ndarray:
    """``parsed[indices]``, where a null index takes the missing value."""
    missing = np.array([column.missing], np.float64) if isinstance(column, Number) else _codes([None], column)
    table = np.concatenate([parsed.astype(missing.dtype), missing])
    positions = indices.fill_null(len(parsed)).to_numpy(zero_copy_only=False)
    if len(positions) and not 0 <= positions.min() <= positions.max() <= len(parsed):
        raise IndexError  # of a corrupt file; whoever reads it says so
    return table[positions]


def _parse_ticks(ticks: np.ndarray, unit: tuple[str, int], nulls: np.ndarray, column: Column) -> np.ndarray:
    step, per_day = unit[1], _TICKS_PER_DAY[unit[0]]
    if isinstance(column, Number):
        days = ticks.astype(np.float64) * step / per_day
        return finish(np.where(nulls, np.nan, days), column)
    distinct, inverse = np.unique(ticks, return_inverse=True)
    dates = [_date(int(tick) * step // per_day, exact=isinstance(column, Identifier)) for tick in distinct]
    codes = _codes(dates, column)[inverse]
    return np.where(nulls, _codes([None], column), codes)


def _date(day: int, *, exact: bool) -> date | str | None:
    """The date so many days after 1970-01-01; outside of the years 1 to 9999 missing or, to be ``exact``, a text."""
    try:
        return _EPOCH + timedelta(days=day)
    except OverflowError:
        return f"day {day}" if exact else None


def _nulls(array: pa.Array) -> np.ndarray:
    return array.is_null().to_numpy(zero_copy_only=False)


def _floats(array: pa.Array) -> np.ndarray:
    """Integers, floats, decimals or booleans as float64, each the nearest; NaN where null."""
    if types.is_decimal(array.type):  # by way of text, because Arrow's own cast does not always find the nearest
        return numbers_of_text(_bytes(array.cast(pa.large_string())))
    if types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    values = array.fill_null(0) if array.null_count and not types.is_floating(array.type) else array
    with np.errstate(all="ignore"):
        floats = values.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return np.where(_nulls(array), np.nan, floats) if array.null_count else floats


def _ticks(array: pa.Array) -> np.ndarray:
    width = pa.int32() if array.type.bit_width == 32 else pa.int64()
    return array.view(width).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _arrow_unit(kind: Any) -> tuple[str, int]:
    return ("D", 1) if types.is_date32(kind) else ("ms", 1) if types.is_date64(kind) else (kind.unit, 1)


def _bytes(array: pa.Array) -> pa.Array:
    """Text as bytes, unvalidated: Arrow's own readers do not promise that text is UTF-8."""
    kind = array.type
    if types.is_string(kind):
        cells = array.view(pa.binary())
    elif types.is_large_string(kind):
        cells = array.view(pa.large_binary())
    else:
        cells = array.cast(pa.large_binary())
    cells.validate(full=True)  # a corrupt file may hold offsets that point outside of it
    return cells


def _is_text(kind: pa.DataType) -> bool:
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or _is_bytes(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    """Bytes of any length: Arrow's reader of CSV makes them of a column of text as soon as one cell is no UTF-8."""
    return types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)


def _value_type(kind: Any) -> Any:
    """The type of the values themselves, without extensions, dictionaries and runs around it."""
    if isinstance(kind, pa.BaseExtensionType):
        stored = _value_type(kind.storage_type)
        return kind if _is_bytes(stored) else stored  # what such bytes mean is known to the extension alone
    return _value_type(kind.value_type) if types.is_dictionary(kind) or types.is_run_end_encoded(kind) else kind


def _arrow_readable(kind: Any, category: bool) -> bool:
    if types.is_temporal(kind):
        return types.is_date(kind) if category else not types.is_interval(kind)
    plain = (types.is_null, types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, _is_text)
    return any(test(kind) for test in plain)


def _numpy_readable(kind: np.dtype, category: bool) -> bool:
    if kind.kind in "mM":
        unit = np.datetime_data(kind)[0]
        return unit == "D" and kind.kind == "M" if category else unit in _TICKS_PER_DAY
    return kind.kind in "biufOUST"


def _float_width(kind: Any) -> type[np.floating[Any]] | None:
    """The float of NumPy that cells of this type are read as; None where they are no floats."""
    if isinstance(kind, np.dtype):
        return {2: np.float16, 4: np.float32}.get(kind.itemsize, np.float64) if kind.kind == "f" else None
    return {16: np.float16, 32: np.float32, 64: np.float64}[kind.bit_width] if types.is_floating(kind) else None


def _holds(width: type[np.floating[Any]], form: bytes | None) -> bool:
    """Whether cells of this level, and no others but those near it that are not whole, are this float."""
    decimal = None if form is None else decimal_of(form)
    if decimal is None:  # a text, which no float is
        return True
    _, digits, power = decimal
    if power >= 0:
        return len(digits) + power < 17 and int(digits) * 10**power < 2 ** (np.finfo(width).nmant + 1)
    with np.errstate(all="ignore"):
        return form_of(width(float(form or b"0"))) == form
