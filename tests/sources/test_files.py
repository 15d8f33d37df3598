"""Tables in many files, in folders that are columns, and in DuckDB: what is read, and what is refused before."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InputError
from tacit.schema import Schema
from tacit.sources import csv_file
from tacit.sources.open import open_source

SCHEMA = Schema(age=(0, 100), region=["north", "south", "west"])
COLUMNS = ("age", "region")


def cells(source, columns=COLUMNS, schema=SCHEMA, batch_rows=1000):
    """All parsed cells, column by column."""
    found = {name: [] for name in columns}
    for batch in source.batches(schema, columns, batch_rows):
        assert 0 < batch.rows <= batch_rows
        for name in columns:
            found[name] += batch.columns[name].tolist()
    return found


def opened(data, columns=COLUMNS, schema=SCHEMA):
    return open_source(data, columns, schema)


def refusal(data, columns=COLUMNS, schema=SCHEMA):
    with pytest.raises(InputError) as caught:
        opened(data, columns, schema)
    assert caught.value.__context__ is None
    return str(caught.value)


def rows(first, count):
    regions = ["north", "south", "west", None]
    numbers = range(first, first + count)
    return pa.table({"age": [float(i % 100) for i in numbers], "region": [regions[i % 4] for i in numbers]})


WRITERS = {
    ".parquet": lambda table, path: pq.write_table(table, path, row_group_size=7),
    ".arrow": lambda table, path: feather.write_feather(table, str(path), chunksize=7),
    ".feather": lambda table, path: feather.write_feather(table, str(path), compression="zstd"),
    ".csv": lambda table, path: table.to_pandas().to_csv(path, index=False),
    ".tsv": lambda table, path: table.to_pandas().to_csv(path, index=False, sep="\t"),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_one_table_in_many_files(tmp_path, suffix):
    """A folder, a folder of folders, a pattern and a list are the same rows in the order of names."""
    (tmp_path / "more").mkdir()
    paths = [tmp_path / f"{i}{suffix}" for i in range(3)] + [tmp_path / "more" / f"3{suffix}"]
    for i, path in enumerate(paths):
        WRITERS[suffix](rows(20 * i, 20), path)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "readme.md").write_text("not data")
    whole = cells(opened(rows(0, 80)))
    assert cells(opened(tmp_path)) == whole
    assert cells(opened(str(tmp_path))) == whole
    assert cells(opened(paths)) == whole
    most = cells(opened(rows(0, 60)))
    assert cells(opened(tmp_path / f"*{suffix}")) == most
    assert cells(opened(f"{tmp_path}/[0-2]{suffix}")) == most
    assert cells(opened(f"{tmp_path}/mor*")) == cells(opened(rows(60, 20)))
    assert "files of one kind" in refusal(f"{tmp_path}/*"), "a pattern means all that it matches"


@pytest.mark.parametrize("suffix", WRITERS)
def test_pieces_are_the_rows_in_order_and_can_be_sent(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(csv_file, "_PIECE_BYTES", 64)
    for i in range(3):
        WRITERS[suffix](rows(50 * i, 50), tmp_path / f"{i}{suffix}")
    source = opened(tmp_path)
    assert source.portable
    assert source.rows(COLUMNS) in (150, None)
    pieces = source.pieces(COLUMNS, 10)
    assert len(pieces) >= 3
    pieces = pickle.loads(pickle.dumps(pieces))
    assert all(piece.reachable() for piece in pieces)
    joined = {name: [cell for piece in pieces for cell in cells(piece)[name]] for name in COLUMNS}
    assert joined == cells(source) == cells(opened(rows(0, 150)))
    (tmp_path / f"0{suffix}").unlink()
    assert not pieces[0].reachable()


@given(
    lines=st.lists(st.text(st.sampled_from('1,"\r x'), max_size=9), min_size=1, max_size=12),
    piece=st.integers(1, 30),
    ended=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_csv_file_can_be_cut_anywhere(tmp_path_factory, lines, piece, ended):
    """Fresh entropy. Quotes, returns and cuts in the middle of anything: each line is in exactly one piece."""
    path = tmp_path_factory.mktemp("cut") / "d.csv"
    path.write_bytes(("age,region\n" + "\n".join(lines) + ("\n" if ended else "")).encode())
    source = opened(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "_PIECE_BYTES", piece)
        patch.setattr(csv_file, "_BLOCK_BYTES", 5)
        pieces = source.pieces(COLUMNS, 1)
        joined = {name: [cell for one in pieces for cell in cells(one)[name]] for name in COLUMNS}
    assert joined == cells(source)


def test_what_is_added_to_a_csv_file_later_is_not_read_and_what_is_cut_off_is_missed(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("age,region\n1,north\n2,south\n")
    source = opened(path)
    path.write_text(path.read_text() + "3,west\n")
    assert cells(source)["age"] == [1, 2]
    path.write_text("age,region\n1,north\n")
    with pytest.raises(InputError, match="to be readable to its end"):
        cells(source)


# ---------------------------------------------------------------------------------------------------------------------
# Folders that are columns


def partitioned(tmp_path):
    for value, count in (("north", 3), ("south", 2), ("so%2Futh", 1), ("__HIVE_DEFAULT_PARTITION__", 1)):
        folder = tmp_path / f"region={value}"
        folder.mkdir()
        pq.write_table(pa.table({"age": [float(count)] * count}), folder / "0.parquet")
    return tmp_path


def test_the_name_of_a_folder_is_a_cell(tmp_path):
    source = opened(partitioned(tmp_path))
    found = cells(source)
    regions = dict(zip(found["age"], found["region"], strict=True))
    assert found["age"].count(3.0) == 3
    assert (regions[3.0], regions[2.0]) == (0, 1)
    assert found["region"].count(0) == 5, "unknown and missing ones count as the first level"
    assert cells(opened(tmp_path / "region=*")) == found
    assert cells(opened(tmp_path / "region=north", ["age"]), ["age"]) == {"age": [3.0] * 3}
    levels = Schema(age=(0, 100), region=["?", "so/uth"])
    assert sorted(cells(opened(tmp_path, schema=levels), schema=levels)["region"]) == [0] * 6 + [1]
    again = {name: [cell for piece in source.pieces(COLUMNS, 1) for cell in cells(piece)[name]] for name in COLUMNS}
    assert again == found


def test_arrow_s_own_partitions_are_refused_and_its_files_are_the_same_rows(tmp_path):
    """A dataset with partitions, whole and fragment by fragment. Only the files' own columns can be asked for."""
    table = rows(0, 40).drop_columns(["region"]).append_column("region", pa.array(["north", "south"] * 20))
    ds.write_dataset(
        table,
        tmp_path / "d",
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("region", pa.string())]), flavor="hive"),
    )
    dataset = ds.dataset(tmp_path / "d", partitioning="hive")
    assert "not in the names of its folders" in refusal(dataset)
    folder, given = cells(opened(tmp_path / "d", ["age"]), ["age"]), opened(dataset, ["age"])
    assert cells(given, ["age"]) == folder
    pieces = pickle.loads(pickle.dumps(given.pieces(["age"], 1)))
    assert len(pieces) == 2
    assert {"age": [c for piece in pieces for c in cells(piece, ["age"])["age"]]} == folder
    assert given.portable
    assert not opened(ds.dataset(table)).portable


def test_no_message_shows_the_value_in_a_folder_s_name(tmp_path):
    folder = tmp_path / "region=canary"
    folder.mkdir()
    (folder / "0.parquet").write_bytes(b"PAR1 canary PAR1")
    message = refusal(tmp_path)
    assert "region=*/0.parquet" in message.replace("\\", "/")
    assert "canary" not in message
    pq.write_table(pa.table({"age": [1.0], "region": ["north"]}), folder / "0.parquet")
    message = refusal(tmp_path)
    assert "to appear once" in message
    assert "canary" not in message
    csv = tmp_path / "csv" / "region=canary"
    csv.mkdir(parents=True)
    (csv / "0.csv").write_text("age\n1\n")
    assert "canary" not in refusal(tmp_path / "csv")


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


def test_folders_and_patterns_that_are_no_table(tmp_path):
    assert "to match at least one" in refusal(tmp_path / "*.parquet")
    WRITERS[".csv"](rows(0, 3), tmp_path / "0.csv")
    WRITERS[".parquet"](rows(0, 3), tmp_path / "1.parquet")
    assert "files of one kind" in refusal(tmp_path)
    assert "to name every file once" in refusal([tmp_path / "0.csv", tmp_path / "." / "0.csv"])
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    WRITERS[".parquet"](rows(0, 3), tmp_path / "delta" / "0.parquet")
    assert "Delta" in refusal(tmp_path / "delta")


def test_a_type_that_changes_in_a_later_file(tmp_path):
    """Another scalar type is parsed by its own rules; one that holds no scalar is refused, by its file's name."""
    for i in range(1000):
        pq.write_table(pa.table({"age": [float(i % 100)], "region": ["north"]}), tmp_path / f"{i:04}.parquet")
    whole = cells(opened(tmp_path))
    pq.write_table(pa.table({"age": ["99"], "region": ["north"]}), tmp_path / "0999.parquet")
    assert cells(opened(tmp_path)) == whole
    pq.write_table(pa.table({"age": [[99.0]], "region": ["north"]}), tmp_path / "0999.parquet")
    assert "0999.parquet" in refusal(tmp_path)
    pq.write_table(pa.table({"age": [99.0]}), tmp_path / "0999.parquet")
    assert "0999.parquet" in refusal(tmp_path)


@pytest.mark.parametrize("change", ["type", "rows", "groups", "cut"])
def test_a_parquet_file_that_changes_after_it_was_opened(tmp_path, change):
    path = tmp_path / "d.parquet"
    pq.write_table(rows(0, 100), path, row_group_size=50)
    source = opened(path)
    later = {
        "type": lambda: pq.write_table(
            rows(0, 100).cast(pa.schema([("age", "int8"), ("region", "string")])), path, row_group_size=50
        ),
        "rows": lambda: pq.write_table(rows(0, 99), path, row_group_size=50),
        "groups": lambda: pq.write_table(rows(0, 100), path),
        "cut": lambda: path.write_bytes(path.read_bytes()[:-200]),
    }
    later[change]()
    with pytest.raises(InputError, match=r"d\.parquet' to be readable to its end"):
        cells(source)


def test_a_truncated_file_of_many_is_refused_before_anything_is_read(tmp_path):
    for i in range(5):
        pq.write_table(rows(0, 100), tmp_path / f"{i}.parquet")
    path = tmp_path / "3.parquet"
    path.write_bytes(path.read_bytes()[:-10])
    assert "3.parquet' to be a Parquet file" in refusal(tmp_path)


# ---------------------------------------------------------------------------------------------------------------------
# DuckDB and polars


@pytest.fixture
def database(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        table = rows(0, 5000)
        connection.register("given", table)
        connection.execute("create table people as select age, region from given")
        connection.execute("create view adults as select * from people where age > 17")
    return path


def test_a_table_of_duckdb(database):
    import duckdb

    whole = cells(opened(rows(0, 5000)))
    for data in (database, f"{database}::people"):
        source = opened(data)
        assert cells(source, batch_rows=700) == whole
        assert source.rows(COLUMNS) == 5000
        assert cells(pickle.loads(pickle.dumps(source))) == whole
    with duckdb.connect(str(database), read_only=True) as connection:
        source = opened(connection.table("people"))
        assert cells(source, batch_rows=700) == whole
        assert source.rows(COLUMNS) == 5000
        assert not source.portable
        for query in (
            connection.sql("select * from people"),
            connection.view("adults"),
            connection.table("adults"),
            connection.table("people").filter("age > 17"),
            connection.table("people").limit(3),
            connection.table("people").aggregate("max(age) as age, region"),
        ):
            assert "would make n or the unit of privacy depend on the data" in refusal(query)


def test_databases_that_are_refused(database, tmp_path):
    import duckdb

    assert "not a view" in refusal(f"{database}::adults")
    assert "not a view" in refusal(f"{database}::absent")
    assert "to exist" in refusal(tmp_path / "absent.duckdb")
    other = tmp_path / "other.duckdb"
    other.write_bytes(b"canary" * 1000)
    assert "to be a DuckDB database" in refusal(other)
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table more (age int, region text)")
    assert "FILE.duckdb::TABLE" in refusal(database)
    assert opened(f"{database}::more").has_no_rows(COLUMNS)


def test_types_of_duckdb(tmp_path):
    """Booleans, dates, decimals and enums come with their types."""
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "d.ddb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create type colour as enum ('red', 'green')")
        connection.execute("create table t (b boolean, d date, m decimal(10, 2), c colour, h hugeint)")
        connection.execute(
            "insert into t values (true, '1970-01-03', 1.25, 'green', 7), (null, null, null, null, null)"
        )
    schema = Schema(b={"levels": [False, True]}, d=(0, 10), m=(0, 10), c=["red", "green"], h=(0, 10))
    found = cells(opened(path, tuple(schema), schema), tuple(schema), schema)
    assert found == {"b": [1, 0], "d": [2.0, 5.0], "m": [1.25, 5.0], "c": [1, 0], "h": [7.0, 5.0]}


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(rows(0, 100))
    assert cells(opened(frame)) == cells(opened(rows(0, 100)))
    assert "depend on the data" in refusal(frame.lazy())
    assert "depend on the data" in refusal(ds.dataset(rows(0, 3)).scanner())


def test_memory_is_bounded_by_the_batch_and_not_by_the_row_group(tmp_path):
    """2^21 rows in one row group of 32 MiB a column: what Arrow holds at its peak stays below one column."""
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"x": np.arange(2**21, dtype=float), "y": np.ones(2**21)}), path, row_group_size=2**21)
    pool = pa.default_memory_pool()
    source = open_source(path, ("x", "y"), Schema(x=(0, 1), y=(0, 1)))
    before = pool.bytes_allocated()
    highest = max(
        pool.bytes_allocated() - before for _ in source.batches(Schema(x=(0, 1), y=(0, 1)), ("x", "y"), 2**14)
    )
    assert highest < 2**22
    assert Path(path).stat().st_size > 2**22
