"""What scores in rounds will tell: a few releases of plausible tables by the real mechanism, inferred in full.

A formula, with the noise of scores and information to first order around the estimate, gave 0.4 to 3.9 times the width
that the posterior has, on six public tables at epsilon 1 and 4: where noise is large it counts where the rounds end up,
and how the posterior of the information is cut off at 0. So every table is released, round by round, by the mechanism
that the plan has, and the posterior is drawn by the method that `infer` would take. All releases of a study are
inferred in one call, for one compilation.

What exact rows give needs no simulation: with J the information of n rows at the coefficients that made them, and P
the precision of the prior, the covariance is about (P + J)^-1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.calibration.plausible_tables import PlausibleTable, PlausibleTables
from tacit.calibration.simulate import simulate_table
from tacit.design.table_widths import WIDTH, TableWidths
from tacit.infer import check_settings, method_for, numbers_of, posterior_arrays, problem_of
from tacit.models.model import Prior, Problem
from tacit.models.moment_regression import MomentRegression
from tacit.models.score_method import score_prior
from tacit.models.score_model import ScorePrior
from tacit.models.score_round import Round
from tacit.plan import Plan
from tacit.runtime.progress import share
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sums import LARGEST

_WARMUP, _DRAWS = 200, 300
_TABLES, _FEWEST, _RELEASES = 12, 4, 32  # for one cell; for each of many cells; about how many for all cells


def tables_for(cells: int) -> int:
    """How many tables a study of so many cells looks at: a release of each takes about half a second."""
    return min(_TABLES, max(_FEWEST, _RELEASES // cells))


def simulated_rounds(
    plans: Sequence[Plan],
    sizes: Sequence[int],
    tables: PlausibleTables,
    prior: Prior | Mapping[str, Any] | None,
    seed: int,
) -> dict[tuple[int, int], dict[str, TableWidths]]:
    """By n and the place of the plan, the widths of every coefficient."""
    cells = [(n, place) for n in sizes for place in range(len(plans))]
    groups: dict[Any, list[tuple[tuple[int, int], Problem, list[Any]]]] = {}
    for n, place in cells:
        problem = problem_of(plans[place], prior, n)
        releases = [simulate_table(tables, i, plan=plans[place], n=n, seed=seed + i) for i in range(tables.count)]
        numbers = [numbers_of(problem, [one]) for one in releases]
        groups.setdefault(problem.sites[0].rounds, []).append(((n, place), problem, numbers))
    widths: dict[tuple[int, int], Any] = {}
    settings = check_settings(warmup=_WARMUP, draws=_DRAWS, chains=1, seed=seed)
    for group in groups.values():
        problem = group[0][1]
        values = [one for _, _, numbers in group for one in numbers]
        with share(1 / len(groups)):
            drawn, _ = posterior_arrays(problem, method_for(problem, None), settings, values, chains=1, seed=seed)
        assert isinstance(problem.model, MomentRegression)
        found = problem.model.coefficients({"theta": drawn["theta"][:, 0]}, problem.schema)
        ends = {name: np.diff(np.quantile(one, [0.025, 0.975], axis=1), axis=0)[0] for name, one in found.items()}
        for i, (cell, _, _) in enumerate(group):
            own = slice(i * tables.count, (i + 1) * tables.count)
            widths[cell] = {name: one[own] for name, one in ends.items()}
    every = tables.every()
    return {cell: _compared(plans[cell[1]], prior, cell[0], every, widths[cell]) for cell in cells}


def _compared(
    plan: Plan, prior: Any, n: int, tables: Sequence[PlausibleTable], widths: Mapping[str, Any]
) -> dict[str, TableWidths]:
    """Beside each width that of exact rows and the prior's."""
    model = plan.model
    assert isinstance(model, MomentRegression)
    problem, design = problem_of(plan, prior, n), model.design(plan.schema)
    units = design.original_units(np.eye(len(design.columns))).T
    exact, before, truth = [], [], []
    for table in tables:
        sd = _prior_sds(problem, table, n)
        own = np.linalg.inv(np.diag(sd**-2.0) + n * _information(model, plan, table, table.theta))
        exact.append(WIDTH * np.sqrt(np.diag(units @ own @ units.T)))
        before.append(WIDTH * np.sqrt(np.diag((units * sd**2) @ units.T)))
        truth.append(units @ table.theta)
    arrays = [np.array(one).T for one in (exact, before, truth)]
    return {name: TableWidths.of_normal(widths[name], *own) for name, *own in zip(design.names, *arrays, strict=True)}


def _information(model: MomentRegression, plan: Plan, table: PlausibleTable, theta: Any) -> Any:
    """That of one row, on average over a table, at theta."""
    p = len(theta)
    point = tuple(round(float(t) * POINT_UNIT) for t in np.clip(theta, -LARGEST, LARGEST))
    sums = model.score_sums(plan.schema).at(point, matrix=True)
    upper = np.array([value / sums.unit for value in sums.batch_sum(table.cells)[p:]]) / len(table.matrix)
    found = np.zeros((p, p))
    found[np.triu_indices(p)] = upper
    return found + np.triu(found, 1).T


def _prior_sds(problem: Problem, table: PlausibleTable, n: int) -> Any:
    """The sd of each coefficient in mapped units that a release of these rows without noise would give."""
    model, said = problem.model, problem.prior
    assert isinstance(model, MomentRegression)
    assert isinstance(said, ScorePrior)
    p = len(table.theta)
    sums = model.score_sums(problem.schema).at((0,) * p, matrix=True)
    values = [n / len(table.matrix) * value / sums.unit for value in sums.batch_sum(table.cells)]
    exact = Round((0.0,) * p, matrix=True, score_scale=1e-9, matrix_scale=1e-9, laplace=False)
    return score_prior(said, ([exact], [values], n), model, problem.schema)[1]
