"""What scores in rounds will tell: a few releases of plausible tables by the real mechanism, inferred in full.

A formula, with the noise of scores and information to first order around the estimate, gave 0.4 to 3.9 times the width
that the posterior has, on six public tables at epsilon 1 and 4: where noise is large it counts where the rounds end up,
and how the posterior of the information is cut off at 0. So every table is released, round by round, by the mechanism
that the plan has, and the posterior is drawn by the method that `infer` would take. All releases of a study are
inferred in one call, for one compilation.

What exact rows give needs no simulation: with J the information of n rows at the coefficients that made them, and P
the precision of the prior, the covariance is about (P + J)^-1.

Where n is not public the same tables are released once more as if it were, with the same draws of standard noise in
both, so that the two differ by what the count costs and by little else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.calibration.plausible_tables import PlausibleTable, PlausibleTables
from tacit.design.table_widths import WIDTH, TableWidths
from tacit.infer import check_settings, method_for, posterior_arrays, problem_of
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.models.model import Prior, Problem
from tacit.models.moment_regression import MomentRegression
from tacit.models.score_method import score_numbers, score_prior
from tacit.models.score_model import ScorePrior
from tacit.models.score_round import Round
from tacit.noise.noise import Noise
from tacit.plan import Plan
from tacit.runtime.progress import share
from tacit.statistics.accumulator import Accumulator
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
    mechanisms = {(place, False): _mechanism(plan) for place, plan in enumerate(plans)}
    mechanisms |= {(at, True): _of_public_n(one) for (at, _), one in mechanisms.items() if not one.public_n}
    cells = [(n, *which) for n in sizes for which in mechanisms]
    groups: dict[Any, list[tuple[tuple[int, int, bool], Problem, list[Any]]]] = {}
    for cell in cells:
        n, place, public = cell
        problem = problem_of(plans[place], prior, n)
        numbers = [_numbers(mechanisms[place, public], problem, tables, i, n, seed) for i in range(tables.count)]
        groups.setdefault(problem.sites[0].rounds, []).append((cell, problem, numbers))
    widths: dict[tuple[int, int, bool], dict[str, Any]] = {}
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
    return {
        (n, place): _compared(plan, prior, n, every, widths[n, place, False], widths.get((n, place, True), {}))
        for n in sizes
        for place, plan in enumerate(plans)
    }


@dataclass(frozen=True)
class _PublicRows(UnitOfPrivacy):
    """The same neighbours, as they would be if they did not make n a secret: for a comparison, never for a release."""

    @property
    def n_is_public(self) -> bool:
        """It is."""
        return True


def _mechanism(plan: Plan) -> ScoreRounds:
    found = plan.calibrated_mechanism()
    assert isinstance(found, ScoreRounds)
    return found


def _of_public_n(mechanism: ScoreRounds) -> ScoreRounds:
    """What the same budget would buy if n were public: nothing goes to a count."""
    record = mechanism.record
    return replace(mechanism, record=_PublicRows(record.neighbours, record.person, record.filtered))


def _numbers(
    mechanism: ScoreRounds, problem: Problem, tables: PlausibleTables, place: int, n: int, seed: int
) -> list[float]:
    """What the posterior is given of one release of ``n`` rows of a table, each of which counts as often as it must."""
    table = tables.table(place)
    rows = min(n, len(table.matrix))
    whole = {name: values[:rows] for name, values in table.cells.items()}
    rest = {name: values[: n % rows] for name, values in whole.items()}

    def read(empty: Accumulator | None = None) -> tuple[int, Accumulator]:
        found = mechanism.accumulator() if empty is None else empty
        found.add(whole, times=n // rows)
        if n % rows:
            found.add(rest)
        return n, found

    rounds = iter(range(mechanism.passes))

    def draw(noise: Noise) -> list[int]:
        rng = np.random.default_rng([seed, place, next(rounds)])
        sample = rng.laplace if noise.limit == "laplace" else rng.standard_normal
        standard = sample(size=len(noise.scales))  # the count is the last number of the first round
        return [round(one * scale) for one, scale in zip(standard.tolist(), noise.scales, strict=True)]

    _, values, noise_parameters = mechanism.in_rounds(read, draw)
    real = [[value / mechanism.unit for value in some] for some in noise_parameters.split(list(values))]
    said = float(n)
    if not mechanism.public_n:  # as of a release
        said = max(1.0, values[mechanism.row_entries[0]] / mechanism.unit)
    return score_numbers(problem, [(noise_parameters.facts(mechanism.unit), real, said)])


def _compared(
    plan: Plan,
    prior: Any,
    n: int,
    tables: Sequence[PlausibleTable],
    widths: Mapping[str, Any],
    known: Mapping[str, Any],
) -> dict[str, TableWidths]:
    """Beside each width that of exact rows, the prior's, and where n is not public that of a ``known`` one."""
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
    found = {name: TableWidths.of_normal(widths[name], *own) for name, *own in zip(design.names, *arrays, strict=True)}
    return {name: replace(one, known=known.get(name)) for name, one in found.items()}


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
