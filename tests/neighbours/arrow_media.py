"""Arrow: tables, streams and datasets, and the files with types of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from . import text_media
from .check import Changing
from .tables import Table, arrow_table, whole


def table(table: Table, folder: Path) -> pa.Table:
    return arrow_table(table)


def chunks(table: Table, folder: Path) -> pa.Table:
    """Pieces with dictionaries of their own."""
    return pa.concat_tables([arrow_table(table.part(i, 3)) for i in range(3)])


def slices(table: Table, folder: Path) -> pa.Table:
    """A stretch of a longer table, whose dictionaries, runs and buffers hold more than its rows."""
    rows = len(table.rows)
    longer = Table(table.kinds, (*table.rows[1:], *table.rows, *table.rows[:1]))
    return arrow_table(longer).slice(rows - 1, rows)


def stream(table: Table, folder: Path) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(arrow_table(table).schema, arrow_table(table).to_batches(4))


def batch(table: Table, folder: Path) -> pa.RecordBatch:
    return arrow_table(table).to_batches()[0]


def read_csv(table: Table, folder: Path) -> pa.Table:
    # Else a word such as NA is missing in a column of numbers and a word in one of text.
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    return whole(pyarrow.csv.read_csv(text_media.csv(table, folder), convert_options=options), table)


def read_csv_declared(table: Table, folder: Path) -> pa.Table:
    """Every column as text, as declared."""
    options = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(table.names, pa.string()), strings_can_be_null=True)
    return whole(pyarrow.csv.read_csv(text_media.csv(table, folder), convert_options=options), table)


def parquet(table: Table, folder: Path) -> Path:
    pq.write_table(arrow_table(table), folder / "rows.parquet", row_group_size=4)
    return folder / "rows.parquet"


def parquet_folder(table: Table, folder: Path) -> Path:
    place = folder / "rows"
    (place / "more").mkdir(parents=True)
    for i, name in enumerate(("0.parquet", "1.parquet", "more/2.parquet")):
        pq.write_table(arrow_table(table.part(i, 3)), place / name)
    return place


def parquet_mixed(table: Table, folder: Path) -> Path:
    """The same whole numbers as decimals in one file, as text in another, and as they are in the third."""
    place = folder / "rows"
    place.mkdir()
    for i in range(3):
        part = table.part(i, 3)
        if i == 1:
            fits = all(abs(cell) < 10**31 for row in part.rows for cell in row if cell is not None)
            part = part.stored_as(**dict.fromkeys(part.names, "decimal" if fits else "huge"))
        if i == 2:
            part = Table(
                dict.fromkeys(part.names, "text"),
                tuple(tuple(None if c is None else str(c) for c in row) for row in part.rows),
            )
        pq.write_table(arrow_table(part), place / f"{i}.parquet")
    return place


def parquet_links(table: Table, folder: Path) -> Path:
    """A file under two names, by a symbolic link and by a hard one."""
    place = parquet_folder(table, folder)
    os.symlink("0.parquet", place / "latest.parquet")
    os.link(place / "1.parquet", place / "backup.parquet")
    return place


def parquet_hard_link(table: Table, folder: Path) -> Path:
    place = parquet_folder(table, folder)
    os.link(place / "more" / "2.parquet", place / "2.parquet")
    return place


def parquet_folder_link(table: Table, folder: Path) -> Path:
    place = parquet_folder(table, folder)
    os.symlink(place / "more", place / "newest")
    return place


def parquet_loop(table: Table, folder: Path) -> Path:
    place = parquet_folder(table, folder)
    os.symlink(".", place / "current")
    return place


def parquet_pattern(table: Table, folder: Path) -> str:
    parquet_folder_link(table, folder)
    return str(folder / "rows" / "*")


def parquet_file_pattern(table: Table, folder: Path) -> str:
    place = folder / "rows"
    place.mkdir()
    for i in range(2):
        pq.write_table(arrow_table(table.part(i, 2)), place / f"{i}.parquet")
    os.symlink("0.parquet", place / "latest.parquet")
    return str(place / "*.parquet")


def parquet_list(table: Table, folder: Path) -> list[Path]:
    place = parquet_hard_link(table, folder)
    return [place / "0.parquet", place / "1.parquet", place / "2.parquet", place / "more"]


def feather(table: Table, folder: Path) -> Path:
    import pyarrow.feather

    pyarrow.feather.write_feather(arrow_table(table), str(folder / "rows.feather"), chunksize=5)
    return folder / "rows.feather"


def feather_changing(table: Table, folder: Path) -> Changing:
    """A file in whose place comes another with as many batches and one row less, or more where there is only one."""
    path = feather(table, folder)
    rows = table.rows[:-1] if len(table.rows) % 5 > 1 else (*table.rows, *table.rows[:1])
    return Changing(path, lambda: feather(Table(table.kinds, rows), folder) and None)


def ipc(table: Table, folder: Path) -> Path:
    rows = arrow_table(table)
    with pa.OSFile(str(folder / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows, 3)
    return folder / "rows.arrow"


def hive_folder(table: Table, folder: Path) -> Path | None:
    """Partitioned by the last column, which is then text in the names of folders."""
    return _hive(table, folder)


def hive_dataset(table: Table, folder: Path) -> Any:
    return ds.dataset(_hive(table, folder), partitioning="hive")


def hive_declared(table: Table, folder: Path) -> Any:
    kinds = pa.schema([(table.names[-1], pa.string())])
    return ds.dataset(_hive(table, folder), partitioning=ds.partitioning(kinds, flavor="hive"))


def _hive(table: Table, folder: Path) -> Path | None:
    if not table.rows:  # no folder is written: that files are there is public (docs/unknown-n.md)
        return None
    place = folder / "rows"
    if len(table.names) == 1:  # a file must be left with a column
        table = Table({"beside": "int", **table.kinds}, tuple((0, *row) for row in table.rows))
    pq.write_to_dataset(arrow_table(table), place, partition_cols=[table.names[-1]], basename_template="{i}.parquet")
    return place


def dataset(table: Table, folder: Path) -> Any:
    return ds.dataset(parquet_folder(table, folder))
