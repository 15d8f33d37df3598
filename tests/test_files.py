"""An output never lands on what is read."""

from __future__ import annotations

import pytest

import tacit
from tacit.files import check_apart


@pytest.mark.parametrize(
    ("output", "data"),
    [
        ("rows.csv", "rows.csv"),
        ("data/x.csv", "data"),
        ("data/sub/y.parquet", "data"),
        ("data/x.csv", "data/*.csv"),
        ("data/sub/y.parquet", "data/*"),
        ("shop.duckdb", "shop.duckdb::orders"),
    ],
)
def test_data_of_any_kind_is_not_written_over(output, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "sub").mkdir(parents=True)
    for name in ("rows.csv", "data/x.csv", "data/sub/y.parquet", "shop.duckdb"):
        (tmp_path / name).touch()
    with pytest.raises(tacit.InputError, match="not to be the data or part of it"):
        check_apart(output, "output", data=data)
    check_apart("release.json", "output", data=data)
    check_apart("data/release.json", "output", data=data)
    check_apart("other/x.csv", "output", data=data)
