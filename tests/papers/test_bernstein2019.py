"""The scripts for published figures run, say what is missing, and draw what they promise."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PAPERS = Path(__file__).parents[2] / "papers"


def run_script(name, arguments, monkeypatch):
    monkeypatch.setenv("NPROC", "1")  # the script sets it for its own process
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(PAPERS / name), run_name="__main__")


@pytest.fixture
def cirrhosis(tmp_path):
    """A made-up table with the names of the real one. Seed 1."""
    rng = np.random.default_rng(1)
    drink = rng.uniform(2, 30, 46)
    table = {"wine_per_capita": drink, "cirrhosis_death_rate": 30 + 2 * drink + 8 * rng.standard_normal(46)}
    pq.write_table(pa.table(table), tmp_path / "cirrhosis_x20.parquet")
    return tmp_path


def test_bernstein2019_draws_both_figures(cirrhosis, tmp_path, monkeypatch, capsys):
    """Seed 2019 for Figure 3: 12 trials, the two methods that need no chain. Figure 4 draws fresh noise: only that it
    is there and made of shares is tested. Naive, the planted fault, must be far from the exact posterior.
    """
    out = tmp_path / "out"
    arguments = ["--quick", "--trials", 12, "--methods", "naive,non-private", "--out", out, "--data", cirrhosis]
    run_script("bernstein2019.py", arguments, monkeypatch)
    for name in ("figure3", "figure4"):
        assert ElementTree.parse(out / f"{name}.svg").getroot().tag.endswith("svg")
        assert (out / f"{name}.png").stat().st_size > 10_000
    found = json.loads((out / "bernstein2019.json").read_text())
    by_method = {r["method"]: r for r in found["results"] if r["n"] == 10}
    assert by_method["naive"]["mmd"] > 0.5
    assert max(by_method["naive"]["ks"].values()) > max(by_method["non-private"]["ks"].values())
    assert len(by_method["naive"]["quantiles"]["sigma"]) == 12
    assert all(0 <= share <= 1 for r in found["figure 4"] for share in r["coverage"].values())
    printed = capsys.readouterr().out
    assert re.search(r"Outside \[-1, 1\] under the paper's prior: 0\.\d+% of x, 3[0-9]\.\d+% of y", printed)
    assert "Where this differs from the paper, and why" in printed


def test_bernstein2019_says_what_is_missing(tmp_path, monkeypatch, capsys):
    arguments = ["--quick", "--trials", 12, "--methods", "naive", "--out", tmp_path / "out", "--data", tmp_path]
    run_script("bernstein2019.py", arguments, monkeypatch)
    assert "does not hold cirrhosis_x20.parquet" in capsys.readouterr().out
    assert not (tmp_path / "out" / "figure4.png").exists()
    assert (tmp_path / "out" / "figure3.png").exists()


def test_bernstein2019_refuses_a_method_that_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="Expected --methods to be some of non-private, naive"):
        run_script("bernstein2019.py", ["--out", tmp_path, "--methods", "naïve"], monkeypatch)
