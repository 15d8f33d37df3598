"""Find out what the data is and open it, refusing everything that can be refused before a row is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.errors import did_you_mean, expected
from tacit.schema import Schema
from tacit.sources.arrow_files import open_ipc, open_parquet
from tacit.sources.arrow_tables import open_dataset, open_stream, open_table
from tacit.sources.base import Source, is_a, label_of
from tacit.sources.csv_file import open_csv
from tacit.sources.frames import open_dict, open_pandas


def open_source(data: Any, columns: Sequence[str], schema: Schema) -> Source:
    """Open ``data``, one table of which ``columns`` are needed, declared in ``schema``.

    It may be

    * a path to ``.csv`` or ``.tsv`` (tabs), ``.parquet``, ``.arrow`` or ``.feather`` (Arrow IPC), or to a folder whose
      ``.parquet`` files are read in the order of their names (names that begin with ``.`` or ``_`` are left out);
    * a pandas frame, or any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``: polars, pyarrow, DuckDB;
    * a pyarrow dataset;
    * a dict from column names to sequences or arrays.

    Names, types and encodings are checked here, from a header, footer or schema. No row is read, so that a refusal
    costs no privacy and says nothing about anyone.
    """
    for name in columns:
        if name not in schema:
            raise expected("column", name, f"to be declared in the schema{did_you_mean(name, schema)}")
    source = _open(data, columns)
    source.check(schema, columns)
    return source


def _open(data: Any, columns: Sequence[str]) -> Source:
    if isinstance(data, str | os.PathLike):
        return _open_path(Path(data))
    if isinstance(data, Mapping):
        return open_dict(data)
    if is_a(data, "pandas", "DataFrame"):
        return open_pandas(data)
    if is_a(data, "pyarrow.dataset", "Dataset"):
        return open_dataset(data, columns)
    if isinstance(data, pa.Table):
        return open_table(data)
    if hasattr(data, "__arrow_c_stream__"):
        return open_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        return open_table(_table_of(data))
    raise expected("data", type(data).__name__, "to be a path, a data frame, an Arrow table or a dict of columns")


def _open_path(path: Path) -> Source:
    label = label_of(path)
    folder: list[Path] | None = None
    problem: str | None = None  # raised after the handlers: see `unbroken`
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            folder = sorted(entry for entry in path.iterdir() if _is_part(entry))
        elif stat.S_ISREG(mode):
            path.open("rb").close()
        else:  # a pipe may wait for ever, and rows are read by another opening than the header
            problem = "to be a regular file, or a folder"
    except FileNotFoundError:
        problem = "to exist"
    except PermissionError:
        problem = "to be readable with your permissions"
    except (OSError, ValueError):  # ValueError: a null byte in the path
        problem = "to be a file that can be read"
    if problem is not None:
        raise expected("data", label, problem)
    if folder is not None:
        if not folder:
            raise expected("data", label, "to be a file, or a folder with .parquet files right inside it")
        return open_parquet(path, folder)
    suffix = path.suffix.lower()
    if suffix in {".csv", ".tsv"}:
        return open_csv(path, b"," if suffix == ".csv" else b"\t")
    if suffix == ".parquet":
        return open_parquet(path, [path])
    if suffix in {".arrow", ".feather"}:
        return open_ipc(path)
    raise expected("data", label, "to end in .csv, .tsv, .parquet, .arrow or .feather")


def _is_part(entry: Path) -> bool:
    return entry.suffix.lower() == ".parquet" and entry.name[0] not in "._" and entry.is_file()


def _table_of(data: Any) -> pa.Table:
    with suppress(Exception):
        return pa.Table.from_batches([pa.record_batch(data)])
    raise expected("data", type(data).__name__, "to be a table")
