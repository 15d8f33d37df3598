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
from bernstein2019_predictive import conjugate

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
    is there and made of shares is tested. Naive, the planted fault, must be far from the exact posterior. A second run
    finds the cells of the first.
    """
    out = tmp_path / "out"
    arguments = ["--quick", "--trials", 12, "--methods", "naive,non-private", "--out", out, "--data", cirrhosis]
    run_script("bernstein2019.py", arguments, monkeypatch)
    for name in ("figure3", "figure4"):
        assert ElementTree.parse(out / f"bernstein2019-{name}.svg").getroot().tag.endswith("svg")
    rows = [json.loads(line) for line in (out / "bernstein2019.jsonl").read_text().splitlines()]
    by_method = {r["found"]["method"]: r["found"] for r in rows if r["function"] == "measure"}
    assert by_method["naive"]["mmd"] > 0.5
    assert max(by_method["naive"]["ks"].values()) > max(by_method["non-private"]["ks"].values())
    assert len(by_method["naive"]["quantiles"]["sigma"]) == 12
    shares = [v for r in rows if r["function"] == "predictive" for v in r["found"]["coverage"].values()]
    assert shares
    assert all(0 <= share <= 1 for share in shares)
    printed = capsys.readouterr().out
    assert re.search(r"Outside \[-1, 1\] under the paper's prior: 0\.\d+% of x, 3[0-9]\.\d+% of y", printed)
    assert "Where this differs from the paper, and why" in printed
    assert re.search(r"paper    .*\n  here     .*\n  verdict  ", printed)
    run_script("bernstein2019.py", arguments, monkeypatch)
    assert len((out / "bernstein2019.jsonl").read_text().splitlines()) == len(rows)


def test_the_conjugate_posterior_of_figure_4():
    """Seed 3: means of 20,000 draws of theta against the normal equations and of 1/sigma^2 against its gamma mean,
    within 5 standard errors (false alarms below 1e-5). Without the prior, the planted fault, theta is off by more.
    """
    rng = np.random.default_rng(3)
    x = rng.random(36)
    y = 0.2 + 0.5 * x + 0.1 * rng.standard_normal(36)
    drawn = conjugate(x, y, 20_000, rng)
    design = np.column_stack([np.ones(36), x])
    after = design.T @ design + 0.25 * np.eye(2)
    mean = np.linalg.solve(after, np.array([0.0, 0.25]) + design.T @ y)
    error = drawn["theta"].std(axis=0) / np.sqrt(20_000)
    assert np.all(np.abs(drawn["theta"].mean(axis=0) - mean) < 5 * error)
    plain = np.linalg.lstsq(design, y, rcond=None)[0]
    assert np.any(np.abs(drawn["theta"].mean(axis=0) - plain) > 5 * error)
    rate = 0.5 + (y @ y + 0.25 - mean @ after @ mean) / 2
    precision = drawn["sigma"] ** -2
    assert abs(precision.mean() - 38 / rate) < 5 * precision.std() / np.sqrt(20_000)


def test_bernstein2019_says_what_is_missing(tmp_path, monkeypatch, capsys):
    arguments = ["--quick", "--figures", "4", "--methods", "naive", "--out", tmp_path / "out", "--data", tmp_path]
    run_script("bernstein2019.py", arguments, monkeypatch)
    printed = capsys.readouterr().out
    assert "SKIPPED: Figure 4 is left out" in printed
    assert "does not hold cirrhosis_x20.parquet" in printed
    assert not list((tmp_path / "out").glob("*.svg"))


def test_bernstein2019_refuses_a_method_that_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="Expected --methods to be some of non-private, naive"):
        run_script("bernstein2019.py", ["--out", tmp_path, "--methods", "naïve"], monkeypatch)
