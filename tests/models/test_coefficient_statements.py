"""Priors of coefficients: single ones in the units of the data, and those that know the spread of their columns."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tacit
from tacit.infer import prior_for, prior_of
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.newton import Newton
from tacit.models.score_model import ScorePrior

SCHEMA = tacit.Schema(y=(0, 10), age=(18, 90), sex=["f", "m"], ill=["no", "yes"], visits=(0, 12))
WEAK = {"slope": 2.5, "a0": 1.5, "b0": 0.01, "kappa0": 0.1, "psi0": 0.02}  # coefficients that know their columns
MODELS = [
    tacit.LinearRegression("y ~ age + sex"),
    tacit.LogisticRegression("ill ~ age + sex"),
    tacit.PoissonRegression("visits ~ age", link="log"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.family)
def test_a_coefficient_has_the_prior_that_was_said_in_data_units(model):
    """4,000 draws, seed 1: means within 6 standard errors, standard deviations within a tenth."""
    said = {"age": (0.02, 0.01), "Intercept": (3.0, 0.5)}  # which the bounds of y allow
    prior, rng = prior_for(model, SCHEMA, said), np.random.default_rng(1)
    theta = np.array([model.draw_parameters(prior, SCHEMA, rng)["theta"] for _ in range(4000)])
    found = model.coefficients({"theta": theta, "sigma": np.ones(4000)}, SCHEMA)
    for name, (mean, sd) in said.items():
        assert abs(found[name].mean() - mean) < 6 * sd / np.sqrt(4000)
        assert found[name].std() == pytest.approx(sd, rel=0.1)
    assert type(prior)(**prior.to_plain()) == prior


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.family)
def test_a_name_that_is_no_coefficient_is_refused_in_one_sentence(model):
    with pytest.raises(tacit.InputError, match=r"^Expected prior='agee' to be a coefficient .*did you mean 'age'"):
        prior_for(model, SCHEMA, {"agee": (0, 1)})
    with pytest.raises(tacit.InputError, match="to be a mean and a positive standard deviation"):
        prior_for(model, SCHEMA, {"age": (0, -1)})


def _rows(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    return {"age": age, "y": 2 + 0.05 * age + rng.normal(0, 0.8, n)}


NAMED, ALONE = {**WEAK, "age": (0, 0.01)}, {"effect": 0.05, "a0": 1.5, "b0": 0.01}


@pytest.mark.parametrize(
    ("method", "given"),
    [("wishart", NAMED), ("cell-moments", NAMED), ("naive", NAMED), ("wishart", ALONE)],
    ids=["wishart", "cell-moments", "naive", "effect"],
)
def test_a_named_prior_of_linear_regression_gives_the_rows_own_posterior_without_noise(method, given):
    """Seed 4, 200 rows, epsilon 1e9: 4,000 draws against 8,000 of Gibbs sampling from the rows, 6 standard errors.

    The prior N(0, 0.01^2) of a slope of 0.05 matters: it moves the slope by several of its standard deviations. An
    effect of 0.05, where it is 0.17, moves it by most of one.
    """
    rows = _rows(200, 4)
    plan = tacit.Plan(tacit.LinearRegression("y ~ age"), SCHEMA, tacit.PureDP(1e9))
    release = tacit.privatize(rows, plan, dataset="d", ledger=None)
    posterior = tacit.infer(release, method=method, prior=given, seed=1)
    assert max(row.r_hat for row in posterior.summary() if row.r_hat == row.r_hat) < 1.01
    prior = prior_for(plan.model, SCHEMA, given)
    x, y = np.column_stack([np.ones(200), (rows["age"] - 54) / 36]), (rows["y"] - 5) / 5
    said = prior.of_coefficients(plan.model.design(SCHEMA))
    v = said.statements(x.mean(axis=0))
    rng, sigma2, kept = np.random.default_rng(2), 0.02, []
    for _ in range(8100):
        precision = x.T @ x / sigma2 + (v.T * said.precisions(x.var(axis=0), sigma2)) @ v
        root = np.linalg.cholesky(np.linalg.inv(precision))
        theta = np.linalg.solve(precision, x.T @ y / sigma2) + root @ rng.normal(size=2)
        # An intercept's prior with a multiple of sigma for its standard deviation says something of sigma, too.
        apart = np.sum((y - x @ theta) ** 2) + said.by_sigma[0] * (v[0] @ theta) ** 2
        sigma2 = (prior.b0 + apart / 2) / rng.gamma(prior.a0 + 200 / 2 + (said.by_sigma[0] > 0) / 2)
        kept.append([*theta, np.sqrt(sigma2)])
    theirs = np.array(kept[100:])
    ours = np.column_stack([posterior.draws("theta"), posterior.parameter("sigma")])
    error = np.sqrt(ours.var(axis=0) / 1000 + theirs.var(axis=0) / 2000)
    assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 6 * error)
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.1)


def test_the_prior_of_a_slope_can_know_the_spread_of_its_column():
    """2,000 draws, seed 1: theta s / sigma has a standard deviation of 2.5, whatever the spread s of the column."""
    model = tacit.LinearRegression("y ~ age")
    prior, rng = prior_for(model, SCHEMA, WEAK), np.random.default_rng(1)
    draws = [model.draw_parameters(prior, SCHEMA, rng) for _ in range(2000)]
    spread = np.array([np.sqrt(one["Sigma_x"][0, 0] + 1e-3) for one in draws])
    effects = np.array([one["theta"][1] / one["sigma"] for one in draws]) * spread
    assert effects.std() == pytest.approx(2.5, rel=6 / np.sqrt(4000))


def test_the_prior_of_an_effect_can_leave_sigma_alone():
    """2,000 draws, seed 1: theta s has a standard deviation of 0.5 and goes with no sigma, 6 standard errors each."""
    model = tacit.LinearRegression("y ~ age")
    prior, rng = prior_for(model, SCHEMA, {"effect": 0.5}), np.random.default_rng(1)
    draws = [model.draw_parameters(prior, SCHEMA, rng) for _ in range(2000)]
    effects = np.array([one["theta"][1] * np.sqrt(one["Sigma_x"][0, 0] + 1e-3) for one in draws])
    assert effects.std() == pytest.approx(0.5, rel=6 / np.sqrt(4000))
    sigmas = np.argsort(np.argsort([one["sigma"] for one in draws]))
    assert abs(np.corrcoef(np.argsort(np.argsort(np.abs(effects))), sigmas)[0, 1]) < 6 / np.sqrt(2000)
    assert type(prior)(**prior.to_plain()) == prior


@pytest.mark.parametrize("method", ["gibbs-update", "gibbs-prior", "augment", "individual"])
def test_methods_that_need_a_conjugate_prior_say_so(method):
    """Before, they took another prior than the one that `calibrate` drew from."""
    plan = tacit.Plan(tacit.LinearRegression("y ~ age"), SCHEMA, tacit.PureDP(1.0))
    release = tacit.simulate(plan, n=100, seed=1).release
    with pytest.raises(tacit.InputError, match="to come with a prior that says lambda0"):
        tacit.infer(release, method=method, prior=WEAK)
    with pytest.raises(tacit.InputError, match="to be said of no coefficient for method"):
        tacit.infer(release, method=method, prior={"lambda0": 1.0, "age": (0, 1)})


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 5000])
def test_a_prior_that_knows_the_spread_of_columns_is_calibrated(n):
    """Seed 1, 200 trials, 10 numbers; false alarms 1e-4. The naive method is the planted fault."""
    plan = tacit.Plan(tacit.LinearRegression("y ~ age + visits"), SCHEMA, tacit.ApproxDP(1.0, 1e-6))
    prior = {**WEAK, "nu0": 4.0}
    found = tacit.calibrate(plan, n=n, trials=200, seed=1, prior=prior)
    assert found.calibrated(1e-4), found.p_values()
    assert not tacit.calibrate(plan, n=500, trials=200, seed=1, method="naive", prior=prior).calibrated(1e-4)


FORGED = [
    5,
    "age",
    [5],
    [[]],
    [["age"]],
    [["age", 0]],
    [["age", 0, 1, 2]],
    [["age", "0", 1]],
    [["age", 0, float("nan")]],
    [["age", 0, float("inf")]],
    [["age", 0, True]],
    [["age", 0, 0]],
    [[["age"], 0, 1]],
    [[{"age": 1}, 0, 1]],
    [{"age": 1}],
    [["age", 0, 1], ["age", 0, 1]],
    [None],
]


@pytest.mark.parametrize("said", FORGED, ids=repr)
@pytest.mark.parametrize("prior", [tacit.LinearPrior, tacit.MomentPrior, ScorePrior], ids=lambda kind: kind.__name__)
def test_a_forged_list_of_coefficients_ends_in_one_sentence(prior, said):
    """Before, most of these were a KeyError, an IndexError or a TypeError."""
    whole = {
        tacit.LinearPrior: lambda: MODELS[0].default_prior(SCHEMA),
        tacit.MomentPrior: lambda: MODELS[1].default_prior(SCHEMA),
        ScorePrior: ScorePrior,
    }[prior]()
    with pytest.raises(tacit.InputError, match=r"^Expected prior[^\n]*\.$"):
        whole.replaced({"coefficients": said})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.family)
def test_a_forged_posterior_file_that_names_no_coefficient_says_so(model):
    """The file's prior is read by `Posterior.whole_prior` and used by whatever shows it."""
    plan = tacit.Plan(model, SCHEMA, tacit.ApproxDP(1.0, 1e-6))
    posterior = tacit.infer(tacit.simulate(plan, n=200, seed=1).release, draws=50, warmup=50, anyway=True)
    forged = {**json.loads(posterior.tree.attrs["prior"]), "coefficients": [["salary", 0, 1]]}
    posterior.tree.attrs["prior"] = json.dumps(forged)
    with pytest.raises(tacit.InputError, match=r"^Expected prior='salary' to be a coefficient: [^\n]*\.$"):
        posterior.prior_coefficients()
    posterior.tree.attrs["prior"] = json.dumps({**forged, "coefficients": [[["age"], 0]]})
    with pytest.raises(tacit.InputError, match="to name coefficients by text"):
        posterior.prior_coefficients()


def test_a_name_is_read_alike_for_sums_and_for_scores():
    """One release of each kind: the same words, the same numbers, the same refusals."""
    model = tacit.LogisticRegression("ill ~ age + sex")
    for kind in (AddNoise(), Newton()):
        plan = tacit.Plan(model, SCHEMA, tacit.ApproxDP(1.0, 1e-6), kind)
        found = prior_of(plan, {"age": (0.01, 0.1), "slope": 1.5})
        assert found.coefficients == (("age", 0.01, 0.1),)
        assert found.slope == 1.5
        with pytest.raises(tacit.InputError, match=r"^Expected prior='agee' to be a coefficient .*did you mean 'age'"):
            prior_of(plan, {"agee": (0, 1)})
        with pytest.raises(tacit.InputError, match="to be a mean and a positive standard deviation"):
            prior_of(plan, {"age": 3})
