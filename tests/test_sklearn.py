"""The scikit-learn face: what a fit costs, what it says, what it refuses, and scikit-learn's own checks."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest

import tacit

sklearn_base = pytest.importorskip("sklearn.base")

from sklearn import config_context  # noqa: E402
from sklearn.ensemble import BaggingRegressor  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.inspection import permutation_importance  # noqa: E402
from sklearn.metrics import PredictionErrorDisplay, check_scoring, make_scorer  # noqa: E402
from sklearn.model_selection import cross_val_predict, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402
from sklearn.utils.metadata_routing import UNUSED  # noqa: E402

from tacit.sklearn import ChargedAgainWarning, TacitClassifier, TacitRegressor  # noqa: E402

LINEAR = tacit.Plan(
    tacit.LinearRegression("cost ~ age + smoker"),
    tacit.Schema(cost=(0, 1000), age=(20, 80), smoker=["no", "yes"]),
    tacit.ZCDP(rho=50.0),
)
LOGISTIC = tacit.Plan(
    tacit.LogisticRegression("ill ~ sex + smoker"),
    tacit.Schema(ill=["no", "yes"], sex=["f", "m"], smoker=["no", "yes"]),
    tacit.ZCDP(rho=50.0),
)
FEW = {"chains": 1, "draws": 200, "warmup": 100}
FAST = {"method": "naive", **FEW}  # the noise is negligible here


@pytest.fixture
def book(tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("clinic", tacit.ZCDP(rho=120.0))
    return ledger


@pytest.fixture(scope="module")
def rows():
    """Seed 1."""
    rng = np.random.default_rng(1)
    age, smoker = rng.uniform(20, 80, 2000), rng.choice(["no", "yes"], 2000)
    cost = 100 + 5 * age + 200 * (smoker == "yes") + rng.normal(0, 30, 2000)
    return pd.DataFrame({"smoker": smoker, "age": age, "cost": cost})


def test_a_fit_is_a_release_and_an_inference(book, rows):
    """At rho = 50 the coefficients are found: seed 1 of the rows, fresh entropy of the noise.

    Standard errors are 0.04 a year and 1.4 for smokers, the noise far below; alarm at 6 of them (below 1e-8).
    """
    model = TacitRegressor(LINEAR, ledger=book, dataset="clinic", **FAST)
    assert model.fit(rows[["smoker", "age"]], rows["cost"]) is model
    assert book.left("clinic").spends == 1
    assert model.release_.n == 2000
    assert model.release_.ledger is not None
    found = dict(zip(model.coefficient_names_, model.coef_, strict=True))
    assert found["age"] == pytest.approx(5, abs=0.25)
    assert found["smoker[yes]"] == pytest.approx(200, abs=9)
    points = pd.DataFrame({"smoker": ["no", "yes"], "age": [30.0, 60.0]})
    mean, sd = model.predict_public(points, return_std=True)
    np.testing.assert_allclose(mean, [250, 600], atol=12)
    np.testing.assert_allclose(sd, 30, rtol=0.25)
    np.testing.assert_array_equal(model.predict_public(points), mean)
    as_array = TacitRegressor(LINEAR, ledger=None, **FAST).fit(
        rows[["age", "smoker"]].to_numpy(dtype=object), rows["cost"].to_numpy()
    )
    assert as_array.release_.ledger is None
    np.testing.assert_allclose(as_array.coef_, model.coef_, atol=9)


def test_every_refit_is_announced_and_charged_and_can_be_stopped(book, rows):
    X, y = rows[["age", "smoker"]], rows["cost"]
    model = TacitRegressor(LINEAR, ledger=book, dataset="clinic", **FAST)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
        with pytest.raises(ChargedAgainWarning, match="charged 1 time before"):
            model.fit(X, y)
    assert book.left("clinic").spends == 1, "an announcement that became an error costs nothing"
    clone = sklearn_base.clone(model)
    with pytest.warns(ChargedAgainWarning, match="rho = 50"):
        clone.fit(X, y)
    assert book.left("clinic").spends == 2
    with pytest.warns(ChargedAgainWarning), pytest.raises(tacit.RefusedError, match="clinic"):
        model.fit(X, y)
    assert book.left("clinic").spends == 2


def test_a_refit_without_a_ledger_is_announced_too(rows):
    model = TacitRegressor(LINEAR, ledger=None, **FAST).fit(rows[["age", "smoker"]], rows["cost"])
    with pytest.warns(ChargedAgainWarning):
        model.fit(rows[["age", "smoker"]], rows["cost"])


def test_what_is_not_said_is_refused(book, rows):
    X, y = rows[["age", "smoker"]], rows["cost"]
    for model, said in (
        (TacitRegressor(ledger=book, dataset="clinic"), "plan"),
        (TacitRegressor(LINEAR), "ledger=False"),
        (TacitRegressor(LINEAR, ledger=True), "ledger=True"),
        (TacitRegressor(LINEAR, ledger=book), "dataset"),
        (TacitRegressor(LOGISTIC, ledger=None), "family"),
        (TacitClassifier(LINEAR, ledger=None), "family"),
    ):
        with pytest.raises(tacit.InputError, match=said):
            model.fit(X, y)
    model = TacitRegressor(LINEAR, ledger=book, dataset="clinic")
    for bad_X, bad_y in ((X[["age"]], y), (X.to_numpy()[:, :1], y), (X, y[:-1]), (X, np.zeros((2000, 2)))):
        with pytest.raises(tacit.InputError):
            model.fit(bad_X, bad_y)
    assert book.left("clinic").spends == 0


def test_no_value_can_raise(rows):
    """Missing, endless and odd cells take their stand-ins."""
    X, y = rows[["age", "smoker"]].astype(object), rows["cost"].astype(object)
    X.iloc[0, 0], X.iloc[1, 0], X.iloc[2, 1], y.iloc[3], y.iloc[4] = None, np.inf, "??", "n/a", np.nan
    model = TacitRegressor(LINEAR, ledger=None, **FAST).fit(X, y)
    assert model.release_.n == 2000


SCORERS = ["neg_mean_squared_error", "r2", "neg_max_error", "neg_mean_absolute_error", None]


@pytest.fixture(scope="module")
def fitted(rows):
    return TacitRegressor(LINEAR, ledger=None, **FAST).fit(rows[["age", "smoker"]], rows["cost"])


def test_no_scorer_gets_past_the_refusal(fitted, rows):
    """Whatever is made of predictions. Planted fault: a `predict` that answers lets every one of them through."""
    X, y = rows[["age", "smoker"]], rows["cost"]
    ways = [
        lambda: fitted.score(X, y),
        lambda: fitted.predict(X),
        lambda: fitted.predict(X, return_std=True),
        *(lambda scorer=scorer: check_scoring(fitted, scorer)(fitted, X, y) for scorer in SCORERS),
        lambda: make_scorer(lambda true, found: float(found[0]))(fitted, X, y),
        lambda: permutation_importance(fitted, X, y, n_repeats=1),
        lambda: PredictionErrorDisplay.from_estimator(fitted, X, y),
        lambda: make_pipeline(FrozenEstimator(fitted)).fit(X, y).predict(X),
    ]
    for way in ways:
        with pytest.raises(tacit.InputError, match=r"^Expected public_inputs=True for .*\.$"):
            way()
    fitted.public_inputs = True
    try:
        assert fitted.score(X, y) > 0.9
        assert all(np.all(np.isfinite(way())) for way in ways[:-2] if not isinstance(way(), dict))
    finally:
        fitted.public_inputs = False


def test_cross_validation_of_private_rows_gives_no_score(book, rows):
    """scikit-learn turns the refusal into nan, or raises it; every fold has been charged all the same."""
    model = TacitRegressor(LINEAR, ledger=book, dataset="clinic", **FAST)
    X, y = rows[["age", "smoker"]], rows["cost"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(model, X, y, cv=2, scoring="neg_mean_squared_error")
    assert np.isnan(scores).all()
    assert book.left("clinic").spends == 2
    with pytest.raises(tacit.InputError, match="public_inputs"):
        cross_val_predict(TacitRegressor(LINEAR, ledger=None, **FAST), X, y, cv=2)


@pytest.mark.parametrize("routing", [False, True])
def test_bagging_is_refused_before_anything_is_charged(book, rows, routing):
    """Bagging draws rows with replacement: one of 2,000 rows stood up to 6 times in a fit that was charged once.

    It passes weights where an estimator takes them, by the signature or by its metadata request. Planted fault: a fit
    without `sample_weight`, for which it copies rows and is charged.
    """
    X, y = rows[["age", "smoker"]].to_numpy(dtype=object), rows["cost"].to_numpy()
    X = np.column_stack([X[:, 0].astype(float), X[:, 1] == "yes"]).astype(float)
    plan = dataclasses.replace(LINEAR, schema=tacit.Schema(cost=(0, 1000), age=(20, 80), smoker=(0, 1)))

    class Copied(TacitRegressor):
        __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012

        def fit(self, X, y):
            return super().fit(X, y)

    with config_context(enable_metadata_routing=routing):
        model = TacitRegressor(plan, ledger=book, dataset="clinic", **FAST)
        with pytest.raises(tacit.InputError, match=r"^Expected sample_weight to be None.*\.$"):
            BaggingRegressor(model, n_estimators=2, random_state=1).fit(X, y)
        assert book.left("clinic").spends == 0
        copied = Copied(plan, ledger=book, dataset="clinic", **FAST)
        BaggingRegressor(copied, n_estimators=1, random_state=1).fit(X, y)
        assert book.left("clinic").spends == 1


@pytest.mark.parametrize("kind", [TacitRegressor, TacitClassifier])
@pytest.mark.parametrize("weights", [np.ones(2000), [1.0] * 2000, np.zeros(0), 1.0])
def test_any_weights_are_refused(book, rows, kind, weights):
    X, y = rows[["age", "smoker"]], rows["cost"]
    plan = LINEAR if kind is TacitRegressor else LOGISTIC
    for model in (kind(plan, ledger=book, dataset="clinic", **FAST), kind(simulate=True, **FAST)):
        with pytest.raises(tacit.InputError, match="sample_weight"):
            model.fit(X, y, sample_weight=weights)
    assert book.left("clinic").spends == 0


def test_no_ledger_means_the_same_as_at_the_boundary(rows):
    """None releases without a ledger, as in `privatize`, and the release says so; what is left unsaid is refused."""
    X, y = rows[["age", "smoker"]], rows["cost"]
    assert tacit.privatize(rows, LINEAR, ledger=None).ledger is None
    assert TacitRegressor(LINEAR, ledger=None, **FAST).fit(X, y).release_.ledger is None
    with pytest.raises(tacit.InputError, match=r"^Expected ledger to be said"):
        tacit.privatize(rows, LINEAR)
    with pytest.raises(tacit.InputError, match=r"^Expected ledger=False to be .* None"):
        TacitRegressor(LINEAR, **FAST).fit(X, y)


def test_cross_validation_charges_every_fold(book, rows):
    """Two folds, two releases. (Its scores are of made-up rows: they are public.)"""
    model = TacitRegressor(LINEAR, ledger=book, dataset="clinic", public_inputs=True, **FAST)
    with pytest.warns(ChargedAgainWarning):
        scores = cross_val_score(model, rows[["age", "smoker"]], rows["cost"], cv=2)
    assert book.left("clinic").spends == 2
    assert scores.min() > 0.9


@pytest.mark.slow
def test_a_classifier_gives_probabilities():
    """Seed 2: 4,000 rows with two binary covariates; probabilities to 0.05, over 5 standard errors (0.008) and more."""
    rng = np.random.default_rng(2)
    sex, smoker = rng.choice(["f", "m"], 4000), rng.choice(["no", "yes"], 4000)
    probability = 1 / (1 + np.exp(-(-1.0 + 0.5 * (sex == "m") + 1.5 * (smoker == "yes"))))
    ill = np.where(rng.random(4000) < probability, "yes", "no")
    model = TacitClassifier(LOGISTIC, ledger=None, chains=2, draws=400)
    model.fit(pd.DataFrame({"sex": sex, "smoker": smoker}), ill)
    assert list(model.classes_) == ["no", "yes"]
    points = pd.DataFrame({"sex": ["f", "m"], "smoker": ["no", "yes"]})
    with pytest.raises(tacit.InputError, match="public_inputs"):
        model.predict_proba(points)
    with pytest.raises(tacit.InputError, match="public_inputs"):
        model.predict(points)
    np.testing.assert_array_equal(model.predict_public(points), ["no", "yes"])
    model.public_inputs = True
    found = model.predict_proba(points)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp([1.0, -1.0])), atol=0.05)
    assert list(model.predict(points)) == ["no", "yes"]
    model.public_inputs = False
    with pytest.raises(tacit.InputError, match="public_inputs"):
        model.score(points, ["no", "yes"])


def test_a_simulation_needs_no_plan_and_says_what_it_is():
    """Seed 3."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 1))
    y = 3 * X[:, 0] + 1 + rng.normal(0, 0.1, 300)
    model = TacitRegressor(simulate=True, **FAST).fit(X, y)
    assert model.release_.simulated
    assert model.score(X, y) > 0.98
    assert any("made-up" in warning for warning in model.posterior_.warnings())
    noisy = TacitRegressor(simulate=tacit.PureDP(0.5), **FAST).fit(X, y)
    assert noisy.release_.noise.sd[0] > 100 * model.release_.noise.sd[0]


# ---------------------------------------------------------------------------------------------------------------------
# scikit-learn's own checks

# These fit nothing, or refuse before they do.
QUICK = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_valid_tag_types",
    "check_estimators_unfitted",
    "check_estimators_empty_data_messages",
    "check_complex_data",
    "check_supervised_y_no_nan",
    "check_requires_y_none",
    "check_fit1d",
    "check_fit2d_1sample",
    "check_estimator_sparse_tag",
]
# scikit-learn leaves these out by itself. The first: the noise has no seed, and the tags say so. The second: arrays of
# other libraries are no input of ours.
LEFT_OUT = {"check_pipeline_consistency", "check_array_api_input"}


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("kind", [TacitRegressor, TacitClassifier])
def test_scikit_learn_s_checks_that_need_no_fit(kind, name):
    getattr(estimator_checks, name)(kind.__name__, kind(simulate=True, **FAST))


def test_a_classifier_of_three_classes_is_refused():
    estimator_checks.check_classifier_not_supporting_multiclass(
        "TacitClassifier", TacitClassifier(simulate=True, **FAST)
    )


@pytest.mark.slow
def test_all_of_scikit_learn_s_checks_of_a_regressor():
    """Fresh entropy: in a simulation the noise is 1e-9 of a row, and the checks' tolerances are 1e-7 and more."""
    found = check_estimator(TacitRegressor(simulate=True, **FAST), on_fail=None, on_skip=None)
    failed = {one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"}
    # Weights are refused on purpose; some checks say so in words of their own.
    assert {name: why for name, why in failed.items() if "sample_weight" not in name} == {}
    assert "Expected sample_weight to be None" in failed["check_sample_weights_list"]
    assert {one["check_name"] for one in found if one["status"] == "skipped"} <= LEFT_OUT
    assert sum(one["status"] == "passed" for one in found) >= 35


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["check_dict_unchanged", "check_fit_check_is_fitted", "check_n_features_in", "check_classifiers_one_label"],
)
def test_scikit_learn_s_checks_of_a_classifier(name):
    """Not all of them: each compiles a sampler of its own for every shape of its data."""
    getattr(estimator_checks, name)("TacitClassifier", TacitClassifier(simulate=True, **FEW))


@pytest.mark.parametrize("where", ["X", "y"])
def test_one_row_of_a_list_does_not_change_how_others_are_read(where):
    """Replace-one on lists of cells of mixed types: the exact sums move by no more than the sensitivity.

    The planted fault is one type for all cells, by which a single duration makes a second of every true.
    """
    from tacit.boundary import collect, needed
    from tacit.sources.open import open_source

    schema = tacit.Schema(y=(0, 1), a=(0, 1))
    plan = tacit.Plan(tacit.LinearRegression("y ~ a"), schema, tacit.ZCDP(1.0))
    bound = float(plan.statistic().sensitivity().l1)

    def sums(rows, response, typed=False):
        model = TacitRegressor(plan, ledger=None)
        table = model._table(np.asarray(rows) if typed else rows, np.asarray(response) if typed else response, plan)
        return np.array(collect(open_source(table, *needed(plan)), plan)[1].totals, float)

    def moved(cell, typed=False):
        rows, response = [[True] for _ in range(50)], [True] * 50
        before = sums(rows, response, typed)
        if where == "X":
            rows[0] = [cell]
        else:
            response[0] = cell
        return np.abs(sums(rows, response, typed) - before).sum()

    second = np.timedelta64(1, "s")
    for cell in ("x", 0, 1.5, None, "true", second):
        assert moved(cell) <= bound
    assert moved(second, typed=True) > bound
