"""A file's rows count once, however many names the file has, and old rows of a table with a log never do."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import tacit
from tacit.errors import InputError
from tacit.schema import Schema
from tacit.sources.open import open_source

SCHEMA = Schema(age=(0, 100), region=["north", "south"])


def write(path, *ages):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"age": [float(age) for age in ages]}), path)
    return path


@pytest.fixture
def folder(tmp_path):
    """Four rows in two files."""
    write(tmp_path / "rows" / "01.parquet", 1, 2)
    write(tmp_path / "rows" / "02.parquet", 3, 4)
    return tmp_path / "rows"


def ages(data):
    source = open_source(data, ["age"], SCHEMA)
    found = [float(age) for batch in source.batches(SCHEMA, ["age"], 10) for age in batch.columns["age"]]
    assert source.rows(["age"]) in (None, len(found))
    return found


def refusal(data, columns=("age",)):
    with pytest.raises(InputError) as caught:
        open_source(data, columns, SCHEMA)
    return str(caught.value)


LINKS = {
    "a link to a file": lambda f: (f / "latest.parquet").symlink_to("01.parquet"),
    "a link that comes first": lambda f: (f / "00.parquet").symlink_to("02.parquet"),
    "a link to a link": lambda f: [
        (f / "b.parquet").symlink_to("02.parquet"),
        (f / "a.parquet").symlink_to("b.parquet"),
    ],
    "a hard link": lambda f: os.link(f / "01.parquet", f / "copy.parquet"),
    "a hard link below": lambda f: [(f / "more").mkdir(), os.link(f / "01.parquet", f / "more" / "01.parquet")],
    "a loop": lambda f: (f / "current").symlink_to("."),
    "a loop over a level": lambda f: [(f / "more").mkdir(), (f / "more" / "up").symlink_to("..")],
    "two loops": lambda f: [(f / "a").symlink_to("."), (f / "b").symlink_to("a")],
    "a loop by its whole path": lambda f: (f / "whole").symlink_to(f),
}


@pytest.mark.parametrize("link", LINKS)
def test_a_file_counts_once_in_a_folder_and_in_a_pattern(folder, link):
    """Before, `latest.parquet` doubled a file and `current` made 41 tables of one."""
    LINKS[link](folder)
    assert ages(folder) == [1, 2, 3, 4]
    assert ages(f"{folder}/*") == [1, 2, 3, 4]
    assert ages(f"{folder.parent}/*/*.parquet") == [1, 2, 3, 4]
    assert ages(folder.parent) == [1, 2, 3, 4]


@pytest.mark.parametrize("suffix", [".csv", ".arrow"])
def test_other_kinds_of_files_too(tmp_path, suffix):
    path = tmp_path / "rows" / f"1{suffix}"
    path.parent.mkdir()
    if suffix == ".csv":
        path.write_text("age,region\n1,north\n2,north\n")
    else:
        feather.write_feather(pa.table({"age": [1.0, 2.0]}), path, compression="uncompressed")
    (path.parent / f"2{suffix}").symlink_to(path)
    os.link(path, path.parent / f"3{suffix}")
    assert ages(path.parent) == ages(f"{path.parent}/*{suffix}") == ages(path) == [1, 2]


def test_a_list_that_names_a_file_twice_is_refused(folder):
    (folder / "link.parquet").symlink_to("01.parquet")
    os.link(folder / "01.parquet", folder / "hard.parquet")
    first = folder / "01.parquet"
    for other in (first, folder / "link.parquet", folder / "hard.parquet", folder, folder / "../rows/01.parquet"):
        assert "to name every file once" in refusal([first, other])
    assert ages([first, folder / "02.parquet"]) == [1, 2, 3, 4]
    assert ages([folder]) == [1, 2, 3, 4]


def test_of_several_names_the_file_s_own_says_what_its_folder_is(tmp_path):
    """A link that comes first in the order of names would lose the column that the folder is."""
    write(tmp_path / "region=south" / "0.parquet", 1)
    (tmp_path / "all").symlink_to("region=south")
    source = open_source(tmp_path, ["age", "region"], SCHEMA)
    (batch,) = source.batches(SCHEMA, ["age", "region"], 10)
    assert batch.columns["region"].tolist() == [1]


def test_links_to_other_places_are_followed(folder, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "there").symlink_to(folder)
    (tmp_path / "here" / "a.parquet").symlink_to(folder / "02.parquet")
    assert sorted(ages(tmp_path / "here")) == [1, 2, 3, 4]
    (tmp_path / "link").symlink_to(folder)
    assert ages(tmp_path / "link") == [1, 2, 3, 4]


def test_what_is_no_file_is_refused_and_waits_for_nothing(folder):
    os.mkfifo(folder / "pipe.parquet")
    assert "to be a regular file" in refusal(folder)
    (folder / "pipe.parquet").unlink()
    (folder / "nowhere.parquet").symlink_to("absent.parquet")
    assert "to be a regular file" in refusal(folder)


def test_datasets_of_arrow(folder, tmp_path):
    first = str(folder / "01.parquet")
    assert ages(ds.dataset(folder)) == [1, 2, 3, 4]
    os.link(first, folder / "hard.parquet")
    (folder / "link.parquet").symlink_to("01.parquet")
    local = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    for dataset in (
        ds.dataset([first, first]),
        ds.dataset([first, str(folder / "hard.parquet")]),
        ds.dataset([first, str(folder / "link.parquet")]),
        ds.dataset([ds.dataset(first), ds.dataset(str(folder / "hard.parquet"))]),
        ds.dataset(["01.parquet", "hard.parquet"], filesystem=local),
        ds.dataset(folder),
    ):
        assert "to name every file once" in refusal(dataset)
    write(tmp_path / "delta" / "0.parquet", 1)
    (tmp_path / "delta" / "_delta_log").mkdir()
    assert "a Delta table" in refusal(ds.dataset(tmp_path / "delta"))


def iceberg(folder):
    (folder / "metadata").mkdir()
    (folder / "metadata" / "00000-x.metadata.json").write_text("{}")


TABLES = {
    "a Delta": lambda folder: (folder / "_delta_log").mkdir(),
    "a Hudi": lambda folder: (folder / ".hoodie").mkdir(),
    "an Iceberg": iceberg,
}


@pytest.mark.parametrize("kind", TABLES)
def test_folders_that_hold_old_rows(tmp_path, kind):
    """By the folder, by a pattern, by a list, from above and from below."""
    top = tmp_path / "table"
    write(top / "data" / "region=north" / "0.parquet", 1)
    write(top / "data" / "region=north" / "1.parquet", 1, 2)
    TABLES[kind](top)
    below = top / "data" / "region=north"
    both = [below / "0.parquet", below / "1.parquet"]
    (tmp_path / "link").symlink_to(below)
    for data in (tmp_path, top, top / "data", below, below / "*.parquet", top / "data" / "*", both, tmp_path / "link"):
        message = refusal(data)
        assert f"not {kind} table" in message
        assert "north" not in message or "north" in str(data)


def test_a_footer_by_itself_is_no_table(folder):
    """`_metadata` lists row groups of other files; under another name it would pass for them."""
    collected = []
    table = pq.read_table(folder / "01.parquet")
    pq.write_to_dataset(table, folder.parent / "made", metadata_collector=collected)
    pq.write_metadata(table.schema, folder / "_metadata", collected)
    assert ages(folder) == [1, 2, 3, 4]
    (folder / "_metadata").rename(folder / "metadata.parquet")
    assert "to be a Parquet file that holds its rows" in refusal(folder)


def test_the_release_counts_the_rows_once(folder):
    (folder / "current").symlink_to(".")
    os.link(folder / "01.parquet", folder / "copy.parquet")
    plan = tacit.Plan(tacit.Normal("age"), SCHEMA, tacit.PureDP(1.0))
    assert tacit.privatize(folder, plan, ledger=None).n == 4
