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
    """Types guessed, but for dates, which it takes `inf` for, and booleans, which it takes `no` and `t` for."""
    path, connection = _database(folder)
    candidates = "['BIGINT', 'DOUBLE', 'VARCHAR']"
    with connection:
        source = f"read_csv('{text_media.csv(table, folder)}', header = true, auto_type_candidates = {candidates})"
        connection.execute(f"create table people as select * from {source}")
        whole(connection.execute("select 1 from people").fetchall(), table)
    return f"{path}::people"
