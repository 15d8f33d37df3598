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
    assert ElementTree.parse(tmp_path / "geumlek2017-figures1-2.svg").getroot().tag.endswith("svg")
    rows = [json.loads(line) for line in (tmp_path / "geumlek2017.jsonl").read_text().splitlines()]
    panels = [row["found"] for row in rows if row["function"] == "beta_panel"]
    fits = next(panel for panel in panels if panel["truth"] < 0.4 and panel["prior"] == [6, 12])
    assert max(fits["curves"]["diffused"][0], fits["curves"]["concentrated"][0]) < fits["curves"]["bounded"][0] - 0.02
    for panel in panels:
        assert panel["curves"]["concentrated"][-1] < 1.05 * panel["non-private"]
    (weights,) = (row["found"] for row in rows if row["function"] == "beta_weights")
    for row in weights:
        assert row["exact"] >= row["renyi"] >= row["order 15"]
    assert weights[0]["exact"] == pytest.approx(0.0568, abs=5e-5)  # what docs/posterior-sampling.md says
    assert weights[1]["exact"] == pytest.approx(0.478, abs=5e-4)
    assert weights[1]["renyi"] == pytest.approx(0.389, abs=5e-4)
    assert "Where this differs from the paper, and why" in capsys.readouterr().out


def test_what_is_missing_is_said(tmp_path, monkeypatch, capsys):
    run_script(["--figures", "adult,abalone", "--out", tmp_path], monkeypatch)
    assert "SKIPPED: adult is left out: --data is not given." in capsys.readouterr().out
    run_script(["--figures", "adult,abalone", "--out", tmp_path, "--data", tmp_path], monkeypatch)
    assert "does not hold abalone.parquet" in capsys.readouterr().out


def cells(differences):
    """Scores of two orders, with standard errors of 0.01; ``differences`` are concentrated less diffused."""
    made = []
    for place, gap in enumerate(differences):
        where = {"order": 1, "epsilon": float(place + 1), "error se": 0.01, "loss se": 0.01}
        made.append({**where, "method": "diffused", "error": 0.2, "loss": 0.3})
        made.append({**where, "method": "concentrated", "error": 0.2 + gap, "loss": 0.3 + gap})
        made.append({**where, "order": None, "method": "bounded", "error": 0.5, "loss": 0.9})
    return made


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [((0.1, 0.2, 0.1), "agrees"), ((0.1, 0.1, -0.1), "agrees in part"), ((-0.1, -0.2, -0.1), "differs")],
)
def test_verdicts_follow_from_the_numbers(differences, verdict, monkeypatch):
    monkeypatch.setenv("NPROC", "1")
    script = runpy.run_path(str(ROOT / "papers" / "geumlek2017.py"))
    own = {"adult": {"non-private": {"error": 0.1, "loss": 0.2}, "cells": cells(differences), "tight": []}}
    found = {claim.figure: claim.verdict for claim in script["claims"]([], [], own)}
    assert found["Figure 3, adult: against OPS"] == "agrees"
    assert found["Figure 4, adult: diffused or concentrated"] == verdict


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
    assert (tmp_path / "out" / "geumlek2017-figures3-4-abalone.svg").is_file()
    rows = [json.loads(line) for line in (tmp_path / "out" / "geumlek2017.jsonl").read_text().splitlines()]
    scores = [c for row in rows if row["function"] == "tempered_scores" for c in row["found"]]
    assert len(scores) == 2
    assert all(0 <= cell["error"] <= 1 for cell in scores)
    assert "Figure 3, abalone: against OPS" in capsys.readouterr().out
