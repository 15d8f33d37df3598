"""Cells as their column asks for them: parsed, with missing ones left open (`Gaps`), or the class of each (`Screened`).

A class is decided by the functions of `columns` that parse the cells of a release, and by nothing else: cells are
parsed twice, with two stand-ins for what is missing. Where the results differ a stand-in was used, so what is counted
as missing, unreadable or unknown is exactly what takes the missing value in a release. Bounds are looked at without
clamping. Whether a filled cell was empty is the one thing that is asked of the cell itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types

from tacit.schema import Column, Gaps, Number, Screened
from tacit.sources import columns
from tacit.sources.cells import BYTES

_SPACES = columns.SPACES
_BLANK = rf"\A[{_SPACES}]*\z"
_MARKERS = {"NAType", "NaTType"}  # pandas' own, by name because pandas may not be installed
_kernels: Any = pyarrow.compute  # made at run time: the type checker knows none of them


def check_type(label: str, name: str, kind: pa.DataType | np.dtype, column: Column) -> None:
    """As `columns.check_type`: whatever is asked of a column, it must be one that can be parsed."""
    columns.check_type(label, name, kind, column.column if isinstance(column, Screened | Gaps) else column)


def parse_arrow(array: pa.Array, column: Column) -> np.ndarray:
    """As `columns.parse_arrow`, or the classes."""
    return _parse(columns.parse_arrow, blank_in_arrow, array, column)


def parse_text(cells: pa.Array, column: Column) -> np.ndarray:
    """As `columns.parse_text`, or the classes."""
    return _parse(columns.parse_text, blank_in_arrow, cells, column)


def parse_numpy(values: np.ndarray, column: Column) -> np.ndarray:
    """As `columns.parse_numpy`, or the classes."""
    return _parse(columns.parse_numpy, _blank_in_numpy, values, column)


def parse_objects(cells: Sequence[object], column: Column) -> np.ndarray:
    """As `columns.parse_objects`, or the classes."""
    return _parse(columns.parse_objects, _blank_in_objects, cells, column)


def _parse(parse: Callable[..., np.ndarray], blank: Callable[[Any], np.ndarray], cells: Any, column: Column) -> Any:
    if not isinstance(column, Screened | Gaps):
        return parse(cells, column)
    declared = column.column
    if isinstance(declared, Number):
        clamp = declared.clamp and isinstance(column, Gaps)
        ends = [replace(declared, missing=end, clamp=clamp) for end in (declared.low, declared.high)]
    else:
        ends = [replace(declared, missing=level) for level in declared.levels[:2]]
    first, second = (parse(cells, end) for end in ends)
    filled = first != second
    if isinstance(column, Gaps):
        return np.where(filled, np.nan if isinstance(declared, Number) else -1, first)
    classes = column.classes
    codes = np.where(filled, np.where(blank(cells), column.missing_code, 2), 0)  # 2: unreadable, or unknown
    if isinstance(declared, Number) and declared.clamp:
        codes[~filled & (first < declared.low)] = 1 + classes.index("below")
        codes[~filled & (first > declared.high)] = 1 + classes.index("above")
    return codes.astype(np.int64)


def blank_in_arrow(array: pa.Array) -> np.ndarray:
    """Whether each cell is null, NaN, or text of nothing but white space."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return blank_in_arrow(array.storage)
    if types.is_dictionary(kind):
        table = np.append(blank_in_arrow(array.dictionary), True)
        return table[array.indices.cast(pa.int64()).fill_null(len(array.dictionary)).to_numpy(zero_copy_only=False)]
    if types.is_run_end_encoded(kind):
        return blank_in_arrow(_kernels.run_end_decode(array))
    found = array.is_null().to_numpy(zero_copy_only=False)
    if types.is_floating(kind):
        return found | np.isnan(array.to_numpy(zero_copy_only=False).astype(np.float64))
    if types.is_decimal(kind) or not (_is_text(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        return found
    spaces = _kernels.match_substring_regex(array.cast(pa.large_binary()), _BLANK).fill_null(True)
    return found | spaces.to_numpy(zero_copy_only=False)


def _is_text(kind: pa.DataType) -> bool:
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _blank_in_numpy(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    return np.zeros(len(values), bool) if values.dtype.kind in "biu" else _blank_in_objects(values.tolist())


def _blank_in_objects(cells: Sequence[object]) -> np.ndarray:
    return np.fromiter(map(is_blank, cells), bool, len(cells))


def is_blank(cell: object) -> bool:
    """Whether there is nothing in a cell: None, a marker of a missing cell, NaN, or white space. A total function."""
    try:
        if cell is None or type(cell).__name__ in _MARKERS:
            return True
        if isinstance(cell, str):
            return not str.__str__(cell).strip(_SPACES)
        if isinstance(cell, BYTES):
            return not bytes(cell).strip()  # for bytes this drops exactly these
        if isinstance(cell, np.datetime64 | np.timedelta64):
            return bool(np.isnat(cell))
        return bool(cell != cell) if isinstance(cell, Real | Decimal) else False
    except Exception:  # whatever a value does, it is only no empty cell
        return False
