"""A scikit-learn face for regressions: ``fit`` spends the plan's budget, and says so.

``fit(X, y)`` is `privatize` with an explicit plan and ledger, followed by `infer`. Every call of ``fit`` is a release
and is charged as one, also when a search or a cross-validation calls it on clones. A second charge is announced by a
`ChargedAgainWarning` before it happens; turned into an error, that warning stops the refit before anything is spent.
What is read, clamped and promised is what the plan says: the values of X and y decide nothing else and raise nothing.

A prediction is a number about the row it is made for, and a score is made of predictions; no noise protects either.
So ``predict``, ``predict_proba`` and ``score``, and with them every scorer of scikit-learn, are refused unless
``public_inputs=True`` says that the rows they are given are public. ``predict_public`` says so for one call.
``simulate=True`` is for made-up data only: no ledger, and bounds taken from the data.

**What is not noticed.** The promise is about the rows that ``fit`` is given, each of them one person's. What happened
to them before is out of sight, and is not guessed from the rows, as a guess would tell about them:

* Resampling. An ensemble that draws rows with replacement puts somebody into one fit several times, who is then
  protected that many times less than the ledger says. Those that pass weights (`BaggingRegressor`,
  `BaggingClassifier`, `AdaBoostClassifier`) are refused, because weights are. Those that copy rows
  (`AdaBoostRegressor`, a loop with `resample`) can not be told from a table: do not use them.
* Preprocessing that learns from rows (`StandardScaler`, `SimpleImputer`, `PCA`, target encoders, feature selection).
  Each row then depends on all others, which no price here covers, and the plan's bounds are about other numbers. Leave
  columns in their own units: the plan maps and fills them. What looks at one row alone (`FunctionTransformer` with such
  a function) is fine.
* Choosing among fits by anything but their releases, such as a plot of residuals.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.boundary import privatize
from tacit.errors import InputError, expected
from tacit.infer import infer
from tacit.ledger import Ledger
from tacit.models.linear import LinearRegression
from tacit.models.logistic import LogisticRegression
from tacit.models.poisson_regression import PoissonRegression
from tacit.models.regression import Regression
from tacit.plan import Plan, as_plan
from tacit.posterior import Posterior
from tacit.privacy.guarantees import Guarantee, PureDP
from tacit.release import Release
from tacit.schema import Category, Number, Schema

_NO_NOISE = PureDP(1e12)  # of a simulation that asks for no budget: noise far below anything that is seen


class ChargedAgainWarning(UserWarning):
    """A fit is about to charge a dataset that has been charged before."""


class _Estimator(BaseEstimator, ABC):
    """What both estimators share.

    ``ledger`` is a `Ledger` or its path, with ``dataset`` the name of the rows in it; ``ledger=None`` releases without
    one, as in `privatize`, and the release says so. It must be said: the default, False, is refused. ``public_inputs``
    says that rows which are predicted or scored, not those that are fitted, are public. ``method``, ``prior``,
    ``seed``, ``chains``, ``draws``, ``warmup`` and ``anyway`` go to `infer`. Where it refuses, ``release_`` is there.
    """

    # With metadata routing an ensemble that resamples asks this before it copies rows; it is to pass weights instead,
    # which are refused.
    __metadata_request__fit = {"sample_weight": True}  # noqa: RUF012  # read by scikit-learn off the class

    plan_: Plan
    release_: Release
    posterior_: Posterior

    def __init__(
        self,
        plan: Plan | str | Path | None = None,
        *,
        ledger: Ledger | str | Path | bool | None = False,
        dataset: str | None = None,
        simulate: bool | Guarantee = False,
        public_inputs: bool = False,
        method: str | None = None,
        prior: Any = None,
        seed: int = 0,
        chains: int = 4,
        draws: int = 1000,
        warmup: int = 500,
        anyway: bool = False,
    ) -> None:
        self.plan = plan
        self.ledger = ledger
        self.dataset = dataset
        self.simulate = simulate
        self.public_inputs = public_inputs
        self.method = method
        self.prior = prior
        self.seed = seed
        self.chains = chains
        self.draws = draws
        self.warmup = warmup
        self.anyway = anyway

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Release the plan's statistic of the rows (X, y), charged to the ledger, and infer from the release.

        X is a data frame with the plan's columns, or an array with them in the order of the formula. Every row must be
        one person's, and must stand there once. ``sample_weight`` is there to be refused: a row with a weight of 3
        would be protected three times less than is charged.
        """
        if sample_weight is not None:
            raise InputError(
                "Expected sample_weight to be None: rows that are weighted, or drawn several times by an ensemble such "
                "as bagging, would be protected less than the ledger says."
            )
        if self.simulate:
            release = self._simulated(X, y)
        else:
            plan = self._declared()
            table = self._table(X, y, plan)
            self._announce(plan)
            assert not isinstance(self.ledger, bool)
            release = privatize(table, plan, ledger=self.ledger, dataset=self.dataset)
        self.plan_, self.release_ = release.plan, release
        self.posterior_ = infer(
            release,
            method=self.method,
            prior=self.prior,
            seed=self.seed,
            chains=self.chains,
            draws=self.draws,
            warmup=self.warmup,
            anyway=self.anyway,
        )
        means = {row.name: row.mean for row in self.posterior_.coefficients()}
        names = self._regression().design(self.plan_.schema).names
        self.coefficient_names_ = [name for name in names if name != "Intercept"]
        self.coef_ = np.array([means[name] for name in self.coefficient_names_])
        self.intercept_ = means.get("Intercept", 0.0)
        return self

    def _declared(self) -> Plan:
        """The plan, checked; refuses a ledger that was not said."""
        if self.plan is None:
            raise InputError("Expected plan to be a Plan or the path of one: bounds and budget are never guessed.")
        plan = as_plan(self.plan)
        self._check_family(plan)
        if isinstance(self.ledger, bool):
            raise expected("ledger", self.ledger, "to be a Ledger or its path, or None, which releases without one")
        return plan

    @abstractmethod
    def _check_family(self, plan: Plan) -> None:
        """Refuse a plan of another family than the estimator's."""

    @abstractmethod
    def _simulation_plan(self, X: Any, y: Any, budget: Guarantee) -> tuple[Plan, Any]:
        """The plan of a simulation, and the response in its own terms."""

    def _announce(self, plan: Plan) -> None:
        """Warn before a second charge: of this estimator, or of anybody to the same dataset."""
        before = 1 if hasattr(self, "release_") else 0
        if isinstance(self.ledger, Ledger | str | Path) and self.dataset is not None:
            book = self.ledger if isinstance(self.ledger, Ledger) else Ledger(self.ledger)
            before = book.spends(self.dataset)
        if before:
            warnings.warn(
                f"This fit charges {plan.budget.symbols} to dataset {self.dataset!r}, which has been charged "
                f"{before} time{'s' if before > 1 else ''} before: every fit is a release of its own.",
                ChargedAgainWarning,
                stacklevel=3,
            )

    def _table(self, X: Any, y: Any, plan: Plan) -> dict[str, Any]:
        """The rows as columns by name. It looks at names and shapes, at no value."""
        validate_data(self, X, skip_check_array=True)
        design = self._regression(plan).design(plan.schema)
        table = _columns(X, design.cells)
        response = _cells(y)
        if len(response.shape) == 2 and response.shape[1] == 1:
            response = response[:, 0]
        if len(response.shape) != 1 or any(len(column) != len(response) for column in table.values()):
            raise InputError("Expected y to be one column, as long as X.")
        return {**table, design.formula.response: response}

    def _simulated(self, X: Any, y: Any) -> Release:
        """A release of made-up data, marked as simulated; bounds are those of the data unless a plan says others."""
        budget = self.simulate if isinstance(self.simulate, Guarantee) else _NO_NOISE
        plan, response = self._simulation_plan(X, y, budget)
        if self.plan is not None:
            table = self._table(X, y, plan)
        else:
            values = np.asarray(X, np.float64)
            table = {f"x{j}": values[:, j] for j in range(values.shape[1])} | {"y": response}
        return replace(privatize(table, plan, ledger=None, dataset="simulated"), simulated=True)

    def _points(self, X: Any) -> dict[str, Any]:
        """New points as columns by name."""
        check_is_fitted(self, "posterior_")
        design = self._regression().design(self.plan_.schema)
        if self.simulate and self.plan is None:
            values: Any = validate_data(self, X, dtype=np.float64, reset=False)
            return {f"x{j}": values[:, j] for j in range(values.shape[1])}
        validate_data(self, X, skip_check_array=True, reset=False)
        return _columns(X, design.cells)

    def _regression(self, plan: Plan | None = None) -> Regression:
        model = (plan or self.plan_).model
        assert isinstance(model, Regression)  # `_check_family` has seen to it
        return model

    def _check_public(self, what: str) -> None:
        """Refuse rows that nobody has called public. Every scorer ends here, as it has to predict first."""
        if not (self.simulate or self.public_inputs):
            raise InputError(
                f"Expected public_inputs=True for {what}: predictions and scores are numbers about their rows that no "
                "noise protects. If these rows are public, say so there, or call predict_public."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the noise has no seed
        tags.target_tags.required = True
        return tags


class TacitRegressor(RegressorMixin, _Estimator):
    """Linear or Poisson regression from a private release.

    ``fit`` spends the plan's budget on rows that are each one person's, untouched by resampling or by preprocessing
    that learned from other rows. ``predict`` and ``score``, and so all scorers, want ``public_inputs=True``;
    ``predict_public`` is for public points. The module says why, and what can not be noticed.

    After ``fit``: ``release_``, ``posterior_``, ``plan_``, and posterior means in the units of the data: ``coef_`` by
    ``coefficient_names_``, and ``intercept_``.
    """

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """`predict_public`, refused unless ``public_inputs`` says that the rows of X are public."""
        check_is_fitted(self, "posterior_")
        self._check_public("predict")
        return self.predict_public(X, return_std)

    def predict_public(self, X: Any, return_std: bool = False) -> Any:
        """The posterior mean of the expected response at public points X.

        With ``return_std`` also the predictive standard deviation.
        """
        points = self._points(X)
        model, schema = self._regression(), self.plan_.schema
        if isinstance(model, LinearRegression):
            design = model.design(schema)
            theta = self.posterior_.parameter("theta").mean(axis=0)
            mapped = design.matrix(design.parse(points)) @ theta
            mean = design.number_response.offset + design.number_response.scale * mapped
        else:
            mean = self.posterior_.predict(points, seed=self.seed).mean
        if not return_std:
            return mean
        return mean, self.posterior_.predict(points, seed=self.seed).draws.std(axis=0)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 on public rows; refused unless ``public_inputs`` says that they are."""
        self._check_public("score")
        return super().score(X, y, sample_weight)

    def _check_family(self, plan: Plan) -> None:
        if not isinstance(plan.model, LinearRegression | PoissonRegression):
            raise expected("family", plan.model.family, "to be linear or poisson-regression for TacitRegressor")

    def _simulation_plan(self, X: Any, y: Any, budget: Guarantee) -> tuple[Plan, Any]:
        if self.plan is not None:
            plan = as_plan(self.plan)
            self._check_family(plan)
            return replace(plan, budget=budget) if self.simulate is not True else plan, y
        checked: Any = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        values, response = checked
        bounds = {f"x{j}": _bounds(values[:, j]) for j in range(values.shape[1])}
        formula = f"y ~ {' + '.join(bounds)}"
        return Plan(LinearRegression(formula), Schema(**bounds, y=_bounds(response)), budget), response


class TacitClassifier(ClassifierMixin, _Estimator):
    """Logistic regression from a private release.

    ``fit`` spends the plan's budget on rows that are each one person's, untouched by resampling or by preprocessing
    that learned from other rows. ``predict``, ``predict_proba`` and ``score``, and so all scorers, want
    ``public_inputs=True``; ``predict_public`` is for public points. The module says why, and what can not be noticed.

    ``classes_`` are the two levels of the response as the plan declares them. After ``fit``: ``release_``,
    ``posterior_``, ``plan_``, ``coef_`` by ``coefficient_names_``, and ``intercept_``.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """As in `_Estimator.fit`; the response takes two declared levels, the first one the reference."""
        super().fit(X, y, sample_weight)
        if not (self.simulate and self.plan is None):
            column = self.plan_.schema.declared(self._regression().design(self.plan_.schema).formula.response)
            assert isinstance(column, Category)
            self.classes_ = np.array(column.levels)
        return self

    def predict_proba(self, X: Any) -> Any:
        """The posterior mean of the probability of each class, (points, 2), at public points; refused as `predict`."""
        check_is_fitted(self, "posterior_")
        self._check_public("predict_proba")
        second = self.posterior_probability(X)
        return np.column_stack([1 - second, second])

    def posterior_probability(self, X: Any) -> Any:
        """The posterior mean of the probability of the second class at each of the public points X."""
        points = self._points(X)
        return self.posterior_.predict(points, seed=self.seed).mean

    def predict(self, X: Any) -> Any:
        """`predict_public`, refused unless ``public_inputs`` says that the rows of X are public."""
        check_is_fitted(self, "posterior_")
        self._check_public("predict")
        return self.predict_public(X)

    def predict_public(self, X: Any) -> Any:
        """The more probable class at each of the public points X."""
        second = self.posterior_probability(X)
        return self.classes_[(second > 0.5).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right predictions on public rows; refused unless ``public_inputs`` says that they are."""
        self._check_public("score")
        return super().score(X, y, sample_weight)

    def _check_family(self, plan: Plan) -> None:
        if not isinstance(plan.model, LogisticRegression):
            raise expected("family", plan.model.family, "to be logistic for TacitClassifier")

    def _simulation_plan(self, X: Any, y: Any, budget: Guarantee) -> tuple[Plan, Any]:
        if self.plan is not None:
            plan = as_plan(self.plan)
            self._check_family(plan)
            return replace(plan, budget=budget) if self.simulate is not True else plan, y
        checked: Any = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        values, labels = checked
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            kind = type_of_target(labels)
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}, with "
                f"{len(self.classes_)} class{'es' if len(self.classes_) > 1 else ''}."
            )
        bounds = {f"x{j}": _bounds(values[:, j]) for j in range(values.shape[1])}
        levels = Category(("0", "1"))
        formula = f"y ~ {' + '.join(bounds)}"
        plan = Plan(LogisticRegression(formula), Schema(**bounds, y=levels), budget)
        return plan, np.array(["0", "1"])[codes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _columns(X: Any, names: list[str]) -> dict[str, Any]:
    """The columns that a formula reads, by name from a frame, by order from an array."""
    if hasattr(X, "columns"):
        missing = [name for name in names if name not in list(X.columns)]
        if missing:
            raise expected("X", missing[0], "to be one of its columns")
        return {name: X[name] for name in names}
    values = _cells(X)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise InputError(f"Expected X to have {len(names)} columns: {', '.join(names)}.")
    return {name: values[:, j] for j, name in enumerate(names)}


def _cells(values: Any) -> Any:
    """As an array. Lists keep every cell as it is: one type for all of them would let one row change how others read.

    An array or a column of a frame has had its type before, from whoever made it. A column stays what it is: as an
    array, integers beside a missing one would be floats.
    """
    if not hasattr(values, "dtype"):
        return np.asarray(values, dtype=object)
    return values if len(getattr(values, "shape", ())) == 1 else np.asarray(values)


def _bounds(values: Any) -> Number:
    """The range of made-up values; a constant gets some room."""
    low, high = float(np.min(values)), float(np.max(values))
    return Number(low, high) if high > low else Number(low - 1, high + 1)
