"""Tables of the papers: from raw files to columns, what is checked, and what is said where a file is not there."""

from __future__ import annotations

import gzip
import re
import sys
from dataclasses import replace

import datasets
import fetch
import numpy as np
import pyarrow.parquet as pq
import pytest

BY_NAME = {dataset.name: dataset for dataset in fetch.DATASETS}
ADULT = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K"


def run(arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fetch.py", *map(str, arguments)])
    fetch.main()


def test_every_table_names_its_home_licence_and_citation(monkeypatch, capsys):
    run(["--list"], monkeypatch)
    printed = capsys.readouterr().out
    assert len(BY_NAME) == 12
    for dataset in fetch.DATASETS:
        assert f"{dataset.name}: " in printed
        assert dataset.licence
        assert re.search(r"\d{4}", dataset.citation)
        assert all(raw.url.startswith(("https://", "http://lib.stat.cmu.edu")) for raw in dataset.raws)
        assert all(raw.sha256 is None or re.fullmatch("[0-9a-f]{64}", raw.sha256) for raw in dataset.raws)


@pytest.mark.parametrize(
    ("convert", "raws", "wanted"),
    [
        (
            datasets.adult,
            {"adult.data": f"{ADULT}\n\n", "adult.test": f"|1x3 Cross validator\n{ADULT}.\n"},
            {"age": [39, 39], "occupation": [None, None], "income": ["<=50K", "<=50K"], "split": ["train", "test"]},
        ),
        (
            datasets.abalone,
            {"abalone.data": "M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n"},
            {"sex": ["M"], "shell_weight": [0.15], "rings": [15]},
        ),
        (
            datasets.wine,
            {
                f"winequality-{c}.csv": '"a";"b"\n7.4;0.7;0;1.9;0.076;11;34;0.9978;3.51;0.56;9.4;5\n'
                for c in ("red", "white")
            },
            {"ph": [3.51, 3.51], "quality": [5, 5], "color": ["red", "white"]},
        ),
        (
            datasets.banknote,
            {"data_banknote_authentication.txt": "3.6216,8.6661,-2.8073,-0.44699,0\n"},
            {"variance": [3.6216], "class": [0]},
        ),
        (datasets.vertebral, {"column_2C.dat": "63.03 22.55 39.61 40.48 98.67 -0.25 AB\n"}, {"class": ["AB"]}),
        (
            datasets.naval,
            {"data.txt": "   " + "  ".join(f"{i}.5e+00" for i in range(1, 19)) + "\n"},
            {"lever_position": [1.5], "gt_turbine_decay": [18.5]},
        ),
        (
            datasets.boston,
            {"boston": " The Boston house-price data\n" * 22 + " 0.1 2 3 0 5 6 7 8 9 10 11\n 12 13 14\n"},
            {"crim": [0.1], "chas": [0], "medv": [14.0]},
        ),
        (
            datasets.kin8nm,
            {"kin8nm.arff": "@RELATION kin8nm\n@ATTRIBUTE theta1 REAL\n@DATA\n-1,2,3,4,5,6,7,8,0.5\n"},
            {"theta1": [-1.0], "y": [0.5]},
        ),
        (
            datasets.cirrhosis,
            {"x20.txt": "# x20.txt\n 7 columns\n46 rows\n 1  1 44 33.2  5  30 41.2\n 2  1 43 33.8 4 41 31.7\n"},
            {"index": [1, 2], "wine_per_capita": [5.0, 4.0], "cirrhosis_death_rate": [41.2, 31.7]},
        ),
        (datasets.kosarak, {"kosarak-5-25.txt": "1 2 3\n7\n"}, {"items": [[1, 2, 3], [7]]}),
    ],
)
def test_raw_files_become_columns(convert, raws, wanted):
    found = convert({name: text.encode() for name, text in raws.items()})
    assert {name: found[name] for name in wanted} == wanted
    assert len({len(column) for column in found.values()}) == 1


def test_digits_are_picked_by_their_label():
    labels, images = np.array([3, 5, 8], np.uint8), np.arange(3 * 784, dtype=np.int64).astype(np.uint8)
    raws = {}
    for part in ("train", "t10k"):
        raws[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(bytes(8) + labels.tobytes())
        raws[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(bytes(16) + images.tobytes())
    found = datasets.mnist(raws)
    assert found["label"] == [3, 8, 3, 8]
    assert found["source_index"] == [0, 2, 60_000, 60_002]
    assert found["pixels"][1] == images.reshape(3, 784)[2].tolist()


def test_another_file_and_another_table_are_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "adult.data").write_text(ADULT)
    with pytest.raises(SystemExit, match="1 of 1 tables are not there"):
        run(["--only", "adult", "--raw", tmp_path, "--offline", "--data", tmp_path / "out"], monkeypatch)
    assert "Expected adult.data to have the SHA-256" in capsys.readouterr().out
    (tmp_path / "data_banknote_authentication.txt").write_text("3.6216,8.6661,-2.8073,-0.44699,0\n")
    with pytest.raises(SystemExit):
        run(["--only", "banknote", "--raw", tmp_path, "--offline", "--data", tmp_path / "out"], monkeypatch)
    assert "Expected the table to have the digest" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
    known = datasets.digest_of(BY_NAME["banknote"].convert({"data_banknote_authentication.txt": b"1,2,3,4,1\n"}))
    made = replace(BY_NAME["banknote"], digest=known)
    (tmp_path / "data_banknote_authentication.txt").write_text("1,2,3,4,1\n")
    assert "1 rows" in fetch.fetch(made, tmp_path / "out", tmp_path, offline=True)
    assert pq.read_table(tmp_path / "out" / "banknote.parquet").to_pydict()["class"] == [1]


def test_without_a_network_it_says_what_to_do(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(["--only", "kin8nm", "--offline", "--data", tmp_path], monkeypatch)
    printed = capsys.readouterr().out
    assert "NOT FETCHED: kin8nm: kin8nm.arff is not at hand" in printed
    assert "give its folder as --raw" in printed
    with pytest.raises(SystemExit, match="Expected --only to be some of adult"):
        run(["--only", "iris", "--data", tmp_path], monkeypatch)


def test_a_package_that_ships_the_table_is_taken_before_its_home(tmp_path, monkeypatch, capsys):
    """Planted: the package's file with another age has another digest, and is refused."""
    line = "93705.0\t66.0\tFemale\tDivorced\tSome college or AA degree\t5.397605346934028e-79\tBorderline\n"
    names = "SEQN\tAgeInYearsAtScreening\tGender\tMaritalStatus\tEducationLevelAdults20"
    text = f"{names}\tRatioOfFamilyIncomeToPoverty\tDoctorToldYouHaveDiabetes\n{line}"
    package = tmp_path / "shipping"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "people.tsv").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    raw = datasets.Raw("people.tsv", "", package="shipping:people.tsv")
    columns = datasets.nhanes_packaged({"people.tsv": text.encode()})
    assert {k: v[0] for k, v in columns.items()} == {
        "seqn": 93705,
        "age_years": 66,
        "gender": "Female",
        "marital_status": "Divorced",
        "education_adults20": "Some college or AA degree",
        "income_poverty_ratio": 0.0,
        "doctor_told_diabetes": "borderline",
    }
    packaged = datasets.Packaged(raw, datasets.nhanes_packaged, datasets.digest_of(columns))
    own = replace(BY_NAME["nhanes_2017_2018_extract"], packaged=packaged)
    monkeypatch.setattr(fetch, "DATASETS", (own,))
    run(["--data", tmp_path / "data", "--offline"], monkeypatch)
    assert "1 rows from the package shipping" in capsys.readouterr().out
    (package / "people.tsv").write_text(text.replace("66.0", "67.0"), "utf-8")
    with pytest.raises(SystemExit):
        run(["--data", tmp_path / "data", "--offline"], monkeypatch)
    assert "NOT FETCHED: nhanes_2017_2018_extract: Expected the table to have the digest" in capsys.readouterr().out
