"""Python's own containers, pandas and polars."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from . import arrow_media, text_media
from .catalogue import TEXT_KINDS
from .tables import Table, arrow_array, arrow_table, texts, whole


def as_dict(table: Table, folder: Path) -> dict[str, Any]:
    """Lists of objects, bytes among them; a column that is stored in a special way is an Arrow array."""
    return {
        name: table.cells(name) if kind not in ("dictionary", "runs") else arrow_array(kind, table.cells(name))
        for name, kind in table.kinds.items()
    }


def as_arrays(table: Table, folder: Path) -> dict[str, Any]:
    """Arrays of NumPy's own types, masked where a cell is missing that the type has no word for."""
    return {name: _numpy(kind, table.cells(name)) for name, kind in table.kinds.items()}


def _numpy(kind: str, cells: list[Any]) -> Any:
    if kind == "text":
        return np.array(cells, object)
    if kind in ("float", "float32"):
        return arrow_array(kind, cells).to_numpy(zero_copy_only=False)
    mask = [cell is None for cell in cells]
    types = {"int": np.int64, "uint": np.uint64, "bool": np.bool_}
    return np.ma.MaskedArray([0 if cell is None else cell for cell in cells], mask, types[kind])


def pandas_objects(table: Table, folder: Path) -> Any:
    import pandas as pd

    columns = {
        name: texts(table.cells(name)) if kind in TEXT_KINDS else table.cells(name)
        for name, kind in table.kinds.items()
    }
    return pd.DataFrame(columns, dtype=object)


def pandas_inferred(table: Table, folder: Path) -> Any:
    """What pandas makes of cells that were text and numbers in Python: numbers as numbers."""
    import pandas as pd

    return pd.DataFrame({name: [_loosely(cell) for cell in texts(table.cells(name))] for name in table.names})


def _loosely(cell: str | None) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            pass
    return {"True": True, "False": False}.get(cell or "", cell)


def pandas_csv(table: Table, folder: Path) -> Any:
    import pandas as pd

    return whole(pd.read_csv(text_media.csv(table, folder), encoding_errors="surrogateescape"), table)


def pandas_csv_arrow(table: Table, folder: Path) -> Any:
    import pandas as pd

    return whole(pd.read_csv(text_media.csv(table, folder), dtype_backend="pyarrow"), table)


def pandas_categories(table: Table, folder: Path) -> Any:
    return pandas_csv(table, folder).astype("category")


def pandas_parquet(table: Table, folder: Path) -> Any:
    import pandas as pd

    return pd.read_parquet(arrow_media.parquet(table, folder))


def polars_frame(table: Table, folder: Path) -> Any:
    import polars as pl

    return pl.from_arrow(arrow_table(table))


def polars_csv(table: Table, folder: Path) -> Any:
    import polars as pl

    frame = pl.read_csv(text_media.csv(table, folder), infer_schema_length=None)
    assert pl.Int128 not in frame.dtypes  # Arrow has no such type, and the frame can not be handed over
    return whole(frame, table)


_BOOLS = {"true": True, "yes": True, "t": True, "false": False, "no": False, "f": False}


def _date(cell: str) -> date | None:
    try:
        return date.fromisoformat(cell)
    except ValueError:
        return None


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _int(cell: str) -> int | None:
    return int(cell) if re.fullmatch(r"[+-]?[0-9]{1,18}", cell, re.ASCII) else None


# What a column is stored as, and how each cell gets there, whatever the others hold.
PANDAS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "read as int": ("Int64", _int),
    "read as float": ("float64", _float),
    "read as bool": ("boolean", lambda cell: _BOOLS.get(cell.lower())),
    "read as date": ("object", _date),
}


def pandas_declared(table: Table, folder: Path) -> Any:
    """Read as text, and then made of types that were chosen beforehand, cell by cell.

    Of what pandas takes for missing by itself, only an empty cell is: two people called NA and null would be one.
    """
    import pandas as pd

    path = text_media.csv(table, folder)
    read_as = {"dtype": str, "keep_default_na": False, "na_values": [""], "encoding_errors": "surrogateescape"}
    frame = whole(pd.read_csv(path, **read_as), table)
    for place, (name, kind) in enumerate(table.kinds.items()):
        if kind in PANDAS:
            stored, read = PANDAS[kind]
            cells = [read(cell) if isinstance(cell, str) else None for cell in frame.iloc[:, place]]
            frame[name] = pd.Series(cells, dtype=stored)
    return frame


def polars_declared(table: Table, folder: Path) -> Any:
    """The same by polars' own casts."""
    import polars as pl

    frame = pl.read_csv(text_media.csv(table, folder), infer_schema=False)
    types = {"read as int": pl.Int64, "read as float": pl.Float64}
    for name, kind in table.kinds.items():
        if kind in types:
            frame = frame.with_columns(pl.col(name).cast(types[kind], strict=False))
        if kind == "read as date":
            frame = frame.with_columns(pl.col(name).str.to_date("%Y-%m-%d", strict=False))
    return whole(frame, table)
