"""The script about local privacy runs, says what is missing, and computes what its figures show."""

from __future__ import annotations

import itertools
import json
import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import common
import kulkarni2022_regression as regression
import kulkarni2022_shares as shares
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from comparisons.point_estimates import nearest_shares

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "papers" / "kulkarni2022.py"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.setenv("NPROC", "1")  # the script sets it for its own process
    return runpy.run_path(str(SCRIPT))


def run_script(arguments, monkeypatch):
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setattr(sys, "argv", [SCRIPT.name, *map(str, arguments)])
    runpy.run_path(str(SCRIPT), run_name="__main__")


def test_figures_without_data_are_drawn(tmp_path, monkeypatch, capsys):
    """Seed 2022, few trials: only that figures are there and that shares are shares is tested of them."""
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin shares -->\nold\n<!-- end shares -->\nafter\n", "utf-8")
    run_script(["--quick", "--figures", "1,3,6", "--out", tmp_path, "--page", page], monkeypatch)
    rows = [json.loads(line) for line in (tmp_path / "kulkarni2022.jsonl").read_text().splitlines()]
    for number in (1, 3, 6):
        assert ElementTree.parse(tmp_path / f"kulkarni2022-figure{number}.svg").getroot().tag.endswith("svg")
    held = [share for r in rows if r["function"] == "coverage" for cell in r["found"] for share in cell["coverage"]]
    assert held
    assert all(0 <= share <= 1 for share in held)
    (shares,) = (r["found"] for r in rows if r["function"] == "shares_errors")
    assert shares["n"] == 100
    assert 0 < shares["posterior"] < 0.5
    assert 0 < shares["point"] < 0.6
    printed = capsys.readouterr().out
    assert "posteriors are well calibrated" in printed
    assert "Where this differs from the paper, and why" in printed
    text = page.read_text("utf-8")
    assert text.startswith("before\n<!-- begin shares -->\n\n| protocol | people |")
    assert "old" not in text
    assert text.endswith("<!-- end shares -->\nafter\n")


def test_what_is_missing_is_said(tmp_path, monkeypatch, capsys):
    run_script(["--figures", "2,4,5", "--out", tmp_path / "out"], monkeypatch)
    assert "SKIPPED: Figure 2 is left out: --data is not given." in capsys.readouterr().out
    run_script(["--figures", "2,4,5", "--out", tmp_path / "out", "--data", tmp_path], monkeypatch)
    printed = capsys.readouterr().out
    for table in ("kosarak_5_25", "wine_quality", "adult"):
        assert f"does not hold {table}.parquet" in printed
    assert not list((tmp_path / "out").glob("*.svg"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--figures", "7"], "Expected --figures to be some of 1,2,3,4,5,6,9,10,11; found 7"),
        (["--repetitions", "2"], "Expected --repetitions to be above 0 and at most 1; found 2.0"),
    ],
)
def test_unknown_figures_and_shares_are_refused(arguments, message, tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match=re.escape(message)):
        run_script(["--out", tmp_path, *arguments], monkeypatch)


def test_gap_of_distribution_functions():
    assert shares.gap(np.array([0.2, 0.4]), np.array([0.2, 0.4])) == 0
    assert shares.gap(np.array([0.25]), np.array([0.75])) == pytest.approx(0.5, abs=1e-12)
    assert shares.gap(np.array([0.0, 0.5]), np.array([0.5])) == pytest.approx(0.25, abs=1e-12)


def test_the_chebyshev_series(script):
    """Seed of the script. The mean is nearly right and single rows are not; a series on [-30, 30] is off in both."""
    found = script["chebyshev_error"](3, 20, 500)
    assert found["off"] < 0.01
    assert 0.02 < found["worst row"] < 0.3


def test_unusable_solutions():
    found = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [0.2, 0.7, 0.1], [0.6, 0.1, 0.3]])
    assert shares.unusable(found) == (0.25, 0.75)


def test_records_of_kosarak(tmp_path):
    """Ten items of which every set has 11,000 clicks; places follow the frequencies."""
    counts = [2000, 1800, 1600, 1400, 1200, 1000, 800, 600, 400, 200]
    clicks = [[item] * 2 for item, count in enumerate(counts, 1) for _ in range(count // 2)]
    pq.write_table(pa.table({"items": pa.array(clicks, pa.list_(pa.int16()))}), tmp_path / "kosarak_5_25.parquet")
    assert np.bincount(shares.kosarak(tmp_path)).tolist() == counts


def test_public_rows_alone_give_centre_and_components():
    """Seed 3. Private rows may change, and nothing about how other rows are mapped does."""
    rng = np.random.default_rng(3)
    features, response = rng.standard_normal((500, 4)), rng.standard_normal(500)
    task = regression.split(features, response, "linear")
    order = np.random.default_rng(2022).permutation(500)
    changed = features.copy()
    changed[order[100]] = 50.0
    again = regression.split(changed, response, "linear")
    assert np.array_equal(task.test_x, again.test_x)
    assert np.array_equal(task.x[1:], again.x[1:])
    assert np.linalg.norm(again.x, axis=1).max() <= 1 + 1e-12


def test_scores():
    response, score = np.array([1, 1, -1, -1, 1]), np.array([0.9, 0.4, 0.4, 0.1, 0.3])
    pairs = [(a > b) + (a == b) / 2 for a, b in itertools.product(score[response > 0], score[response < 0])]
    assert common.area(score, response) == np.mean(pairs)
    x = np.array([[0.5], [-0.5]])
    task = regression.Task("linear", x, np.array([1.0, -1.0]), x, np.array([1.0, -1.0]))
    assert task.score(np.array([1.0])) == 0
    assert task.score(np.array([0.0])) == 1
    assert task.non_private() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_regressions_are_scored_and_drawn(family, tmp_path, monkeypatch):
    """Seed 4, made-up rows. Gradient descent alone: that posteriors come out of reports is tested elsewhere."""
    rng = np.random.default_rng(4)
    features = rng.standard_normal((1500, 6))
    signal = features @ np.array([0.8, -0.5, 0.0, 0.0, 0.4, 0.2])
    response = signal + 0.5 * rng.standard_normal(1500)
    task = regression.split(features, response if family == "linear" else np.sign(response), family)
    monkeypatch.setattr(regression, "task_of", lambda number, folder: task)
    cells = [regression.regression_scores(4, "", "sgd", 1200, epsilon, 3, {}) for epsilon in (0.5, 50.0)]
    assert [cell["rows"] for cell in cells] == [1200, 1200]
    better = cells[1]["mean"] < cells[0]["mean"] if family == "linear" else cells[1]["mean"] > cells[0]["mean"]
    assert better
    level = {"non-private": task.non_private()}
    regression.scores_figure("made up", "score", cells, level).savefig(tmp_path / "drawn.svg")
    assert (tmp_path / "drawn.svg").stat().st_size > 5_000
    for protocol in ("statistics", "inputs") if family == "logistic" else ("statistics",):
        randomizer = regression.regression_plan(task, 1.0, protocol).local_randomizer()
        assert set(randomizer.columns) == {"y", "x1", "x2", "x3", "x4"}


# ---------------------------------------------------------------------------------------------------------------------
# What docs/local.md says of Figure 3


def test_the_table_of_the_page_is_consistent():
    """Every row says that the posterior mean was no worse, and its difference is that of its two errors."""
    page = (ROOT / "docs" / "local.md").read_text("utf-8")
    table = page.split("<!-- begin shares -->")[1].split("<!-- end shares -->")[0]
    rows = [line.strip("|").split("|") for line in table.strip().splitlines()[2:]]
    assert len(rows) == 8
    for *_, posterior, point, difference in rows:
        mean, _, _ = difference.partition("±")
        assert float(mean) < 0
        assert float(posterior) - float(point) == pytest.approx(float(mean), abs=1.01e-4)


def test_what_the_prior_does_to_the_error_of_the_shares():
    """Seed 7, 1,200 surveys by randomized response, the posterior by quadrature on 6,400 points. Each claim of the page
    holds by more than 4 standard errors of the paired difference. A posterior that takes reports for answers, the
    planted fault, loses to the point estimate for 5,000 people.
    """
    rng, truth, repeats, e = np.random.default_rng(7), np.array([0.7, 0.2, 0.1]), 1200, np.exp(0.5)
    told, other = e / (e + 2), 1 / (e + 2)
    a, b = np.meshgrid(*[(np.arange(80) + 0.5) / 80] * 2, indexing="ij")
    theta = np.stack([a, (1 - a) * b, (1 - a) * (1 - b)], axis=-1).reshape(-1, 3)

    def errors(n):
        counts = rng.multinomial(n, other + (told - other) * truth, repeats)
        found = {"point": nearest_shares((counts / n - other) / (told - other)), "naive": (counts + 1) / (n + 3)}
        for alpha in (0.5, 1.0, 2.0):
            log = counts @ np.log(other + (told - other) * theta).T
            log = log + np.log(1 - a).ravel() + (alpha - 1) * np.log(theta).sum(axis=1)
            weights = np.exp(log - log.max(axis=1, keepdims=True))
            found[alpha] = weights @ theta / weights.sum(axis=1, keepdims=True)
        return {name: np.sqrt(np.mean((shares - truth) ** 2, axis=1)) for name, shares in found.items()}

    def better(one, other):
        difference = one - other
        return difference.mean() < -4 * difference.std(ddof=1) / np.sqrt(repeats)

    few, many = errors(100), errors(5000)
    assert better(few[1.0], few["point"])
    assert better(many[1.0], many["point"])
    assert better(few[0.5], few[1.0])
    assert better(many["point"], many[0.5])
    assert better(few[1.0], few[2.0])
    assert better(many[2.0], many[1.0])
    assert better(many["point"], many["naive"])
