"""Find out what the data is and open it, refusing everything that can be refused before a row is read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit._support.cell_forms import NUMBER
from tacit._support.files import DATA_SUFFIXES
from tacit.errors import did_you_mean, expected
from tacit.schema import Schema
from tacit.sources import duckdb_tables
from tacit.sources.arrow_files import open_ipc, open_parquet
from tacit.sources.arrow_rows import ArrowRows
from tacit.sources.arrow_tables import open_dataset, open_stream, open_table
from tacit.sources.base import Source, is_a
from tacit.sources.concatenated import Several
from tacit.sources.csv_file import open_csv
from tacit.sources.folders import FolderFile, find_files
from tacit.sources.frames import open_dict, open_pandas

_LAZY = {("polars", "LazyFrame"), ("pyarrow.dataset", "Scanner"), ("ibis.expr.types", "Table")}


def open_source(data: Any, columns: Sequence[str], schema: Schema) -> Source:
    """Open ``data``, one table of which ``columns`` are needed, declared in ``schema``.

    It may be

    * a path to ``.csv`` (commas, or semicolons where the header has them), ``.tsv`` (tabs), ``.parquet``, ``.arrow`` or
      ``.feather`` (Arrow IPC); to a folder of such files of one kind, ``name=value`` folders included; a pattern
      (``rows/*.parquet``); or a list of ``Path``;
    * a path to a DuckDB database, with its table as in ``shop.duckdb::orders`` or ``shop.duckdb::raw.orders``, or
      ``connection.table(name)``;
    * a pandas frame, or any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``: polars, pyarrow;
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
        path, sign, table = str(data).partition("::")
        if Path(path).suffix.lower() in duckdb_tables.SUFFIXES:
            find_files(path)
            return duckdb_tables.open_database(Path(path), table if sign else None, columns)
        return _open_files(*find_files(data))
    if isinstance(data, list | tuple) and data and all(isinstance(one, os.PathLike) for one in data):
        # Paths, not strings: a list of strings may be a column, and a message would quote its first cell.
        return _open_files(*find_files(data))
    if isinstance(data, Mapping):
        return open_dict(data)
    if is_a(data, "pandas", "DataFrame"):
        return open_pandas(data)
    if is_a(data, "pyarrow.dataset", "Dataset"):
        return open_dataset(data, columns)
    if is_a(data, "duckdb", "DuckDBPyRelation"):
        return duckdb_tables.open_relation(data, columns)
    if isinstance(data, pa.Table):
        return open_table(data)
    if any(is_a(data, *kind) for kind in _LAZY):
        raise expected(
            "data",
            type(data).__name__,
            "to be a table, not a query: one that filters, joins or groups would make n or the unit of privacy depend "
            "on the data",
        )
    if hasattr(data, "__arrow_c_stream__"):
        return open_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        return open_table(_table_of(data))
    raise expected("data", type(data).__name__, "to be a path, a data frame, an Arrow table or a dict of columns")


def _open_files(label: str, files: list[FolderFile]) -> Source:
    suffix = files[0].suffix
    if suffix not in DATA_SUFFIXES:
        first = "; save the sheet as CSV first" if suffix in {".xlsx", ".xls", ".ods"} else ""
        raise expected("data", label, f"to end in .csv, .tsv, .parquet, .arrow or .feather{first}")
    if suffix == ".parquet":
        return open_parquet(label, [(file.path, file.label, file.folders) for file in files])
    for file in files:
        if file.folders:
            raise expected("data", file.label, "to be Parquet where a folder is called name=value")
    if suffix in {".csv", ".tsv"}:
        sources = [open_csv(file.path, None if suffix == ".csv" else b"\t") for file in files]
    else:
        sources = [open_ipc(file.path) for file in files]
    return sources[0] if len(sources) == 1 else Several(label, sources[0].names, tuple(sources))


def _table_of(data: Any) -> pa.Table:
    with suppress(Exception):
        return pa.Table.from_batches([pa.record_batch(data)])
    raise expected("data", type(data).__name__, "to be a table")


def header_of(data: Any) -> dict[str, str | None]:
    """The columns of ``data`` by name, with the type that an Arrow schema gives each; text files have no types.

    Names and types alone: no value is read, and of a dictionary not even its entries.
    """
    source = _open(data, ())
    names = source.names
    if len(set(names)) < len(names) or any(not name.strip() or _is_number(name) for name in names):
        # Without a header line, the "names" would be somebody's row: none of them is shown.
        raise expected("data", source.label, "to begin with a header line of names: no numbers, and none twice")
    if not isinstance(source, ArrowRows):
        return dict.fromkeys(names)
    schema = source.parts[0].schema
    return {name: str(schema.field(name).type).partition("<")[0] for name in names}


def _is_number(name: str) -> bool:
    return re.fullmatch(NUMBER, name.strip()) is not None
