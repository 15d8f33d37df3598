"""A table in memory, and the columns of it as Arrow has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .catalogue import TEXT_KINDS

_TYPES: dict[str, Any] = {
    "int": pa.int64(),
    "uint": pa.uint64(),
    "huge": pa.decimal128(38, 0),
    "float": pa.float64(),
    "float32": pa.float32(),
    "decimal": pa.decimal128(38, 6),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "stamp": pa.timestamp("us", "UTC"),
    "null": pa.null(),
    "int8": pa.int8(),
    "half": pa.float16(),
    "decimal64": pa.decimal64(10, 2),
    "decimal256": pa.decimal256(50, 3),
    "duration": pa.duration("s"),
}


@dataclass(frozen=True)
class Table:
    """Rows of cells; ``kinds`` names the columns and says how each is stored where the medium has types."""

    kinds: Mapping[str, str]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def cells(self, name: str) -> list[Any]:
        place = self.names.index(name)
        return [row[place] for row in self.rows]

    def part(self, index: int, count: int) -> Table:
        """Every ``count``-th row, from row ``index`` on."""
        return replace(self, rows=self.rows[index::count])

    def less(self, gone: Sequence[tuple[Any, ...]]) -> Table:
        """Without these rows, each of them once."""
        kept = list(self.rows)
        for row in gone:
            kept.remove(row)
        return replace(self, rows=tuple(kept))

    def stored_as(self, **kinds: str) -> Table:
        return replace(self, kinds={**self.kinds, **kinds})


def raw(cell: Any) -> bytes:
    """The bytes that a text file has for a cell of text."""
    if cell is None:
        return b""
    return cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass")


def texts(cells: Sequence[Any]) -> list[str | None]:
    """Cells of text as Python has them; bytes that are no UTF-8 as lone surrogates."""
    return [c.decode("utf-8", "surrogateescape") if isinstance(c, bytes) else c for c in cells]


def arrow_array(kind: str, cells: Sequence[Any]) -> pa.Array:
    """The cells as one Arrow array. Text is not validated, as Arrow's own readers do not validate it."""
    if kind == "int dictionary":
        return pa.array(cells, pa.int64()).dictionary_encode()
    if kind == "int runs":
        return pc.run_end_encode(pa.array(cells, pa.int64()))
    if kind == "days":
        return pa.array(cells, pa.int32()).view(pa.date32())
    if kind == "bytes":
        return pa.array([None if c is None else raw(c) for c in cells], pa.binary())
    if kind not in TEXT_KINDS:
        return pa.array(cells, _TYPES[kind], from_pandas=False)
    array = pa.array([None if c is None else raw(c) for c in cells], pa.binary()).view(pa.string())
    if kind == "large text":
        return array.view(pa.binary()).cast(pa.large_binary()).view(pa.large_string())
    if kind == "text view":
        return array.view(pa.binary()).cast(pa.binary_view()).view(pa.string_view())
    if kind == "dictionary":
        return array.dictionary_encode()
    return pc.run_end_encode(array) if kind == "runs" else array


def arrow_table(table: Table) -> pa.Table:
    """The table as Arrow has it."""
    return pa.table({name: arrow_array(kind, table.cells(name)) for name, kind in table.kinds.items()})


def whole(frame: Any, table: Table) -> Any:
    """What a reader made of a file, if it has every row: one that drops or joins lines is not tacit's."""
    assert len(frame) == len(table.rows)
    return frame
