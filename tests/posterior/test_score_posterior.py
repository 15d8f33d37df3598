"""A posterior from scores in rounds explains itself: prior, warnings, predictions, report, papers. Nothing is sampled.

The posterior is a kept one: logistic regression of 400 rows, three rounds, 2 chains of 8 draws.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.infer import _site, infer, numbers_of, problem_of, sites_in_order
from tacit.models.model import Problem
from tacit.models.score_method import score_prior
from tacit.models.score_model import ScorePrior
from tacit.posterior.score_sites import score_sites
from tacit.posterior.tree import observed_data
from tacit.report import commands
from tacit.report.page import report

FORMATS = Path(__file__).parents[1] / "formats"
SCHEMA = tacit.Schema(y=["no", "yes"], x=(1, 5), visits=(0, 8))


@pytest.fixture(scope="module")
def posterior():
    return tacit.Posterior.load(FORMATS / "posterior-2-newton.nc")


def plan(budget=None, **options):
    model = tacit.LogisticRegression("y ~ x")
    return tacit.Plan(model, SCHEMA, budget or tacit.ApproxDP(4.0, 1e-6), tacit.Newton(**options))


def released(seed, dataset="rows", made=None):
    found = tacit.simulate(made or plan(), n=300, seed=seed).release
    return tacit.Release.from_plain({**json.loads(found.to_json()), "dataset": dataset, "id": f"release-{seed}"})


def test_a_kept_release_is_read_and_written_as_it_is(posterior):
    text = (FORMATS / "release-1-newton.json").read_text("utf-8")
    release = tacit.Release.from_json(text)
    assert json.loads(release.to_json()) == json.loads(text)
    assert posterior.release == release
    assert [one.matrix for one in release.noise_parameters.rounds] == [True, False, True]
    assert len(release.noise_parameters.sd) == len(release.values) == 5 + 2 + 5


def test_the_prior_is_as_wide_as_the_release_says(posterior):
    """Seed 0, 1,000 draws: the sd of a slope is 2.5 over that of its column, to a tenth (6 standard errors)."""
    (site,) = score_sites(posterior.releases)
    _, sd = score_prior(ScorePrior(), site, plan().model, SCHEMA)
    found = posterior.prior_draws(1000)["theta"]
    np.testing.assert_allclose(found.std(axis=0), sd, rtol=0.14)
    assert 2.5 / 1.2 < sd[1] < 2.5 / 0.5  # x is spread over 1 to 5, with an sd of 0.7 in mapped units
    rows = {row.name: row for row in posterior.prior_coefficients()}
    assert rows["x"].sd == pytest.approx(rows["x"].mapped_sd / 2)
    _, fixed = score_prior(ScorePrior(theta_sd=3.0), site, plan().model, SCHEMA)
    assert fixed.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "wrong", [{"theta_sd": 0}, {"theta_sd": True}, {"slope": -1}, {"mean_sd": 1.0}, {"x": 1.0}, {"x": (0, 0)}]
)
def test_a_prior_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(tacit.InputError):
        problem_of(plan(), wrong, 10)


def test_a_coefficient_has_the_prior_that_was_said_in_the_units_of_the_data(posterior):
    """x has 2 of its units to 1 mapped one; the others keep their default. The intercept moves with x: refused."""
    said = problem_of(plan(), {"x": (0.5, 0.1), "slope": 2.0}, 10).prior
    assert said.coefficients == (("x", 0.5, 0.1),)
    assert ScorePrior(**said.to_plain()) == said
    (site,) = score_sites(posterior.releases)
    mean, sd = score_prior(said, site, plan().model, SCHEMA)
    _, default = score_prior(ScorePrior(slope=2.0), site, plan().model, SCHEMA)
    assert (mean.tolist(), sd[1]) == ([0.0, 1.0], 0.2)
    assert sd[0] == default[0]
    for wrong, match in (({"Intercept": (0, 1)}, "does not move with others"), ({"y": (0, 1)}, "or one of")):
        with pytest.raises(tacit.InputError, match=match):
            problem_of(plan(), wrong, 10)
    tree = posterior.tree.copy(deep=True)
    tree.attrs["prior"] = json.dumps(said.to_plain())
    assert "--prior x=0.5,0.1" in commands.commands(tacit.Posterior(tree))[0]
    drawn = tacit.Posterior(tree).prior_draws(1000)["theta"]
    assert drawn[:, 1].mean() == pytest.approx(1.0, abs=6 * 0.2 / 1000**0.5)


@pytest.mark.parametrize("forged", [3, "x", [3], [["x"]], [["x", 1]], [[1, 2, 3]], [["x", None, 1]], [{"x": 1}]])
def test_statements_of_a_forged_posterior_are_refused(forged):
    with pytest.raises(tacit.InputError):
        ScorePrior(coefficients=forged)


def test_warnings_name_scores_that_do_not_fit_and_coefficients_out_of_reach(posterior):
    """What the sampler says of each draw is changed: the sentence is there, and first."""
    few = ("Few effective draws", "The chains failed")
    assert not [text for text in posterior.warnings() if "released score" in text or "The noise leaves" in text]
    for name, value, begins in (("misfit", 9.0, "A released score"), ("reach", 3.0, "The noise leaves")):
        tree = posterior.tree.copy(deep=True)
        tree["sample_stats"][name].values[:] = value
        found = tacit.Posterior(tree).warnings()
        assert found[0].startswith(begins)
        assert any(text.startswith(few) for text in found)


def test_predictions_report_and_commands(posterior):
    found = posterior.predict({"x": [1, 5]})
    assert found.draws.shape == (16, 2)
    assert found.mean[0] > 0.5 > found.mean[1]
    page = report(posterior, quick=True)
    assert "the one furthest from what the posterior predicts lies" in page
    assert "rounded-gaussian noise in rounds" in page
    assert "are draws" not in page
    assert "--method score" in commands.commands(posterior)[0]


def test_the_papers_are_those_of_the_mechanism(posterior):
    for what in (plan(), posterior.release, posterior):
        text = tacit.cite(what)
        assert "Avella-Medina" in text
        assert "Gaussian Differential Privacy" in text
    assert "Hoffman" in tacit.cite(posterior)
    pure = tacit.cite(plan(tacit.PureDP(1.0)))
    assert "Avella-Medina" in pure
    assert "Gaussian Differential Privacy" not in pure


def test_several_releases_of_the_same_rows_are_one_site_with_all_their_rounds():
    first, second = released(1), released(2)
    (site,) = sites_in_order([first, second], same_rows=True)
    found = _site(site)
    assert found.rounds.matrix == 2 * first.noise_parameters.layout.matrix
    (rounds, values, n), *others = score_sites(site)
    assert not others
    assert len(rounds) == len(values) == 2 * len(first.noise_parameters.rounds)
    assert n == 300
    made = plan()
    problem = Problem(made.model, SCHEMA, ScorePrior(), (found,))
    assert np.isfinite(numbers_of(problem, site)).all()
    laplace = released(3, made=plan(tacit.PureDP(4.0)))
    with pytest.raises(tacit.InputError, match="noise of its kind"):
        infer([first, laplace], same_rows=True)


def test_what_is_pooled_has_scores(tmp_path):
    noisy = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, tacit.GDP(1.0), tacit.AddNoise())
    sums = tacit.simulate(noisy, n=300, seed=3).release
    for both in ([released(1, "a"), sums], [sums, released(1, "a")]):
        with pytest.raises(tacit.InputError, match="scores in rounds"):
            infer(both, disjoint=True)
    with pytest.raises(tacit.InputError, match="to be one for scores in rounds: score"):
        infer(released(1), method="gaussian-covariates")


def test_releases_with_other_rounds_lie_side_by_side():
    """Entries that one of them does not have are no numbers there."""
    few = released(4, "b", plan(rounds=2))
    found = observed_data([released(1, "a"), few])
    own = dict(zip(found["entry"], found["released"][1], strict=True))
    assert own["round 1: score[x]"] == pytest.approx(few.values[1] / few.unit)
    assert np.isnan(own["round 6: score[x]"])
