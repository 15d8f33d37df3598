"""Columns held in memory as Python and NumPy know them: a dict of sequences, or a pandas frame.

A pandas column of objects may hold anything, and Arrow's own conversion of it guesses a type from the values and fails
on some. So such columns are read cell by cell, by the rules of `cells`, and nothing is guessed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.errors import expected
from tacit.schema import Column, Schema
from tacit.sources.base import Batch, Pull, Source, check_batch_rows, is_a, locate, unbroken
from tacit.sources.classes import check_type, parse_arrow, parse_numpy, parse_objects


@dataclass(frozen=True)
class Held:
    """One column: its length, its type (None: objects of any type), and how to get at its cells."""

    rows: int
    kind: np.dtype | pa.DataType | None
    load: Callable[[], Any]


@dataclass(frozen=True)
class Coded:
    """A pandas categorical: each cell is a position in ``categories``, or -1 where it is missing.

    It stays that way until it is parsed. Written out as objects, its categories may change their type (1 to 1.0) when
    some other row is missing, and a row must not depend on another.
    """

    codes: np.ndarray
    categories: np.ndarray
    """Of their own type where that is a number, else objects."""


@dataclass(frozen=True)
class Frame(Source):
    """Columns in memory. ``pick`` gives the column at a position of ``names``."""

    pick: Callable[[int], Any]

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse columns that are absent, of unequal lengths, or of a type that can not be parsed."""
        self._held(schema, columns)

    def rows(self, columns: Sequence[str]) -> int:
        """The length of the first column, which is that of all."""
        position = locate(self.label, self.names, columns)[columns[0]]
        return _hold(self.label, columns[0], self.pick(position)).rows

    def pulls(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Pull]:
        check_batch_rows(batch_rows)
        held = self._held(schema, columns)
        yield from unbroken(self.label, _pull_held(held, schema, batch_rows))

    def _held(self, schema: Schema, columns: Sequence[str]) -> dict[str, Held]:
        held: dict[str, Held] = {}
        for name, position in locate(self.label, self.names, columns).items():
            column = held[name] = _hold(self.label, name, self.pick(position))
            if column.kind is not None:
                check_type(self.label, name, column.kind, schema[name])
            if column.rows != held[columns[0]].rows:
                raise expected("column", name, f"to be as long as column {columns[0]!r} in {self.label}")
        return held


def open_dict(data: Mapping[Any, Any]) -> Frame:
    """A mapping from names to one-dimensional sequences or arrays."""
    keys = [key for key in data if isinstance(key, str)]
    return Frame("the dict", tuple(keys), lambda position: data[keys[position]])


def open_pandas(frame: Any) -> Frame:
    """A pandas data frame."""
    names = tuple(str(label) for label in frame.columns)
    return Frame("the data frame", names, lambda position: frame.iloc[:, position])


def _hold(label: str, name: str, values: Any) -> Held:
    held = None
    with suppress(Exception):  # an object that fails to say its length or type is no column
        held = _held_pandas(values) if is_a(values, "pandas", "Series") else _held_plain(values)
    if held is None:
        raise expected("column", name, f"to be a one-dimensional sequence or array in {label}")
    return held


def _held_plain(values: Any) -> Held | None:
    if isinstance(values, str | bytes | bytearray | Mapping):
        return None
    if is_a(values, "pandas", "Index") or is_a(values, "pandas.api.extensions", "ExtensionArray"):
        # As a NumPy array, integers beside a missing one would be floats.
        return _held_pandas(sys.modules["pandas"].Series(values))
    if not isinstance(values, np.ndarray | pa.Array | pa.ChunkedArray):
        if hasattr(values, "__arrow_c_stream__"):
            values = pa.chunked_array(values)
        elif hasattr(values, "__arrow_c_array__"):
            values = pa.array(values)
        elif hasattr(values, "__array__"):
            values = np.asarray(values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return Held(len(values), values.type, lambda: values)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            return None
        masked = isinstance(values, np.ma.MaskedArray)
        return Held(len(values), values.dtype, lambda: _unmasked(values) if masked else values)
    return Held(len(values), None, lambda: list(values)) if isinstance(values, Sequence) else None


def _unmasked(values: Any) -> Any:
    """A masked array as cells of the same type, or as objects, with nulls where it is masked."""
    if values.dtype.kind in "biuf" and values.dtype.itemsize <= 8:
        native = np.ascontiguousarray(values.data, values.dtype.newbyteorder("="))
        return pa.array(native, mask=np.ma.getmaskarray(values))
    return values.tolist()


def _held_pandas(series: Any) -> Held:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return Held(len(series), dtype, series.to_numpy)
    pandas = sys.modules["pandas"]

    def objects() -> np.ndarray:
        return np.asarray(series.array, dtype=object)

    def typed() -> Any:
        try:
            return pa.array(series.array, from_pandas=True)
        except Exception:  # text that no UTF-8 can write, for one
            return objects()

    if isinstance(dtype, pandas.CategoricalDtype):
        kind = getattr(dtype.categories.dtype, "numpy_dtype", dtype.categories.dtype)
        kind = kind if isinstance(kind, np.dtype) and kind.kind in "biuf" else None
        return Held(len(series), kind, lambda: Coded(np.asarray(series.cat.codes), _categories(dtype.categories, kind)))
    if isinstance(dtype, pandas.SparseDtype):
        return Held(len(series), dtype.subtype, lambda: np.asarray(series.array))
    if isinstance(dtype, pandas.ArrowDtype):
        return Held(len(series), dtype.pyarrow_dtype, typed)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return Held(len(series), dtype.base, typed)
    if isinstance(dtype, pandas.StringDtype):
        return Held(len(series), None, typed)
    if dtype.kind in "biuf" and hasattr(series.array, "__arrow_array__"):
        return Held(len(series), dtype.numpy_dtype, typed)
    return Held(len(series), None, objects)


def _categories(index: Any, kind: np.dtype | None) -> np.ndarray:
    if kind is not None:
        return index.to_numpy(kind)
    return np.fromiter(index, object, len(index))


def _pull_held(held: dict[str, Held], schema: Schema, batch_rows: int) -> Iterator[Pull]:
    cells = {name: column.load() for name, column in held.items()}
    rows = next(iter(held.values())).rows
    for start in range(0, rows, batch_rows):
        yield partial(_parse_slice, cells, start, min(start + batch_rows, rows), schema)


def _parse_slice(cells: dict[str, Any], start: int, stop: int, schema: Schema) -> Batch:
    return Batch(stop - start, {name: _parse(values, start, stop, schema[name]) for name, values in cells.items()})


def _parse(values: Any, start: int, stop: int, column: Column) -> np.ndarray:
    if isinstance(values, Coded):
        used, inverse = np.unique(values.codes[start:stop], return_inverse=True)
        missing = int(len(used) > 0 and used[0] < 0)
        parsed = [parse_objects([None] * missing, column), parse_numpy(values.categories[used[missing:]], column)]
        return np.concatenate(parsed)[inverse]
    cells = values[start:stop]
    if isinstance(cells, pa.ChunkedArray):
        return np.concatenate([parse_arrow(chunk, column) for chunk in cells.chunks])
    if isinstance(cells, pa.Array):
        return parse_arrow(cells, column)
    return parse_numpy(cells, column) if isinstance(cells, np.ndarray) else parse_objects(cells, column)
