"""Tables of DuckDB: one in a database file, or one that a connection has opened.

A relation of DuckDB may be any query. Only a base table is taken: a filter, a join, a group-by or a view, which may
hide one, would make the number of rows or whose they are depend on data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.errors import InputError, expected
from tacit.sources.arrow_rows import ArrowRows, FilePart, Part, one_part
from tacit.sources.base import label_of

SUFFIXES = (".duckdb", ".ddb")


@dataclass(frozen=True)
class RelationPart(Part):
    """The rows of a table that an open connection holds."""

    relation: Any

    def rows(self) -> int:
        """As the database counts them."""
        return int(self.relation.aggregate("count(*)").fetchall()[0][0])

    def read(self, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Streamed; other ways to Arrow hold the whole result in memory."""
        yield from _streamed(self.relation, columns, batch_rows)


@dataclass(frozen=True)
class DatabasePart(FilePart):
    """The rows of one table of a database file, which is opened for reading only."""

    table: str

    def rows(self) -> int:
        """As the database counts them."""
        with _connect(self.path) as connection:
            return int(connection.table(_quoted(self.table)).aggregate("count(*)").fetchall()[0][0])

    def read(self, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Streamed."""
        with _connect(self.path) as connection:
            yield from _streamed(connection.table(_quoted(self.table)), columns, batch_rows)


def open_relation(relation: Any) -> ArrowRows:
    """The rows of ``connection.table(name)``."""
    if str(relation.type) != "TABLE_RELATION":
        raise expected(
            "data",
            "the DuckDB relation",
            "to be connection.table(NAME) of a base table: a query or a view may filter, join or group, which would "
            "make n or the unit of privacy depend on the data",
        )
    schema: Any = None
    with suppress(Exception):
        schema = _streamed_schema(relation)
    if schema is None:  # raised out here: see `unbroken`
        raise expected("data", "the DuckDB relation", "to be a table that can be read")
    return one_part(RelationPart("the DuckDB table", schema, relation))


def open_database(path: Path, table: str | None) -> ArrowRows:
    """The rows of ``table`` of the database at ``path``; its name may be left out where there is only one."""
    label = label_of(path)
    if find_spec("duckdb") is None:
        raise expected("data", label, "to come with the package duckdb to read it: pip install duckdb")
    tables: list[str] | None = None
    schema: Any = None
    with suppress(Exception), _connect(path) as connection:
        found = "select table_name from information_schema.tables where table_type = 'BASE TABLE' order by 1"
        tables = [name for (name,) in connection.sql(found).fetchall()]
        if table is None and len(tables) == 1:
            table = tables[0]
        if table in tables:
            schema = _streamed_schema(connection.table(_quoted(table)))
    if tables is None:  # raised out here: see `unbroken`
        raise expected("data", label, "to be a DuckDB database that no other process is writing")
    if table is None:
        raise InputError(f"Expected data to name one of the {len(tables)} tables, as in FILE.duckdb::TABLE.")
    if schema is None:
        raise expected("table", table, f"to be a base table of {label}, not a view, which may filter or join")
    return one_part(DatabasePart(label, schema, path, table))


def _connect(path: Path) -> Any:
    import duckdb

    return duckdb.connect(str(path), read_only=True)


def _streamed(relation: Any, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
    yield from relation.select(*columns).to_arrow_reader(batch_rows)


def _streamed_schema(relation: Any) -> pa.Schema:
    return relation.limit(0).to_arrow_table().schema


def _quoted(table: str) -> str:
    return '"' + table.replace('"', '""') + '"'
