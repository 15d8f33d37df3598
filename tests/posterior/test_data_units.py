"""Answers in the units of the data agree with those of the rows, and are the same from a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.posterior.data_units import in_file

FORMATS = Path(__file__).parents[1] / "formats"
SCHEMA = tacit.Schema(
    **{"cost": (0, 100), "age": (18, 90), "dose/day": (1, 10), "smoker": ["no", "yes"], "ill": ["no", "yes"]}
)
N = 4000
_rng = np.random.default_rng(8)
_age, _dose, _yes = _rng.uniform(18, 90, N), _rng.uniform(1, 10, N), _rng.random(N) < 0.4
ROWS = {
    "age": _age,
    "dose/day": _dose,
    "smoker": np.where(_yes, "yes", "no"),
    "cost": np.clip(20 + 0.4 * _age - _dose + 6 * _yes + _rng.normal(0, 5, N), 0, 100),
    "ill": np.where(_rng.random(N) < 1 / (1 + np.exp(3 - 0.04 * _age - 0.6 * _yes)), "yes", "no"),
}


@pytest.fixture(scope="module")
def linear():
    """From the rows with hardly any noise (epsilon 1e4, 4,000 rows): `naive` then is the rows' own posterior."""
    plan = tacit.Plan(tacit.LinearRegression("cost ~ age*smoker + log(`dose/day`)"), SCHEMA, tacit.PureDP(1e4))
    return tacit.infer(tacit.privatize(ROWS, plan, ledger=None, dataset="rows"), method="naive")


@pytest.fixture(scope="module")
def earlier():
    """A logistic regression, y ~ x, that an earlier version saved."""
    return tacit.Posterior.load(FORMATS / "posterior-2-newton.nc")


def ordinary_least_squares():
    """Estimates and covariance from the rows in their own units."""
    x = np.column_stack([np.ones(N), _age, _yes, _age * _yes, np.log(_dose)])
    b = np.linalg.lstsq(x, ROWS["cost"], rcond=None)[0]
    sigma = np.sqrt(np.sum((ROWS["cost"] - x @ b) ** 2) / (N - 5))
    return b, sigma**2 * np.linalg.inv(x.T @ x), sigma


NAMES = ["Intercept", "age", "smoker[yes]", "age:smoker[yes]", "log(`dose/day`)"]


def test_coefficients_of_a_linear_regression_are_those_of_the_rows(linear):
    """Within a tenth of a posterior sd of least squares: the prior of sd 10 sigma and the noise of epsilon 1e4 move
    them by less. Planted fault: a coefficient in mapped units is 36 times as large.
    """
    b, covariance, sigma = ordinary_least_squares()
    for place, name in enumerate(NAMES):
        draws, sd = linear.draws(name), np.sqrt(covariance[place, place])
        assert abs(draws.mean() - b[place]) < 0.1 * sd
        assert abs(draws.std() / sd - 1) < 0.08
        np.testing.assert_allclose(linear.interval(name), np.quantile(draws, [0.025, 0.975]), rtol=1e-12)
    assert abs(linear.draws("sigma").mean() / sigma - 1) < 0.005
    assert abs(linear.parameter("sigma").mean() * 50 / sigma - 1) < 0.005
    assert not abs(linear.parameter("theta")[:, 1].mean() - b[1]) < 0.1


def test_contrasts_and_marginal_effects_of_a_linear_regression_are_those_of_the_rows(linear):
    """At 50 years a smoker pays more by b_2 + 50 b_3, whose sd follows from the covariance; a year costs b_1 and half
    of b_3 on average over both levels. Marginal effects are linear in b: mean and sd within 8%.
    """
    b, covariance, _ = ordinary_least_squares()
    for text, weights in {
        "smoker[yes] - smoker[no] + 50*age:smoker[yes]": [0, 0, 1, 50, 0],
        "10*age - log(`dose/day`)/2": [0, 10, 0, 0, -0.5],
    }.items():
        row, w = linear.contrast(text), np.array(weights)
        sd = np.sqrt(w @ covariance @ w)
        assert abs(row.mean - w @ b) < 0.1 * sd
        assert abs(row.sd / sd - 1) < 0.08
        assert row.name == text
    half = {"age": [40.0, 60.0], "dose/day": [2.0, 2.0], "smoker": ["no", "yes"]}
    for name, weights in {
        "age": [0, 1, 0, 0.5, 0],
        "smoker": [0, 0, 1, 50, 0],
        "smoker[yes]": [0, 0, 1, 50, 0],
        "dose/day": [0, 0, 0, 0, 0.5],
    }.items():
        row, w = linear.marginal_effect(name, at=half), np.array(weights)
        sd = np.sqrt(w @ covariance @ w)
        assert abs(row.mean - w @ b) < 0.1 * sd
        assert abs(row.sd / sd - 1) < 0.08
    everywhere = linear.marginal_effect("age")
    assert abs(everywhere.mean - (b[1] + b[3] / 2)) < 0.1


@pytest.mark.slow
def test_ratios_and_marginal_effects_of_a_logistic_regression_are_those_of_the_rows():
    """Against the rows' maximum likelihood, by Newton's method: within 0.3 posterior sds, which the prior explains.

    Seed 0 of 4 chains of 500 draws: the mean of draws alone is off by 0.1 sds with probability below 1e-4.
    """
    plan = tacit.Plan(tacit.LogisticRegression("ill ~ age + smoker"), SCHEMA, tacit.ApproxDP(epsilon=1e4, delta=1e-6))
    logistic = tacit.infer(tacit.privatize(ROWS, plan, ledger=None, dataset="rows"), seed=0, draws=500)
    x, y, b = np.column_stack([np.ones(N), _age, _yes]), ROWS["ill"] == "yes", np.zeros(3)
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ b))
        information = (x * (p * (1 - p))[:, None]).T @ x
        b = b + np.linalg.solve(information, x.T @ (y - p))
    sds = np.sqrt(np.diagonal(np.linalg.inv(information)))
    ratios = {row.name: row for row in logistic.ratios()}
    assert list(ratios) == ["age", "smoker[yes]"]
    for place, name in ((1, "age"), (2, "smoker[yes]")):
        assert abs(np.log(ratios[name].mean) - b[place]) < 0.3 * sds[place] + sds[place] ** 2
    at = {"age": _age[:500], "smoker": ROWS["smoker"][:500]}
    slope = b[1] * np.mean((p * (1 - p))[:500])
    effect = logistic.marginal_effect("age", at=at)
    assert abs(effect.mean - slope) < 0.3 * effect.sd
    assert logistic.predict(logistic.grid({"age": [20, 50, 80]})).mean.shape == (3,)


def test_a_saved_posterior_holds_coefficients_in_data_units_for_others(linear, tmp_path):
    path = linear.save(tmp_path / "linear.nc")
    with xarray.open_datatree(path, engine="h5netcdf") as file:
        group = file["coefficients"]
        assert list(group.data_vars) == [*NAMES[:4], "log(`dose_day`)", "sigma"]
        for plain, array in group.data_vars.items():
            assert np.array_equal(array.values.reshape(-1), linear.draws(array.attrs["term"])), plain
        assert np.array_equal(file["posterior/theta"].values, linear.arrays()["theta"])
    again = tacit.Posterior.load(path)
    assert np.array_equal(again.draws("age"), linear.draws("age"))
    assert again.contrast("2*age") == linear.contrast("2*age")


def test_names_that_netcdf_cannot_have_stay_apart():
    assert in_file({"a/b": 1, "a_b": 2, "chain": 3}) == {"a_b": ("a/b", 1), "a_b_": ("a_b", 2), "chain_": ("chain", 3)}


def test_files_of_earlier_versions_load_and_answer(earlier):
    """What a version without these answers saved: the same parameters, and coefficients made of them."""
    theta = earlier.arrays()["theta"]
    assert np.array_equal(earlier.draws("theta"), theta.reshape(-1, 2))
    np.testing.assert_allclose(earlier.draws("x"), theta[..., 1].reshape(-1) / 2, rtol=1e-12)  # bounds 1 to 5
    np.testing.assert_allclose(earlier.draws("Intercept + 3*x"), theta[..., 0].reshape(-1), rtol=1e-12)
    (ratio,) = earlier.ratios()
    assert ratio.mean == pytest.approx(np.exp(earlier.draws("x")).mean())
    shares = tacit.Posterior.load(FORMATS / "posterior-2.nc")
    assert shares.contrast("theta[a] - theta[b]").mean == pytest.approx(
        (shares.draws("theta")[:, 0] - shares.draws("theta")[:, 1]).mean()
    )


def test_points_beyond_the_bounds_are_predicted_with_a_warning(linear):
    inside = linear.grid({"age": [20, 80], "smoker": "yes"})
    assert inside == {"age": [20, 80], "smoker": ["yes", "yes"], "dose/day": [5.5, 5.5]}
    with pytest.warns(UserWarning, match="'age' of new goes beyond 18 to 90: no row of the release lies there"):
        linear.predict(linear.grid({"age": [95]}))


def test_what_cannot_be_answered_is_refused_in_one_sentence(linear, earlier):
    for ask, said in (
        (linear.ratios, "only their effects are ratios"),
        (lambda: linear.draws("ages"), "did you mean 'age'"),
        (lambda: linear.marginal_effect("smokr"), "did you mean 'smoker'"),
        (lambda: linear.grid({"age": []}), "at least one value"),
        (lambda: linear.grid({"agee": [1]}), "column of the formula"),
        (lambda: linear.grid({"age": range(1000), "dose/day": range(1000)}), "at most 100,000 points"),
        (lambda: linear.compare("cost ~ age"), "scores in rounds"),
        (lambda: earlier.compare("y ~ x"), "leave out one term"),
        (lambda: earlier.compare("y ~ log(x)"), "not 'log\\(x\\)'"),
        (lambda: earlier.compare("x ~ 1"), "the response 'y'"),
        (lambda: earlier.compare("y ~ x - 1"), "not 'x'"),
    ):
        with pytest.raises(tacit.InputError, match=said):
            ask()


def test_the_command_line_gives_the_same(linear, earlier, tmp_path):
    path = str(FORMATS / "posterior-2-newton.nc")
    run = CliRunner().invoke(
        app, ["effects", path, "--contrast", "2*x", "--ratios", "--marginal", "x", "--compare", "y ~ 1", "--json"]
    )
    assert run.exit_code == 0, run.output
    found = json.loads(run.output)
    assert found["contrasts"][0]["mean"] == earlier.contrast("2*x").mean
    assert found["ratios"][0]["high"] == earlier.ratios()[0].high
    assert found["marginal_effects"][0]["mean"] == earlier.marginal_effect("x").mean
    assert found["comparisons"][0]["log_bayes_factor"] == earlier.compare("y ~ 1").log_bayes_factor
    plain = CliRunner().invoke(app, ["effects", path])
    assert "goes with" in plain.output
    both = CliRunner().invoke(app, ["effects", path, "--compare", "y ~ 1", "--ratios", "--contrast", "x"])
    assert "The release speaks" in both.output
    path = str(linear.save(tmp_path / "linear.nc"))
    run = CliRunner().invoke(app, ["predict", path, "--at", "age=30,99", "--at", "smoker=no,yes", "--json"])
    found = json.loads(run.output)
    assert [row["smoker"] for row in found["predictions"]] == ["no", "yes"] * 2
    assert "beyond 18 to 90" in found["warnings"][-1]
    refused = CliRunner().invoke(app, ["predict", path, "--at", "age"])
    assert isinstance(refused.exception, tacit.InputError)
