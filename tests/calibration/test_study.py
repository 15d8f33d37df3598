"""What a study of calibration says: bands, verdict, page, pictures, command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from tacit.calibration.bands import difference, histogram
from tacit.calibration.figures import difference_svg, histogram_svg
from tacit.calibration.plots import write_plots
from tacit.calibration.study import study
from tacit.cli import app

PLAN = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.PureDP(0.1))


@pytest.fixture(scope="module")
def found():
    """Seed 5: 200 trials of 100 rows at epsilon 0.1, with every departure that applies."""
    return study(PLAN, n=100, trials=200, seed=5, robust=True)


@pytest.fixture(scope="module")
def naive():
    return study(PLAN, n=100, trials=200, seed=5, method="naive")


def test_the_band_holds_uniform_ranks_as_often_as_it_says_and_no_others():
    """Seed 6: 1,000 samples of 300; 95% inside, within 5 standard errors of 0.7% and 0.5% of the band's own."""
    rng = np.random.default_rng(6)
    inside = np.mean([difference(rng.random(300)).inside for _ in range(1000)])
    assert abs(inside - 0.95) < 0.045
    assert not difference(rng.beta(0.6, 0.6, 300)).inside, "intervals that are too narrow"
    assert not difference(rng.random(300) ** 1.4).inside, "a bias"
    with pytest.raises(tacit.InputError):
        difference([0.5])


def test_counts_lie_in_their_band():
    """Seed 7: of 20 bars one in twenty lies outside on average; ten or more with probability below 1e-7."""
    rng = np.random.default_rng(7)
    even = histogram(rng.random(2000))
    outside = sum(not even.low <= count <= even.high for count in even.counts)
    assert outside < 10
    assert even.counts.sum() == 2000
    heaped = histogram(rng.beta(3, 3, 2000))
    assert sum(not heaped.low <= count <= heaped.high for count in heaped.counts) > 10


def test_the_verdict_and_its_words(found, naive):
    assert found.verdict == "calibrated"
    assert "nothing speaks against it" in found.sentence()
    assert naive.verdict == "not calibrated"
    assert "theta is off" in naive.sentence()
    assert found.method == "exact"
    (row,) = found.rows(found.found)
    assert row["number"] == "theta"
    assert row["width"] > 1, "noise makes intervals wider"
    assert found.mmd is not None
    assert "Study(bernoulli" in repr(found)


def test_intervals_that_are_too_narrow_on_both_sides_are_caught():
    """The planted fault: 30 of 100 ranks at the very ends. Kolmogorov-Smirnov passes them, coverage does not."""
    from dataclasses import replace

    narrow = study(PLAN, n=20, trials=100, seed=8, method="naive")
    ranks = np.array([*np.linspace(3, 96, 70).astype(int), *[0] * 15, *[99] * 15])
    planted = replace(narrow, found=replace(narrow.found, ranks={"theta": ranks}))
    assert min(planted.found.p_values().values()) > 1e-3, "by ranks alone it would pass"
    assert not planted.calibrated


def test_departures_are_shown_beside_the_model_s_own_rows(found):
    lines = {line["departure"]: line for line in found.robustness()}
    assert lines["none"]["calibrated"]
    assert not lines["missing 20%"]["calibrated"], "a fifth of the answers missing moves a share"
    assert lines["missing 20%"]["least_95"] < lines["none"]["least_95"]
    assert set(found.refused) >= {"skewed", "heavy-tailed"}


def test_the_page_and_the_text_for_machines(found):
    plain = json.loads(found.to_json())
    assert plain["calibrated"] is True
    assert plain["numbers"][0]["number"] == "theta"
    page = found.page()
    assert "Is this posterior calibrated?" in page
    assert "Rows outside the model" in page
    assert "http:" not in page.replace("http://www.w3.org", "")
    assert page.count("<svg") >= 2


def test_pictures_say_in_words_what_they_show(found):
    (place,) = found.found.positions().values()
    assert "stays in its band" in difference_svg("theta", difference(place))
    assert "of 20 bars outside" in histogram_svg("theta", histogram(place))
    assert "&lt;b&gt;" in histogram_svg("<b>", histogram(place))


def test_pictures_as_files(found, tmp_path):
    written = write_plots(found, tmp_path / "plots")
    assert sorted(path.name for path in written) == ["differences.png", "differences.svg", "ranks.png", "ranks.svg"]
    assert all(path.stat().st_size > 1000 for path in written)


def test_the_command(tmp_path):
    """Seed 0, 50 trials; 100 rows at epsilon 2, where the exact method is right."""
    plan = tmp_path / "plan.toml"
    plan.write_text(tacit.Plan(PLAN.model, PLAN.schema, tacit.PureDP(2.0)).to_toml())
    page = tmp_path / "page.html"
    run = CliRunner().invoke(
        app, ["calibrate", str(plan), "--n", "100", "--trials", "50", "-o", str(page), "--prior", "a=2"]
    )
    assert run.exit_code == 0, run.output
    assert "Verdict: calibrated." in run.output
    assert page.exists()


@pytest.mark.parametrize("prior", ["x", "=1", "a=", "a=x"])
def test_a_prior_that_cannot_be_read_is_refused(prior, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.to_toml())
    run = CliRunner().invoke(app, ["calibrate", str(plan), "--n", "10", "--prior", prior])
    assert isinstance(run.exception, tacit.InputError)


def test_a_level_is_a_probability():
    with pytest.raises(tacit.InputError):
        study(PLAN, n=10, trials=10, level=1.0)
