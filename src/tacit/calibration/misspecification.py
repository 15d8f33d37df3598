"""Named departures from the model, for studies of what happens when its assumptions fail.

A misspecification acts on simulated rows, before the boundary: inference does not know of it. The parameters stay
true: the means and covariances of the covariates, the coefficients and the scatter of the response around its mean are
what they were without the misspecification.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.models.linear import LinearRegression
from tacit.models.linear_prior import LinearPrior
from tacit.models.model import Model, Prior
from tacit.models.moment_regression import MomentRegression
from tacit.models.regression import DesignMatrix
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Schema
from tacit.statistics.design import Scaled

SHAPES = ("skewed", "discrete", "heavy-tailed")
_KINDS = (*SHAPES, "clamped", "missing")
_CELLS = ("all", "response", "covariates")
_PILOT = (2000, 25)  # data sets and rows by which `clamped` finds its scale


@dataclass(frozen=True)
class Misspecification:
    """One departure from the model.

    ``skewed``        each covariate an exponential variate instead of a normal one (skewness 2)
    ``discrete``      each covariate takes two values, equally often
    ``heavy-tailed``  each covariate a Student variate with 3 degrees of freedom, whose fourth moment is infinite
    ``clamped``       ``share`` of the values of each column outside the bounds, where they are clamped
    ``missing``       ``share`` of the cells of each column missing at random, filled with the column's ``missing``

    The first three keep the mean and the covariance: with L the Cholesky factor of Sigma_x, a row is x = mu_x + L e,
    where the entries of e are independent with mean 0 and variance 1, and only their distribution changes. The
    response follows the model given the new covariates.

    ``clamped`` is a choice of bounds that are too tight. The rows and the prior are the same as before in the units of
    the data; in mapped units both are larger, by one factor a column, so that on average over the prior the share
    outside is the stated one. Without clamping nothing at all would change, so what changes is due to clamping.

    ``cells`` says which columns ``clamped`` and ``missing`` are about: all, the response, or the covariates.
    """

    kind: str
    share: float | None = None
    cells: str = "all"

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise expected("kind", self.kind, f"to be one of {', '.join(_KINDS)}{did_you_mean(self.kind, _KINDS)}")
        if self.cells not in _CELLS:
            raise expected("cells", self.cells, f"to be one of {', '.join(_CELLS)}")
        if self.kind in SHAPES:
            if self.share is not None or self.cells != "all":
                raise expected("kind", self.kind, "to have neither share nor cells: all rows and covariates change")
        elif isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 < self.share < 1:
            raise expected("share", self.share, "to be a number between 0 and 1")

    def restated(self, model: Model, schema: Schema, prior: Prior) -> Prior:
        """The prior in the mapped units of the disturbed bounds; the same prior unless the kind is ``clamped``."""
        if self.kind != "clamped":
            return prior
        design = _plain_design(self.kind, model, schema)
        assert isinstance(prior, LinearPrior)
        return _restated(self, model, design, prior)

    def applied(self, rows: Arrays, parameters: Arrays, model: Model, schema: Schema, rng: Any) -> Arrays:
        """The rows as they meet the boundary; they were drawn with ``parameters``."""
        if self.kind == "clamped":
            return rows
        if self.kind == "missing":
            return _emptied(rows, _named(self, model, schema), float(self.share or 0), schema, rng)
        if isinstance(model, MomentRegression):
            n = len(rows[model.design(schema).formula.response])
            return model.draw_rows(parameters, schema, n, _Reshaping(rng, self.kind))
        return _reshaped(self.kind, rows, parameters, _plain_design(self.kind, model, schema))


MISSPECIFICATIONS = {
    **{kind: Misspecification(kind) for kind in SHAPES},
    **{f"clamped {share:.0%}": Misspecification("clamped", share) for share in (0.01, 0.05, 0.2)},
    **{f"missing {share:.0%}": Misspecification("missing", share) for share in (0.05, 0.2)},
}


def as_misspecification(value: object) -> Misspecification:
    """A misspecification, or the name of one."""
    if isinstance(value, Misspecification):
        return value
    if not isinstance(value, str) or value not in MISSPECIFICATIONS:
        names = ", ".join(MISSPECIFICATIONS)
        raise expected(
            "misspecification",
            value,
            f"to be a Misspecification or one of {names}{did_you_mean(value, MISSPECIFICATIONS)}",
        )
    return MISSPECIFICATIONS[value]


def _emptied(rows: Arrays, names: list[str], share: float, schema: Schema, rng: Any) -> Arrays:
    """Rows without the stated share of the cells of each named column, every column on its own."""
    import numpy as np

    changed = dict(rows)
    for name in names:
        n = len(rows[name])
        lost = rng.permutation(n) < round(share * n)
        if isinstance(schema[name], Category):
            changed[name] = [None if gone else cell for cell, gone in zip(rows[name], lost, strict=True)]
        else:
            changed[name] = np.where(lost, np.nan, rows[name])
    return changed


def _named(misspecification: Misspecification, model: Model, schema: Schema) -> list[str]:
    """The columns that are disturbed."""
    columns = model.statistic(schema).columns
    if misspecification.cells == "all":
        return list(columns)
    if not isinstance(model, LinearRegression):
        raise expected("cells", misspecification.cells, "to be all: this family has no response and no covariates")
    response = model.design(schema).formula.response
    return [name for name in columns if (name == response) == (misspecification.cells == "response")]


def _plain_design(kind: str, model: Model, schema: Schema) -> DesignMatrix:
    """The design, if numbers enter it with an intercept and one by one."""
    design = model.design(schema) if isinstance(model, LinearRegression) else None
    numbers = [] if design is None else [c for c in design.columns if isinstance(c, Scaled)]
    plain = all(c.number.plain and not c.levels for c in numbers)
    if design is None or not design.formula.intercept or not numbers or not plain:
        raise expected(
            "misspecification", kind, "to meet a linear regression with an intercept and numbers, none multiplied"
        )
    return design


def _covariates(design: DesignMatrix) -> list[tuple[int, Scaled]]:
    """The numeric covariates, in the order of mu_x, each with the place of its coefficient."""
    return [(i, column) for i, column in enumerate(design.columns) if isinstance(column, Scaled)]


def _mapped(column: Scaled, rows: Arrays) -> Any:
    import numpy as np

    return (np.asarray(rows[column.numbers[0]], np.float64) - column.offset) / column.scale


def _reshaped(kind: str, rows: Arrays, parameters: Arrays, design: DesignMatrix) -> Arrays:
    """Rows whose covariates have another distribution of the same mean and covariance, the residuals of the response
    kept.
    """
    import numpy as np

    places = _covariates(design)
    d = len(places)
    mean, root = parameters["mu_x"][:d], np.linalg.cholesky(parameters["Sigma_x"][:d, :d])
    before = np.stack([_mapped(column, rows) for _, column in places], axis=1)
    normal = np.linalg.solve(root, (before - mean).T).T
    after = mean + _SHAPE[kind](normal) @ root.T
    theta = np.array([parameters["theta"][i] for i, _ in places])
    response = design.number_response
    changed = dict(rows)
    changed[response.name] = np.asarray(rows[response.name]) + response.scale * (after - before) @ theta
    for i, (_, column) in enumerate(places):
        changed[column.numbers[0]] = column.offset + column.scale * after[:, i]
    return changed


class _Reshaping:
    """A generator whose normal variates have another shape. Logistic and Poisson regression draw only covariates so."""

    def __init__(self, rng: Any, kind: str) -> None:
        self._rng, self._shape = rng, _SHAPE[kind]

    def standard_normal(self, size: Any) -> Any:
        """Variates with mean 0 and variance 1, not normal."""
        return self._shape(self._rng.standard_normal(size))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)


# Each turns standard normal variates into variates of another distribution with mean 0 and variance 1, by their
# quantiles.


def _exponential(normal: Any) -> Any:
    from scipy.special import log_ndtr

    return -log_ndtr(-normal) - 1


def _two_points(normal: Any) -> Any:
    import numpy as np

    return np.where(normal < 0, -1.0, 1.0)


def _student(normal: Any) -> Any:
    import numpy as np
    from scipy.special import ndtr, stdtrit

    return -np.sign(normal) * stdtrit(3, ndtr(-np.abs(normal))) / np.sqrt(3)


_SHAPE = {"skewed": _exponential, "discrete": _two_points, "heavy-tailed": _student}


def _restated(
    misspecification: Misspecification, model: Model, design: DesignMatrix, prior: LinearPrior
) -> LinearPrior:
    """The prior when covariate j is multiplied by c_j and the response by c.

    Sigma_x and mu_x follow their columns: psi0_j c_j^2 and m0_j c_j. A slope becomes theta_j c / c_j, other
    coefficients theta c, and sigma^2 becomes sigma^2 c^2: so mu0_j c / c_j, lambda0_j c_j^2 and b0 c^2. The factors
    come from made-up rows: the (1 - share) quantile of a column's absolute mapped value over the prior is moved to 1.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    data_sets, n = _PILOT
    made = [
        model.draw_rows(model.draw_parameters(prior, design.schema, rng), design.schema, n, rng)
        for _ in range(data_sets)
    ]

    def factor(column: Scaled) -> float:
        values = np.abs(np.concatenate([_mapped(column, rows) for rows in made]))
        return 1 / float(np.quantile(values, 1 - float(misspecification.share or 0)))

    places = _covariates(design)
    response = factor(design.number_response) if misspecification.cells != "covariates" else 1.0
    numbers = [factor(column) if misspecification.cells != "response" else 1.0 for _, column in places]
    by_coefficient = np.ones(len(design.columns))
    by_coefficient[[i for i, _ in places]] = numbers
    p, d = len(design.columns), len(places)
    if prior.coefficients:
        raise expected("prior", prior.coefficients[0][0], "to be said of no coefficient where bounds are disturbed")
    lambda0 = prior.lambda0
    return replace(
        prior,
        mu0=_tuple(np.broadcast_to(prior.mu0, (p,)) * response / by_coefficient),
        lambda0=None if lambda0 is None else _tuple(np.broadcast_to(lambda0, (p,)) * by_coefficient**2),
        b0=prior.b0 * response**2,
        effect=None if prior.effect is None else prior.effect * response,
        total=prior.total * response,
        m0=_tuple(np.broadcast_to(prior.m0, (d,)) * numbers),
        psi0=_tuple(np.broadcast_to(prior.psi0, (d,)) * np.square(numbers)),
    )


def _tuple(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
