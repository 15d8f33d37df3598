"""DuckDB: files, several schemas, views of the same name, and columns whose names are SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import text_media
from .check import Changing
from .tables import Table, arrow_table, whole

# Lists and sums that a column's name might be taken for, if it were run: how long `l` is depends on a row.
_DECOYS = {"x": "length(cells)", "l": "range(length(cells))"}


def _create(connection: Any, name: str, table: Table) -> None:
    rows = arrow_table(table)  # noqa: F841 (DuckDB finds it by its name)
    columns = []
    for column, kind in table.kinds.items():
        quoted = _quoted(column)
        columns.append(f"cast({quoted} as hugeint) as {quoted}" if kind == "huge" else quoted)
    everything = " || ".join(f"coalesce(cast({_quoted(column)} as varchar), '')" for column in table.names)
    taken = {column.lower() for column in table.names}
    decoys = [
        f"{sql.replace('cells', everything)} as {column}" for column, sql in _DECOYS.items() if column not in taken
    ]
    connection.execute(f"create table {name} as select {', '.join([*columns, *decoys])} from rows")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _database(folder: Path) -> tuple[Path, Any]:
    import duckdb

    path = folder / "rows.duckdb"
    return path, duckdb.connect(str(path), config={"threads": 1})


def file(table: Table, folder: Path) -> str:
    path, connection = _database(folder)
    with connection:
        _create(connection, "people", table)
    return f"{path}::people"


def schemas(table: Table, folder: Path) -> str:
    """The table is the only base table of its name; a view elsewhere has every row as often as a cell is long."""
    path, connection = _database(folder)
    with connection:
        connection.execute(
            "create schema raw; create schema aaa; create schema zzz; create table zzz.others as select 1 as x"
        )
        _create(connection, "raw.people", table)
        name = _quoted(table.names[0])
        view = f"select p.* from raw.people p, range(1 + length(coalesce(cast(p.{name} as varchar), 'none')) % 3)"
        connection.execute(f"create view main.people as {view}")
        connection.execute(f"create view aaa.people as {view} where p.{name} is not null")
    return f"{path}::people"


def shadowed(table: Table, folder: Path) -> str:
    """The same, named with its schema."""
    return schemas(table, folder).replace("::people", "::raw.people")


def connection(table: Table, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    _create(connection, "people", table)
    return connection.table("people")


def changing(table: Table, folder: Path) -> Changing:
    """A table that gets a row more before it is read."""
    data = file(table, folder)

    def change() -> None:
        with _database(folder)[1] as connection:
            connection.execute("insert into people (select * from people limit 1)")

    return Changing(data, change)


def read_csv(table: Table, folder: Path) -> str:
    """Types guessed, but for dates and booleans, in which `inf`, `no` and `t` are lost: see `read_csv_declared`."""
    path, connection = _database(folder)
    candidates = "['BIGINT', 'DOUBLE', 'VARCHAR']"
    with connection:
        source = f"read_csv('{text_media.csv(table, folder)}', header = true, auto_type_candidates = {candidates})"
        connection.execute(f"create table people as select * from {source}")
        whole(connection.execute("select 1 from people").fetchall(), table)
    return f"{path}::people"


_DECLARED = {"int": "bigint", "float": "double", "bool": "boolean", "date": "date", "stamp": "timestamp"}


def declared(connection: Any, table: Table, path: Path) -> str:
    """A query for the rows of a text file, where every column has the type that it was drawn with, cell by cell."""
    names = ", ".join(f"'column{i}': 'VARCHAR'" for i in range(len(table.names)))
    source = f"read_csv('{path}', header = true, columns = {{{names}}}, auto_detect = false, quote = '\"')"
    connection.execute(f"create temp table cells as select * from {source}")  # cast on the way in, one stops all
    types = [_DECLARED.get(kind.removeprefix("read as "), "varchar") for kind in table.kinds.values()]
    columns = zip(table.names, types, strict=True)
    wanted = [f"try_cast(column{i} as {kind}) as {_quoted(name)}" for i, (name, kind) in enumerate(columns)]
    return f"select {', '.join(wanted)} from cells"


def guessed(connection: Any, table: Table, path: Path) -> str:
    """The same with the types that DuckDB finds best for all cells of a column: a mistake of whoever loads the file."""
    return f"select * from read_csv('{path}', header = true)"


def read_csv_declared(table: Table, folder: Path) -> str:
    """Types that somebody wrote down beforehand."""
    path, connection = _database(folder)
    with connection:
        connection.execute(f"create table people as {declared(connection, table, text_media.csv(table, folder))}")
        whole(connection.execute("select 1 from people").fetchall(), table)
    return f"{path}::people"


def parquet_declared(table: Table, folder: Path) -> Path:
    """The same, written to Parquet."""
    import duckdb

    path = folder / "rows.parquet"
    with duckdb.connect(config={"threads": 1}) as connection:
        query = declared(connection, table, text_media.csv(table, folder))
        connection.execute(f"copy ({query}) to '{path}' (format parquet)")
        whole(connection.execute(f"select 1 from '{path}'").fetchall(), table)
    return path
