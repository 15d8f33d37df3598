"""The script about posterior draws runs, says what is missing, and its figures are there."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]


def run_script(arguments, monkeypatch):
    monkeypatch.setenv("NPROC", "1")  # the script sets it for its own process
    monkeypatch.setattr(sys, "argv", ["geumlek2017.py", *map(str, arguments)])
    runpy.run_path(str(ROOT / "papers" / "geumlek2017.py"), run_name="__main__")


def test_the_figures_about_shares(tmp_path, monkeypatch, capsys):
    """Seed 2017, inside the script: 200 repetitions. What must come out: with a prior that fits (share 1/3) both
    tempered draws beat the bounded likelihood at epsilon 0.01 by far more than their error; with enough epsilon the
    concentrated draws come within 5% of the non-private loss; the weights grow with epsilon, and the exact profile
    allows more than the Renyi curve, which allows more than one order.
    """
    run_script(["--quick", "--figures", "beta", "--out", tmp_path], monkeypatch)
    assert ElementTree.parse(tmp_path / "beta.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "beta.png").stat().st_size > 10_000
    found = json.loads((tmp_path / "geumlek2017.json").read_text())
    fits = found["beta"]["panels"][0]
    assert max(fits["curves"]["diffused"][0], fits["curves"]["concentrated"][0]) < fits["curves"]["bounded"][0] - 0.02
    for panel in found["beta"]["panels"]:
        assert panel["curves"]["concentrated"][-1] < 1.05 * panel["non-private"]
    for row in found["beta weights"]:
        assert row["exact"] >= row["renyi"] >= row["order 15"]
    assert found["beta weights"][0]["exact"] == pytest.approx(0.0568, abs=5e-5)  # what docs/posterior-sampling.md says
    assert found["beta weights"][1]["exact"] == pytest.approx(0.478, abs=5e-4)
    assert found["beta weights"][1]["renyi"] == pytest.approx(0.389, abs=5e-4)
    assert "Where this differs from the paper, and why" in capsys.readouterr().out


def test_what_is_missing_is_said(tmp_path, monkeypatch, capsys):
    run_script(["--figures", "adult", "--out", tmp_path], monkeypatch)
    assert "adult is left out: --data is not given." in capsys.readouterr().out
    run_script(["--figures", "adult,mnist", "--out", tmp_path, "--data", tmp_path], monkeypatch)
    printed = capsys.readouterr().out
    assert "adult is left out: adult.parquet is not in the folder." in printed
    assert "mnist is left out: mnist_3vs8.parquet is not in the folder." in printed


@pytest.mark.slow
def test_a_regression_is_drawn(tmp_path, monkeypatch, capsys):
    """Made-up shells (seed 1) through the real path, fresh entropy: only that the figure and the scores are there."""
    rng = np.random.default_rng(1)
    names = ("length", "diameter", "height", "whole_weight", "shucked_weight", "viscera_weight", "shell_weight")
    table = {name: rng.uniform(0, 0.5, 300) for name in names}
    table["sex"] = rng.choice(["M", "F", "I"], 300)
    table["rings"] = (10 + 8 * (table["length"] - 0.25) + rng.normal(size=300)).round().astype(np.int32)
    pq.write_table(pa.table(table), tmp_path / "abalone.parquet")
    run_script(["--quick", "--figures", "abalone", "--out", tmp_path / "out", "--data", tmp_path], monkeypatch)
    assert (tmp_path / "out" / "abalone.png").stat().st_size > 10_000
    found = json.loads((tmp_path / "out" / "geumlek2017.json").read_text())["abalone"]
    assert all(0 <= cell["error"] <= 1 for cell in [*found["cells"], *found["tight"]])
    weights = {(row["epsilon"], row["method"]): row["weight"] for row in found["tight"]}
    for epsilon, gain in ((0.1, 1.594), (1.0, 1.314), (5.0, 1.099)):
        assert weights[epsilon, "ours"] / weights[epsilon, "Minami"] == pytest.approx(gain, abs=1e-3)
    assert "abalone, epsilon 1, ours" in capsys.readouterr().out
