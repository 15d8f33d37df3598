"""The report page: what it computes is right, what it says is escaped, and it holds all that is needed."""

from __future__ import annotations

import html
import itertools
import json
import math
import re
import shlex
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

import tacit
from tacit.cli import app
from tacit.pages.svg import ticks
from tacit.posterior import Posterior
from tacit.privacy.events import GaussianEvent, PureEvent
from tacit.report.densities import density, numbers
from tacit.report.promise import tradeoff
from tacit.report.replicas import checks, replicate
from tacit.report.uncertainty import split_uncertainty

SMOKER = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(0.1))
COST = tacit.Plan(
    tacit.LinearRegression("cost ~ age"), tacit.Schema(cost=(0, 1000), age=(20, 80)), tacit.ApproxDP(2.0, 1e-6)
)
ROWS = {"smoker": ["yes", "no"] * 250}  # as many as in the simulation: what was compiled for it serves again


@pytest.fixture(scope="module")
def simulation():
    return tacit.simulate(SMOKER, n=500, seed=3)


@pytest.fixture(scope="module")
def smoker(simulation):
    return tacit.infer(simulation.release, seed=1)


@pytest.fixture(scope="module")
def cost():
    """A regression, by the method that compiles in no time. Seed 5."""
    return tacit.infer(tacit.simulate(COST, n=1000, seed=5).release, draws=500, chains=2, method="naive")


def text_of(page):
    return html.unescape(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL))


# ---------------------------------------------------------------------------------------------------------------------
# The page


def test_the_page_is_one_file(smoker, tmp_path):
    path = tacit.write_report(smoker, tmp_path / "page.html", quick=True)
    page = path.read_text()
    assert page == tacit.report(smoker, quick=True)
    assert "default-src 'none'" in page
    for forbidden in ("@import", 'src="', "url(", "<iframe", "<object", 'http-equiv="refresh'):
        assert forbidden not in page
    assert re.findall(r'href="([^#"][^"]*)"', page) == ["data:,"]
    assert len(page) < 200_000


def test_the_page_says_everything(smoker):
    page = text_of(tacit.report(smoker))
    for said in (
        "made-up rows",
        "epsilon = 0.1",
        "replacing one row",
        "What it assumes",
        "largest R-hat",
        "levels 'no', 'yes'",
        "due to privacy",
        "tacit infer release.json",
        "The tacit authors",
        "no conclusion drawn from the release would be more than 1.11 times as likely",
    ):
        assert said in page, said


def test_headings_are_in_order_and_every_picture_has_a_name(cost):
    page = tacit.report(cost, quick=True)
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    for picture in re.findall(r"<svg[^>]*>", page):
        assert "aria-label=" in picture or 'aria-hidden="true"' in picture
    for figure in re.findall(r'<svg class="plot".*?</svg>', page, re.DOTALL):
        assert re.search("<polyline|<rect", figure)


def test_names_cannot_write_into_the_page():
    """Column, levels and dataset hold markup; none of it comes out as markup."""
    name = "<script>alert(1)</script>"
    plan = tacit.Plan(tacit.Bernoulli(name), tacit.Schema({name: ['"><img src=x>', "</pre>&amp;"]}), tacit.PureDP(1.0))
    rows = {name: ["a", "b"] * 50}
    release = tacit.privatize(rows, plan, ledger=None, dataset="odd names")
    page = tacit.report(tacit.infer(release, method="naive"), quick=True)
    assert page.count("<script>") == 1
    for forbidden in ("<img", "</pre>&amp;</td"):
        assert forbidden not in page
    assert "&lt;script&gt;" in page


def test_colours_can_be_read():
    """Every ink on every ground it stands on, light, dark and printed: a contrast of at least 4.5 (WCAG AA)."""
    style = (Path(tacit.__file__).parent / "pages" / "style.css").read_text()
    themes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", part)) for part in re.split(r"@media", style)]
    themes = [theme for theme in themes if "ink" in theme]
    assert len(themes) == 3
    for theme in themes:
        for ink in ("ink", "soft", "blue", "warn", "good", "truth", "exact", "prior"):
            for ground in ("ground", "panel") if ink in ("ink", "soft", "blue") else ("ground",):
                assert contrast(theme[ink], theme[ground]) >= 4.5, (ink, ground, theme[ink])
        for ground in ("warn-ground", "good-ground"):
            assert contrast(theme["ink"], theme[ground]) >= 4.5
    assert contrast("#999999", "#ffffff") < 4.5, "the planted fault"


def contrast(one, other):
    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_ticks_are_round_and_few():
    for low, high in ((0, 1), (-3.2, 17.9), (1e-9, 3e-9), (12_345, 98_765), (-0.01, 0.0100001)):
        found = ticks(low, high, 5)
        assert 1 <= len(found) <= 6
        assert all(low - 1e-9 * abs(low) <= t <= high * (1 + 1e-9) for t in found)
    assert ticks(1, 1, 5) == []


# ---------------------------------------------------------------------------------------------------------------------
# The promise


def test_the_trade_off_of_a_pure_promise_is_exact():
    """f(a) = max(1 - e^epsilon a, e^-epsilon (1 - a), 0) for randomised response."""
    alphas = np.linspace(0, 1, 41)
    for epsilon in (0.1, 1.0, 3.0):
        exact = np.maximum.reduce([1 - math.exp(epsilon) * alphas, math.exp(-epsilon) * (1 - alphas), 0 * alphas])
        np.testing.assert_allclose(tradeoff(PureEvent(epsilon), list(alphas)), exact, atol=1e-12)


def test_the_trade_off_of_gaussian_noise_is_a_bound_and_close():
    """Never above G(a) = Phi(Phi^-1(1 - a) - mu), and within 0.005 of it. The planted fault: half the mu."""
    alphas = list(np.linspace(0.001, 0.999, 60))
    normal = NormalDist()
    for mu in (0.3, 1.0, 2.5):
        exact = np.array([normal.cdf(normal.inv_cdf(1 - a) - mu) for a in alphas])
        found = np.array(tradeoff(GaussianEvent(mu**2, 0), alphas))
        assert np.all(found <= exact + 1e-12)
        assert np.all(found >= exact - 0.005)
        assert np.any(np.array(tradeoff(GaussianEvent((mu / 2) ** 2, 0), alphas)) > exact + 1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# The posterior


def test_densities_are_densities():
    """Seed 2, 4,000 draws of Beta(1, 5), whose density jumps at 0, against the exact one on [0.01, 0.6].

    A kernel estimate of 4,000 draws has a standard error below 0.15 there; alarm at 0.6 (below 1e-4 by 4 standard
    errors at 20 places). Without its mirror images it would be near 2.5 instead of 5 at 0: the planted fault.
    """
    draws = np.random.default_rng(2).beta(1, 5, 4000)
    grid = np.linspace(0.01, 0.6, 20)
    found = density(draws, grid)
    np.testing.assert_allclose(found, stats.beta(1, 5).pdf(grid), atol=0.6)
    fine = np.linspace(-0.2, 1.2, 2000)
    assert np.trapezoid(density(draws, fine), fine) == pytest.approx(1, abs=0.01)
    assert density(draws, np.array([-0.01, 0.0, 0.01]))[0] == 0
    plain = np.exp(-0.5 * ((0.002 - draws) / 0.02) ** 2).mean() / (0.02 * math.sqrt(2 * math.pi))
    assert abs(plain - stats.beta(1, 5).pdf(0.002)) > 1.5


def test_a_simulation_shows_its_truth(simulation, smoker):
    found = {one.name: one for one in numbers(smoker, simulation)}
    assert found["theta"].truth == pytest.approx(float(simulation.parameters["theta"]))
    count = simulation.exact[0] / SMOKER.statistic().unit
    assert found["theta"].exact.mean() == pytest.approx((1 + count) / 502, abs=0.002)
    assert found["count"].prior is None
    page = tacit.report(smoker, simulation=simulation, quick=True)
    assert "the truth of the simulation" in page
    with pytest.raises(tacit.InputError, match="simulation"):
        tacit.report(smoker, simulation=tacit.simulate(SMOKER, n=500, seed=4))


# ---------------------------------------------------------------------------------------------------------------------
# Where the uncertainty comes from


def test_the_split_is_the_law_of_total_variance(smoker):
    """The latent count is among the draws, so the sampling part has a closed form: the mean variance of the Beta
    distributions.

    Seeds 1 (posterior) and 0. 25 replicas of 250 draws: each variance has a relative standard error of 9%, and from one
    replica to another p(1 - p) moves by about 15%, so the mean of 25 is off by 4%; alarm at 16%, 4 standard errors.
    Planted faults: sums of twice as many rows, and a posterior that ignores the noise.
    """
    count = smoker.draws("count")
    a, b = 1 + count, 1 + 500 - count
    exact = float((a * b / ((a + b) ** 2 * (a + b + 1))).mean())
    found = {one.name: one for one in split_uncertainty(smoker, replicate(smoker))}
    assert found["theta"].sampling == pytest.approx(exact, rel=0.16)
    assert found["theta"].total == pytest.approx(float(smoker.draws("theta").var()), rel=1e-3)
    assert 0.5 < found["theta"].privacy_share < 0.8
    assert found["theta"].widening == pytest.approx(math.sqrt(found["theta"].total / exact), rel=0.1)
    assert found["count"].privacy_share == 1, "only the noise hides the count"
    assert found["theta"].sampling / 2 != pytest.approx(exact, rel=0.16), "the first planted fault"
    naive = tacit.infer(smoker.release, method="naive", seed=1)
    (theta,) = (one for one in split_uncertainty(naive, replicate(naive)) if one.name == "theta")
    assert theta.privacy_share < 0.2, "the second"


def test_without_noise_the_split_has_no_privacy_part():
    """At epsilon 1000. Seed 3; 8% relative standard error of a ratio of variances at most, alarm at 25%."""
    plan = tacit.Plan(SMOKER.model, SMOKER.schema, tacit.PureDP(1000.0))
    posterior = tacit.infer(tacit.simulate(plan, n=500, seed=3).release)
    (theta,) = (one for one in split_uncertainty(posterior, replicate(posterior)) if one.name == "theta")
    assert theta.privacy_share < 0.25


def test_the_split_where_n_is_not_public():
    """Seed 4. Given the latent counts, n among them, theta has a Beta distribution; tolerance as above.

    Planted: the first, sums of twice as many rows.
    """
    plan = tacit.Plan(SMOKER.model, SMOKER.schema, tacit.PureDP(0.1, neighbours="add-remove"))
    posterior = tacit.infer(tacit.simulate(plan, n=500, seed=4, parameters={"theta": 0.3}).release)
    count = posterior.draws("count")
    a, b = 1 + count, 1 + posterior.draws("n") - count
    exact = float((a * b / ((a + b) ** 2 * (a + b + 1))).mean())
    (theta,) = (one for one in split_uncertainty(posterior, replicate(posterior)) if one.name == "theta")
    assert theta.sampling == pytest.approx(exact, rel=0.16)
    assert theta.sampling / 2 != pytest.approx(exact, rel=0.16), "the planted fault"


@pytest.mark.slow
def test_the_split_of_pooled_sites_and_of_reports():
    """Two sites without parameters of their own are one; of local reports the records are what is hidden. Seed 6.

    The closed forms are p(1 - p) / n up to the prior; alarm at 25% (4 standard errors of about 4% and some for p).
    """
    releases = [tacit.simulate(SMOKER, n=400, seed=seed, parameters={"theta": 0.3}).release for seed in (6, 7)]
    pooled = tacit.infer(releases, disjoint=True, draws=500, chains=2, method="shares")
    (theta,) = (one for one in split_uncertainty(pooled, replicate(pooled)) if one.name == "theta")
    p = float(pooled.draws("theta").mean())
    assert theta.sampling == pytest.approx(p * (1 - p) / 802, rel=0.25)
    local = tacit.Plan(SMOKER.model, SMOKER.schema, tacit.PureDP(1.0), tacit.Local())
    reports = tacit.simulate(local, n=2000, seed=6, parameters={"theta": 0.3}).release
    posterior = tacit.infer(reports, draws=500, chains=2)
    (theta,) = (one for one in split_uncertainty(posterior, replicate(posterior)) if one.name == "theta")
    assert theta.sampling == pytest.approx(0.21 / 2002, rel=0.25)
    assert theta.privacy_share > 0.6
    assert "stay with the collector" in tacit.report(posterior, quick=True)


# ---------------------------------------------------------------------------------------------------------------------
# Whether the model fits the release


def test_a_release_that_the_model_explains_is_inside_and_a_planted_fault_is_not(cost):
    """Seeds 0 and 1. Entries of the release that was fitted: less than 4 sd away (5 entries, below 1e-3 in all).

    The planted fault moves one released number by 10 sd of what is expected there.
    """
    replicas = replicate(cost)
    (found,) = checks(cost, replicas).values()
    assert [one.name for one in found] == list(cost.release.entries)
    assert all(abs(one.distance) < 4 for one in found)
    place = found[1]
    moved = list(cost.release.values)
    moved[1] += round(10 * place.sd * cost.release.unit)
    plain = {**cost.release.to_plain(), "values": moved}
    other = cost.tree.copy()
    other.attrs = {**cost.tree.attrs, "release": json.dumps([plain])}
    (broken,) = checks(Posterior(other), replicas).values()
    assert abs(broken[1].distance) > 5
    assert [one.distance for one in broken if one.name != place.name] == [
        one.distance for one in found if one.name != place.name
    ]


def test_the_scatter_of_replicas_is_that_of_the_model(smoker):
    """One parameter known for sure: the replicated count has variance n p (1 - p) plus that of the noise.

    Seed 0, 200 replicas: a variance has a relative standard error of 10%; alarm at 45%. Without the noise it would be
    off by 70%: the planted fault.
    """
    fixed = smoker.tree.copy(deep=True)
    fixed["posterior"]["theta"].values[:] = 0.3
    (found,) = checks(Posterior(fixed), replicate(Posterior(fixed))).values()
    noise = (smoker.release.noise.sd[0] / smoker.release.unit) ** 2
    assert found[0].sd ** 2 == pytest.approx(500 * 0.21 + noise, rel=0.45)
    assert noise > 0.45 * (500 * 0.21 + noise), "or leaving it out would not be seen"
    assert found[0].mean == pytest.approx(150, abs=6 * found[0].sd / math.sqrt(200))


# ---------------------------------------------------------------------------------------------------------------------
# The ledger, the commands, the references


def test_the_ledger_is_shown_and_asked(tmp_path):
    book = tacit.Ledger.create(tmp_path / "books.db")
    book.new_dataset("survey", tacit.PureDP(1.0))
    release = tacit.privatize(ROWS, SMOKER, ledger=book, dataset="survey")
    posterior = tacit.infer(release)
    page = text_of(tacit.report(posterior, ledger=tmp_path / "books.db", quick=True))
    assert "paid for by entry 3" in page
    assert "it paid for and noted this release" in page
    assert "survey: the total is epsilon = 1" in page
    other = tacit.Ledger.create(tmp_path / "other.db")
    assert "The ledger disagrees" in tacit.report(posterior, ledger=other, quick=True)
    free = tacit.infer(tacit.privatize(ROWS, SMOKER, ledger=None))
    assert "made without a ledger" in tacit.report(free, quick=True)


def run(*words):
    with pytest.raises(SystemExit) as stopped:
        app([str(word) for word in words])
    assert stopped.value.code == 0


def test_the_commands_of_the_page_make_the_posterior_again(tmp_path, monkeypatch):
    """From the release in the page and the command in the page: the same draws, prior, method and seed included."""
    monkeypatch.chdir(tmp_path)
    release = tacit.simulate(SMOKER, n=500, seed=8).release
    first = tacit.infer(release, seed=17, chains=2, draws=60, anyway=True, warmup=33, prior={"a": 2.5}, method="exact")
    page = tacit.report(first, quick=True)
    (written,) = re.findall(r"<summary>release\.json.*?<pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    Path("release.json").write_text(html.unescape(written))
    assert tacit.Release.load("release.json") == release
    (lines,) = re.findall(r"<code>(tacit infer.*?)</code>", page, re.DOTALL)
    for line in html.unescape(lines).splitlines():
        run(*shlex.split(line)[1:])
    again = tacit.Posterior.load("posterior.nc")
    np.testing.assert_array_equal(again.draws("theta"), first.draws("theta"))
    assert again.prior == first.prior
    assert Path("report.html").stat().st_size > 10_000


def test_the_command_line_shows_truth_and_ledger(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SMOKER.save("plan.toml")
    run("simulate", "plan.toml", "--n", "500", "-o", "release.json", "--seed", "9")
    run("infer", "release.json", "-o", "posterior.nc")
    run("report", "posterior.nc", "-o", "page.html", "--truth", "--quick")
    assert "the truth of the simulation" in Path("page.html").read_text()
    tacit.infer(tacit.privatize(ROWS, SMOKER, ledger=None)).save("real.nc")
    with pytest.raises(tacit.InputError, match="truth"):
        app(["report", "real.nc", "-o", "other.html", "--truth"], standalone_mode=False)
    capsys.readouterr()
    run("cite", "posterior.nc", "--bibtex")
    assert capsys.readouterr().out.startswith("@misc{tacit,")


def test_what_is_cited_is_what_was_used():
    linear = tacit.cite(COST)
    assert "Differentially Private Bayesian Linear Regression" in linear
    assert "Generalized Linear Models" not in linear
    assert "Our Data, Ourselves" in linear
    local = tacit.Plan(SMOKER.model, SMOKER.schema, tacit.PureDP(1.0), tacit.Local())
    assert "Locally Differentially Private" in tacit.cite(local)
    assert "Randomized Response" in tacit.cite(local)
    assert "Locally" not in tacit.cite(SMOKER)
    assert len(tacit.cite().splitlines()) == 6
    entries = tacit.cite(format="bibtex")
    assert entries.count("@") == 6
    assert entries.count("{") == entries.count("}")
    with pytest.raises(tacit.InputError, match="format"):
        tacit.cite(format="ris")
    with pytest.raises(tacit.InputError, match="what"):
        tacit.cite("plan.toml")


def test_posterior_draws_cite_the_paper_of_their_loss():
    from tacit.cite import references
    from tacit.mechanisms.posterior_sample.registry import LOSSES

    assert all(kind.papers for kind in LOSSES.values())
    schema = tacit.Schema(ill=["no", "yes"], age=(18, 90))
    model, first, second = tacit.LogisticRegression("ill ~ age"), "geumlek2017", "jewson2023"
    chain = {"assume": "converged", "gamma": 1e-7}
    for loss, said, right, wrong in (
        ("log-likelihood", {}, first, second),
        ("bounded-log-likelihood", {"options": {"bound": 3.0}}, first, second),
        ("beta-divergence", {"options": {"beta": 1.5}, **chain}, second, first),
    ):
        plan = tacit.Plan(model, schema, tacit.ApproxDP(1.0, 1e-5), tacit.PosteriorSample(loss=loss, **said))
        keys = {paper.key for paper in references(plan)}
        assert right in keys
        assert wrong not in keys


def test_the_five_papers_are_those_of_the_citation_file():
    written = (Path(__file__).parents[2] / "CITATION.cff").read_text("utf-8")
    titles = re.findall(r"^    title: (.*)$", written, re.MULTILINE)
    assert len(titles) == 5
    assert all(title in tacit.cite() for title in titles)
