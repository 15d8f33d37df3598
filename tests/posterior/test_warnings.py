"""What a posterior says about itself before anybody trusts it, and what its prior expected."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import tacit

SCHEMA = tacit.Schema(cost=(0, 1000), age=(20, 80), smoker=["no", "yes"])
LINEAR = tacit.Plan(tacit.LinearRegression("cost ~ age"), SCHEMA, tacit.PureDP(50.0))
INSIDE = {"theta": np.array([0.0, 0.2]), "sigma": 0.15, "mu_x": np.array([0.0]), "Sigma_x": np.array([[0.05]])}


def _posterior(parameters, **options):
    release = tacit.simulate(LINEAR, n=2000, seed=1, parameters=parameters).release
    return tacit.infer(release, method="naive", **options)


def test_it_says_how_much_was_clamped():
    """Seed 1. A third of the ages lie outside their bounds; with everything well inside nothing is said.

    Nor is it of ages spread evenly between their bounds (variance 1/3): a normal distribution of that variance has 8%
    outside, and a linear regression assumes no shape. That was once a warning that did not apply.
    """
    wide = _posterior({**INSIDE, "Sigma_x": np.array([[1.0]])})
    assert any("values of age lie outside" in text for text in wide.warnings())
    assert not any("values of cost lie outside" in text for text in wide.warnings())
    assert not any("lie outside" in text for text in _posterior(INSIDE).warnings())
    rng = np.random.default_rng(1)
    ages = rng.uniform(20, 80, 2000)
    rows = {"age": ages, "cost": 400 + 3 * ages + rng.normal(0, 50, 2000)}
    even = tacit.infer(tacit.privatize(rows, LINEAR, ledger=None), method="naive")
    assert not any("lie outside" in text for text in even.warnings())


def test_it_says_how_many_rows_were_moved_into_the_ball():
    """Seed 1. |x| of two covariates with variance 0.2 exceeds 0.7 in about 29% of rows, and 1.4 in about 1%."""
    distribution = {"theta": np.zeros(3), "sigma": 0.1, "mu_x": np.zeros(2), "Sigma_x": 0.2 * np.eye(2)}
    schema = tacit.Schema(cost=(0, 1000), age=(20, 80), weight=(40, 120))
    for radius, many in ((0.7, True), (1.4, False)):
        plan = tacit.Plan(tacit.LinearRegression("cost ~ age + weight", radius=radius), schema, tacit.ZCDP(50.0))
        release = tacit.simulate(plan, n=2000, seed=1, parameters=distribution).release
        said = tacit.infer(release, method="naive").warnings()
        assert any("outside the ball" in text for text in said) == many


def test_it_says_when_the_release_says_nothing():
    """Seed 2: 20 rows at epsilon 0.0001 against 2,000 at 1."""
    for epsilon, n, empty in ((1e-4, 20, True), (1.0, 2000, False)):
        plan = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(epsilon))
        posterior = tacit.infer(tacit.simulate(plan, n=n, seed=2).release)
        assert any("hardly says anything" in text for text in posterior.warnings()) == empty


def test_it_says_when_the_sampler_struggled():
    posterior = _posterior(INSIDE, draws=50)
    assert any("Few effective draws" in text for text in posterior.warnings())
    diverged = np.zeros((4, 50), bool)
    diverged[0, :3] = True
    posterior.tree["sample_stats"] = xr.DataTree(xr.Dataset({"diverging": (("chain", "draw"), diverged)}))
    assert any("1.5% of the draws diverged" in text for text in posterior.warnings())
    theta = posterior.tree["posterior"]["theta"]
    theta.values = theta.values + 0.15 * theta.values.std(axis=(0, 1)) * np.arange(4.0)[:, None, None]
    posterior._summaries.clear()
    assert any("chains disagree" in text for text in posterior.warnings())


def test_the_prior_is_shown_in_both_units():
    """A slope of 1 in mapped units is 500 / 30 of cost a year; sigma scales by 500. Means of 4,000 draws."""
    posterior = _posterior(INSIDE)
    rows = {row.name: row for row in posterior.prior_coefficients()}
    assert set(rows) == {row.name for row in posterior.coefficients()} == {"Intercept", "age", "sigma"}
    assert rows["age"].sd == pytest.approx(rows["age"].mapped_sd * 500 / 30, rel=1e-9)
    assert rows["sigma"].sd == pytest.approx(rows["sigma"].mapped_sd * 500, rel=1e-9)
    page = tacit.report(posterior)
    assert "prior sd, mapped units" in page
    assert "Coefficients in the units of the data" in page


def test_the_default_prior_expects_what_the_bounds_allow():
    """Seed 0, 4,000 draws at each point of the middle half: 99% inside the bounds, less 5 standard errors (0.8%)."""
    ages = {"age": [35.0, 42.0, 50.0, 58.0, 65.0]}
    inside = tacit.prior_predictive(LINEAR, ages).draws
    assert np.mean((inside >= 0) & (inside <= 1000)) >= 0.99 - 0.008
    wide = tacit.prior_predictive(LINEAR, ages, prior={"b0": 1.0}).draws
    assert np.mean((wide >= 0) & (wide <= 1000)) < 0.95, "power: a prior that is too wide"
    with pytest.raises(tacit.InputError, match="to be a regression"):
        tacit.prior_predictive(tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0)), {})


FIVE = tacit.Schema(y=["no", "yes"], x=(1, 5))
SKEWED, BELL = (0.02, 0.05, 0.16, 0.35, 0.42), None
MISFIT = "The release does not fit the model"


def _logistic(shares):
    """The warnings about 5,000 rows with logit 2.2 - 0.72 x; x has these shares on 1 to 5, or is normal well inside."""
    rng = np.random.default_rng(1)
    x = rng.choice(np.arange(1.0, 6), 5000, p=shares) if shares else np.clip(rng.normal(3, 0.6, 5000), 1, 5)
    y = np.where(rng.random(5000) < 1 / (1 + np.exp(0.72 * x - 2.2)), "yes", "no")
    plan = tacit.Plan(tacit.LogisticRegression("y ~ x"), FIVE, tacit.PureDP(10.0), tacit.AddNoise())
    release = tacit.privatize({"x": x, "y": y}, plan, dataset="d", ledger=None)
    return tacit.infer(release, method="naive", warmup=300, draws=300, chains=2)


def test_a_released_sum_that_the_posterior_cannot_explain_is_said_first():
    """Seed 1 for the rows; x*x of the skewed ones is 14 sds off (19 under `marginal`). A false alarm needs 8 sds."""
    posterior = _logistic(SKEWED)
    first = posterior.warnings()[0]
    assert first.startswith(MISFIT)
    assert "the released sum x*x is 1" in first
    page = tacit.report(posterior)
    assert page.index(MISFIT) < page.index("The naive method")
    assert not any(MISFIT in text for text in _logistic(BELL).warnings())


def test_a_prior_conflict_is_not_called_a_release_that_says_nothing():
    """20 rows in 100 say yes. The prior is sure of a share of 0.999: the posterior is the prior, and excludes them."""
    rows = {"smoker": ["yes"] * 20 + ["no"] * 80}
    release = tacit.privatize(
        rows, tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1e6)), dataset="d", ledger=None
    )
    said = tacit.infer(release, prior={"a": 1e5, "b": 1e2}).warnings()
    assert said[0].startswith(MISFIT)
    assert not any("hardly says anything" in text for text in said)
    assert tacit.infer(release).warnings() == (), "power: the default prior fits"


def test_warnings_come_by_gravity():
    """What forbids to use the numbers comes before what is good to know."""
    posterior = _posterior({**INSIDE, "Sigma_x": np.array([[0.35]])}, draws=50)
    theta = posterior.tree["posterior"]["theta"]
    theta.values = theta.values + np.arange(4.0)[:, None, None]
    starts = ["The chains failed", "The naive method", "About"]
    assert [text.startswith(start) for text, start in zip(posterior.warnings(), starts, strict=False)] == [True] * 3
