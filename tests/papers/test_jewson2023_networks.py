"""The networks of jewson2023: what the script simulates, what it says of its figures, and that it runs."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def networks(monkeypatch):
    monkeypatch.setenv("NPROC", "1")  # the script sets it for its own process
    return runpy.run_path(str(ROOT / "papers" / "jewson2023_networks.py"))


def test_simulated_rows_lie_within_their_bounds_and_have_something_to_learn(networks):
    """Seed 41; the level of y ~ a constant and of the noise are distributions of the simulation, and 40 networks are
    enough.
    """
    rng = np.random.default_rng(41)
    x, y, new, held = networks["simulated"]("regression", 40, 200, 2, rng)
    assert x.shape == (40, 200, 3)
    assert new.shape == (40, 2000, 3)
    assert (np.abs(x) <= 1).all()
    assert (np.abs(y) <= 1).all()
    assert np.mean(np.abs(held) == 1) < 0.01  # nearly nothing is clamped
    assert np.median(held.std(axis=1)) > 1.15 * networks["SIGMA"] / networks["HALF"]
    labels = networks["simulated"]("classification", 40, 200, 2, rng)[1]
    assert set(np.unique(labels)) == {-1.0, 1.0}


def cells(scores):
    """One cell a method and n, with an error of 0.01; four repeats, which move apart from each other."""
    made = []
    for (method, n), score in scores.items():
        cell = {"method": method, "kind": "private", "n": n, "d": 2, "epsilon": 1.0, "score": score}
        spread = 0.02 * np.array([-1.0, 1.0, -1.0, 1.0]) * (1 if method.startswith("beta") else -1)
        made.append({**cell, "error": 0.01, "scores": (score + spread).tolist()})
    return made


def test_what_is_said_of_the_crossover_follows_from_the_numbers(networks):
    """No random number. Small errors are good for numbers, large areas for levels."""
    scores = {("beta-divergence", 100): -1.0, ("DP-SGD", 100): -1.5, ("DP-SGD, paper", 100): -1.2}
    scores |= {("beta-divergence", 1000): -2.2, ("DP-SGD", 1000): -2.0, ("DP-SGD, paper", 1000): -2.19}
    (claim,) = networks["claims"]({"networks, regression": cells(scores)})
    assert claim.verdict == "agrees in part"
    said = claim.here
    assert "n = 100: DP-SGD (-1.00 ± 0.01, -1.50 ± 0.01)" in said
    assert "n = 1000: even (-2.20 ± 0.01, -2.19 ± 0.01)" in said
    areas = {("beta-divergence", 100): 0.9, ("beta-divergence, weight 1", 100): 0.7, ("DP-SGD", 100): 0.8}
    (claim,) = networks["claims"]({"networks, classification": cells(areas)})
    assert claim.verdict == "agrees"
    said = claim.here
    assert "n = 100: beta (0.90 ± 0.01, 0.80 ± 0.01)" in said
    drawn = networks["panels"]({"simulated": cells(scores)}, "n", "log RMSE", plain=False)
    assert len(drawn.axes) == 1


def test_the_page_shows_the_crossover_that_it_speaks_of():
    """The table of docs/private-networks.md: DP-SGD first, the draw last, for each epsilon below 5."""
    page = (
        (ROOT / "docs" / "private-networks.md")
        .read_text("utf-8")
        .split("<!-- figure 3 -->")[1]
        .split("<!-- end -->")[0]
    )
    rows = [line.strip("| \n").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    gaps = {}
    for epsilon, n, ours, theirs in rows:
        (a, a_error), (b, b_error) = ([float(v) for v in part.split(" ± ")] for part in (ours, theirs))
        gaps[epsilon, n] = (b - a) / max(0.005, np.hypot(a_error, b_error))
    assert len(gaps) >= 12
    for epsilon in ("0.2", "1"):
        assert gaps[epsilon, "100"] < -2
        assert gaps[epsilon, "3,000"] > 2
    assert all(gap > 2 for (epsilon, _), gap in gaps.items() if epsilon == "5")


@pytest.mark.slow
def test_the_network_figures_are_drawn(tmp_path, monkeypatch, capsys):
    """Seeds of the script: that it runs, writes and says what is missing; few steps, so that no number counts."""
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setattr(sys, "argv", ["jewson2023.py", "--quick", "--figures", "3", "--out", str(tmp_path)])
    runpy.run_path(str(ROOT / "papers" / "jewson2023.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "SKIPPED: The network panel of kin8nm is left out: --data is not given." in printed
    assert "Networks: where this differs from the paper, and why" in printed
    assert (tmp_path / "jewson2023-figure3.svg").is_file()
