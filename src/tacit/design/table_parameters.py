"""A plausible table in the words of its family: the parameters whose rows have its moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.calibration.plausible_tables import PlausibleTable
from tacit.errors import expected
from tacit.models.linear import LinearRegression
from tacit.models.moment_regression import MomentRegression
from tacit.models.regression import Regression
from tacit.plan import Plan
from tacit.runtime.chain import Arrays
from tacit.statistics.design import Scaled


def table_parameters(plan: Plan, tables: Sequence[PlausibleTable], names: Sequence[str]) -> Arrays:
    """Of each table the parameters with these ``names``, stacked."""
    model = plan.model
    assert isinstance(model, Regression)
    every = [
        _linear(model, plan, one) if isinstance(model, LinearRegression) else _moments(plan, one) for one in tables
    ]
    return {name: np.array([one[name] for one in every]) for name in names}


def check_levels_alike(plan: Plan, shares: Sequence[str]) -> None:
    """Refuse shares of levels where a family's made-up rows have all levels alike."""
    model = plan.model
    if isinstance(model, LinearRegression) and shares:
        raise expected("expect", list(shares), "to be left out: with this release all levels are taken to be alike")


def _linear(model: LinearRegression, plan: Plan, table: PlausibleTable) -> Arrays:
    columns = model.design(plan.schema).columns
    numbers = table.matrix[:, [j for j, column in enumerate(columns) if isinstance(column, Scaled)]]
    return {"theta": table.theta, "sigma": np.array(table.sigma or 0.0), **_normal(numbers)}


def _moments(plan: Plan, table: PlausibleTable) -> Arrays:
    model = plan.model
    assert isinstance(model, MomentRegression)
    cells = model.cells(plan.schema)
    numbers = [(table.cells[x.numbers[0]] - x.offset) / x.scale for x in cells.numbers]
    found: Arrays = {"theta": table.theta, **_normal(np.array(numbers).T if numbers else np.zeros((2, 0)))}
    if cells.count > 1:
        found["pi"] = np.array([_share(table, cells.factors, codes) for codes in cells.codes])
        found["mu_x"] = np.tile(found["mu_x"], (cells.count, 1))
    return found


def _share(table: PlausibleTable, factors: Sequence[str], codes: Sequence[int]) -> float:
    """Of a cell: levels are independent of each other in a plausible table."""
    return float(np.prod([max(np.mean(table.cells[f] == c), 1e-6) for f, c in zip(factors, codes, strict=True)]))


def _normal(numbers: Any) -> Arrays:
    covariance = np.cov(numbers.T) if numbers.shape[1] else np.zeros((0, 0))
    return {"mu_x": numbers.mean(axis=0), "Sigma_x": np.atleast_2d(covariance)}
