"""Made-up tables that a regression might meet: columns that fill a part of their bounds, and ordinary effects.

Bounds are declared without looking at rows, so they are generous. In the public tables of `benchmarks/table_cases.py`,
with bounds as a person would declare them, 44 columns of 12 tables have an sd of 0.05 to 0.30 of their range, the
median 0.17; of the 33 that no experiment has spread out evenly the median is 0.15. The logarithm of the sd has an sd of
0.31 between tables and of 0.29 within one. Means lie at 0.02 to 0.65 of the range, the median 0.40, and 0.31 of the 33.
Correlations have an upper quartile of 0.23 in size, and an upper decile of 0.43. Coefficients times the sd of their
column have a median size of 0.44 in logistic regressions, upper decile 1.14; 0.01 to 0.22 with a log link, the median
0.05; in linear ones 0.05 to 0.84 of the sd of the response. The guesses below are about these.

What is not known varies from table to table over evenly spaced quantiles of its guess, in an order of its own (Latin
hypercube sampling; McKay, Beckman and Conover 1979), so that the median over few tables is that of the guess. A number
has a beta distribution on its bounds with the mean and sd that it is given: skewed near an end, U-shaped where the sd
is large, and never outside. Numbers are tied by a normal copula.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from tacit.calibration.expected_columns import ExpectedColumns
from tacit.errors import expected
from tacit.models.linear import LinearRegression
from tacit.models.moment_regression import MomentRegression
from tacit.models.regression import Regression
from tacit.plan import Plan
from tacit.schema import Category, Number
from tacit.statistics.design import Scaled

ROWS = 4_000  # of a made-up table; for more of them each counts several times
SPREAD = 0.15  # median of the sd of a column over its range
_GENEROSITY, _OWN = 0.35, 0.3  # sds of its logarithm: between tables, whose bounds one person declares, and within one
_POSITION = (2.5, 4.5)  # beta distribution of where in its range a column has its mean
_YES = (4.0, 5.0)  # the same of the share of a response's second level
_TIES = 40  # degrees of freedom of a Wishart matrix whose correlations have an sd of about 0.15
_ADJUSTMENTS = 4  # of a copula towards correlations that were said
_LEVELS = 5.0  # of a Dirichlet distribution of shares
_EFFECTS = {
    "logistic": 0.6,
    "log": 0.15,
    "softplus": 0.25,
    "linear": 0.3,
}  # sd of a coefficient times that of its column
_MOST_EXPLAINED = 0.8  # of the variance of a response, by effects that are guessed


@dataclass(frozen=True, eq=False)
class PlausibleTable:
    """Parsed ``cells`` of all columns, the design ``matrix`` of the covariates, and what the response was made with.

    ``theta`` and ``sigma`` (of linear regression, else None) are in mapped units.
    """

    cells: Mapping[str, Any]
    matrix: Any
    theta: Any
    sigma: float | None

    def moments(self) -> Any:
        """The mean of x x' over rows, x the design vector."""
        return self.matrix.T @ self.matrix / len(self.matrix)


@dataclass(frozen=True)
class PlausibleTables:
    """``count`` tables for a plan whose model is a regression, told apart by their place: what is ``said`` of them.

    It holds public statements and a seed, and no row.
    """

    plan: Plan
    said: ExpectedColumns
    count: int
    seed: int

    def table(self, place: int) -> PlausibleTable:
        """One of them, made up anew, the same each time."""
        assert isinstance(self.plan.model, Regression)
        guesses = _Guesses(self.count, self.seed)
        return _table(self.plan, self.plan.model, self.said, guesses, place, np.random.default_rng([self.seed, place]))

    def every(self) -> list[PlausibleTable]:
        """All of them."""
        return [self.table(place) for place in range(self.count)]


class _Guesses:
    """For each unknown by its name ``count`` probabilities, evenly spaced, in an order of their own."""

    def __init__(self, count: int, seed: int) -> None:
        self._count, self._seed = count, seed

    def probability(self, name: str, place: int) -> float:
        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        return (float(rng.permutation(self._count)[place]) + 0.5) / self._count

    def normal(self, name: str, place: int) -> float:
        return float(ndtri(self.probability(name, place)))


def _table(
    plan: Plan, model: Regression, said: ExpectedColumns, guesses: _Guesses, place: int, rng: Any
) -> PlausibleTable:
    design, schema = model.design(plan.schema), plan.schema
    cells = _covariates(model, plan, said, guesses, place, rng)
    matrix = np.asarray(design.matrix(cells)) if cells else np.ones((ROWS, 1))
    matrix = np.broadcast_to(matrix, (ROWS, matrix.shape[1]))
    response, name = schema.declared(design.formula.response), design.formula.response
    if isinstance(model, LinearRegression):
        assert isinstance(response, Number)
        theta, sigma = _linear_effects(model, plan, said, matrix, guesses, place)
        number = design.number_response
        mapped = matrix @ theta + sigma * rng.standard_normal(ROWS)
        return PlausibleTable({**cells, name: number.offset + number.scale * mapped}, matrix, theta, sigma)
    assert isinstance(model, MomentRegression)
    link = model.score_link(schema).kind
    if isinstance(response, Category):
        shares = said.shares.get(name)
        target = shares[1] if shares else float(betaincinv(*_YES, guesses.probability(name, place)))
        target = min(max(target, 1e-4), 1 - 1e-4)
    else:
        target = _mean_and_sd(name, response, said, guesses, place)[0]
    size = _EFFECTS[link] * (target if link == "softplus" else 1.0)
    slopes = _slopes(model, plan, said, matrix, guesses, place, size)
    theta = slopes
    if design.formula.intercept:
        theta = slopes + _shift(matrix @ slopes, target, link) * np.eye(matrix.shape[1])[0]
    drawn = model.draw_response(matrix @ theta, schema, rng)
    if isinstance(response, Category):
        code = {level: i for i, level in enumerate(response.levels)}
        drawn = [code[level] for level in drawn]
    return PlausibleTable({**cells, name: np.asarray(drawn)}, matrix, theta, None)


def _mean_and_sd(
    name: str, column: Number, said: ExpectedColumns, guesses: _Guesses, place: int
) -> tuple[float, float]:
    """Of one number in one table, in the units of the data."""
    width = column.high - column.low
    mean, sd = said.numbers.get(name, (None, None))
    if mean is None:
        mean = column.low + width * float(betaincinv(*_POSITION, guesses.probability(f"{name} mean", place)))
    if sd is None:
        varies = _GENEROSITY * guesses.normal("bounds", place) + _OWN * guesses.normal(f"{name} sd", place)
        sd = width * SPREAD * float(np.exp(varies))
        sd = min(sd, 0.9 * float(np.sqrt((mean - column.low) * (column.high - mean))))
    return mean, sd


def _covariates(
    model: Regression, plan: Plan, said: ExpectedColumns, guesses: _Guesses, place: int, rng: Any
) -> dict[str, Any]:
    design, schema = model.design(plan.schema), plan.schema
    numbers = [name for name in design.cells if isinstance(schema.declared(name), Number)]
    cells: dict[str, Any] = {}
    if numbers:
        scores = rng.standard_normal((ROWS, len(numbers)))
        scores -= scores.mean(axis=0)
        scores = np.linalg.solve(np.linalg.cholesky(np.atleast_2d(np.cov(scores.T))), scores.T).T
        shapes = [
            _shape(schema.number(name), _mean_and_sd(name, schema.number(name), said, guesses, place))
            for name in numbers
        ]
        correlations = _correlations(numbers, said, rng)
        cells = _tied(numbers, shapes, scores, correlations)
        for _ in range(_ADJUSTMENTS if said.correlations else 0):
            correlations = _adjusted(correlations, numbers, said, cells)
            cells = _tied(numbers, shapes, scores, correlations)
        for name in numbers:
            column = schema.number(name)
            cells[name] = column.low + (column.high - column.low) * cells[name]
        if model.radius is not None:
            _into_ball(model, plan, cells)
    for name in design.cells:
        column = schema.declared(name)
        if isinstance(column, Category):
            shares = said.shares.get(name) or tuple(rng.dirichlet(np.full(len(column.levels), _LEVELS)))
            ranks = (rng.permutation(ROWS) + 0.5) / ROWS
            cells[name] = np.minimum(np.searchsorted(np.cumsum(shares), ranks), len(shares) - 1)
    return {name: cells[name] for name in design.cells}


def _shape(column: Number, moments: tuple[float, float]) -> tuple[float, float]:
    """a and b of the beta distribution on the bounds with this mean and sd."""
    width = column.high - column.low
    mean, sd = (moments[0] - column.low) / width, moments[1] / width
    size = mean * (1 - mean) / sd**2 - 1
    return mean * size, (1 - mean) * size


def _tied(numbers: list[str], shapes: list[tuple[float, float]], scores: Any, correlations: Any) -> dict[str, Any]:
    """Every number in [0, 1], from standard normal ``scores`` (rows, numbers) by a copula."""
    ranks = np.clip(ndtr(scores @ np.linalg.cholesky(correlations).T), 1e-9, 1 - 1e-9)
    return {name: betaincinv(*shape, own) for name, shape, own in zip(numbers, shapes, ranks.T, strict=True)}


def _adjusted(correlations: Any, numbers: list[str], said: ExpectedColumns, cells: dict[str, Any]) -> Any:
    """Those of the copula moved so that columns, which it ties less than normal ones, have what was said."""
    found = correlations.copy()
    for (first, second), value in said.correlations.items():
        i, j = numbers.index(first), numbers.index(second)
        missed = value - float(np.corrcoef(cells[first], cells[second])[0, 1])
        found[i, j] = found[j, i] = float(np.clip(found[i, j] + missed, -0.995, 0.995))
    weight = 1.0
    while np.linalg.eigvalsh(correlations + weight * (found - correlations))[0] < 1e-3:
        weight /= 2
    return correlations + weight * (found - correlations)


def _correlations(numbers: list[str], said: ExpectedColumns, rng: Any) -> Any:
    """Those that were said; the others guessed, and weakened as far as it takes for all of them to go together."""
    d = len(numbers)
    factor = rng.standard_normal((_TIES + d, d))
    guessed = np.corrcoef(factor.T) if d > 1 else np.eye(1)
    stated = np.eye(d)
    for (first, second), value in said.correlations.items():
        i, j = numbers.index(first), numbers.index(second)
        stated[i, j] = stated[j, i] = value
        guessed[i, j] = guessed[j, i] = 0.0
    if np.linalg.eigvalsh(stated)[0] < 1e-3:
        raise expected("expect", [":".join(pair) for pair in said.correlations], "to be correlations that go together")
    np.fill_diagonal(guessed, 0.0)
    weight = 1.0
    while np.linalg.eigvalsh(stated + weight * guessed)[0] < 1e-3:
        weight /= 2
    return stated + weight * guessed


def _into_ball(model: Regression, plan: Plan, cells: dict[str, Any]) -> None:
    """Move rows into the ball of the model's radius, as a release does before anything is summed."""
    assert model.radius is not None
    columns = [column for column in model.design(plan.schema).columns if isinstance(column, Scaled)]
    mapped = np.stack([(cells[c.numbers[0]] - c.offset) / c.scale for c in columns], axis=1)
    size = np.sqrt((mapped**2).sum(axis=1, keepdims=True))
    mapped *= np.minimum(1.0, model.radius / np.maximum(size, 1e-300))
    for column, values in zip(columns, mapped.T, strict=True):
        cells[column.numbers[0]] = column.offset + column.scale * values


def _slopes(
    model: Regression, plan: Plan, said: ExpectedColumns, matrix: Any, guesses: _Guesses, place: int, size: float
) -> Any:
    """Coefficients in mapped units: as said, the others of about ``size`` over the sd of their column. No intercept."""
    design = model.design(plan.schema)
    spread = matrix.std(axis=0)
    drawn = np.array([size * guesses.normal(f"{name} effect", place) for name in design.names])
    theta = np.where(spread > 1e-9, drawn / np.maximum(spread, 1e-9), 0.0)
    response = design.number_response if isinstance(model, LinearRegression) else None
    units = _units(design, response)
    own = units @ theta
    for name, value in said.effects.items():
        own[design.names.index(name)] = value
    own[list(design.fixed)] = 1.0
    theta = np.linalg.solve(units, own)
    if design.formula.intercept:
        theta[0] = 0.0
    return theta


def _units(design: Any, response: Scaled | None) -> Any:
    """The linear map from coefficients in mapped units to those in the units of the data."""
    p = len(design.columns)
    return (design.original_units(np.eye(p), response) - design.original_units(np.zeros((1, p)), response)).T


def _shift(predictor: Any, target: float, link: str) -> float:
    """What to add to the linear predictors so that the mean response is ``target``."""
    from scipy.optimize import brentq
    from scipy.special import expit

    mean = {
        "logistic": expit,
        "log": lambda eta: np.exp(np.minimum(eta, 20.0)),
        "softplus": lambda eta: np.logaddexp(0, eta),
    }
    reach = float(np.abs(predictor).max()) + 50 + abs(target)
    return brentq(lambda shift: float(np.mean(mean[link](predictor + shift))) - target, -reach, reach)  # type: ignore[return-value]


def _linear_effects(
    model: LinearRegression, plan: Plan, said: ExpectedColumns, matrix: Any, guesses: _Guesses, place: int
) -> tuple[Any, float]:
    """Theta and sigma in mapped units, so that the response has its mean and sd."""
    design = model.design(plan.schema)
    name, number = design.formula.response, design.number_response
    mean, sd = _mean_and_sd(name, plan.schema.number(name), said, guesses, place)
    variance = (sd / number.scale) ** 2
    theta = _slopes(model, plan, said, matrix, guesses, place, _EFFECTS["linear"] * variance**0.5)
    certain = _slopes(model, plan, said, matrix, guesses, place, 0.0)

    def explained(slopes: Any) -> float:
        return float(np.var(matrix @ slopes))

    if explained(certain) >= 0.99 * variance:
        if said.numbers.get(name, (0, None))[1] is not None:
            raise expected("effect", dict(said.effects), f"to explain less than all of the sd that {name!r} is to have")
        variance = explained(certain) / 0.5
    while explained(theta) > max(_MOST_EXPLAINED * variance, (explained(certain) + variance) / 2):
        theta = (theta + certain) / 2
    if design.formula.intercept:
        theta[0] = (mean - number.offset) / number.scale - float(np.mean(matrix @ theta))
    return theta, float(np.sqrt(variance - explained(theta)))
