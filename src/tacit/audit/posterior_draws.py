"""The audit of posterior draws: the exact curve where the density is known in closed form, attacks elsewhere."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from tacit.audit.adversarial import NeighbourTables, pairs
from tacit.audit.black_box import black_box, ends
from tacit.audit.check import Check
from tacit.audit.conjugate_distributions import ConjugatePair, pair_cells
from tacit.audit.curve import Curve
from tacit.audit.draws import LEAST_RUNS
from tacit.audit.effort import Effort
from tacit.audit.findings import attacked, drawn, exact, priced
from tacit.audit.grid_distributions import grid, prior_terms, record_terms, row_cells
from tacit.audit.hard_tables import draw_checks
from tacit.audit.neighbours import Record, collected, fillings
from tacit.audit.public_output import charged_once, same_in_public
from tacit.audit.real_draws import real_draws
from tacit.mechanisms.posterior_sample.conjugate import ConjugateLoss
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan
from tacit.schema import Category

_FEW_RUNS = 400  # of a mechanism that takes a hundredth of a second or more
_LEAST_RUNS, _MOST_SECONDS = 20, 60.0
_TABLE_SECONDS = 30.0  # for each of two neighbouring hard tables
_MOST_PAIRS = 4


def posterior_draws(calibrated: PosteriorDraws, plan: Plan, effort: Effort) -> list[Check]:
    """All checks of a plan that releases draws from a posterior."""
    declared = calibrated.loss.settings.n
    effort = effort if declared is None else replace(effort, n=declared)
    loss = calibrated.loss
    if isinstance(loss, ConjugateLoss):
        return _conjugate(calibrated, loss, plan, effort)
    if isinstance(loss, RowLoss):
        return _by_rows(calibrated, loss, plan, effort)
    return black_box(calibrated, plan, replace(effort, runs=min(effort.runs, _FEW_RUNS)))


def numbers_of(calibrated: PosteriorDraws) -> dict[str, float]:
    """The numbers that the draws are made with."""
    return dict(calibrated.drawn.numbers)


def _conjugate(calibrated: PosteriorDraws, loss: ConjugateLoss, plan: Plan, effort: Effort) -> list[Check]:
    """Every pair of candidate records beside every filling; data sets of one row as well, unless n is declared."""
    event, k = calibrated.event(), calibrated.drawn.draws
    numbers = numbers_of(calibrated)
    sizes = {effort.n} if loss.settings.n is not None else {1, effort.n}
    curves: list[tuple[Curve, Any]] = []
    pairs: dict[int, tuple[ConjugatePair, Any, Any]] = {}
    for n in sorted(sizes):
        for filling in fillings(plan):
            records = _records(plan)
            for record, one in zip(combinations(records, 2), _sums(calibrated, plan, records, n, filling), strict=True):
                pair = ConjugatePair(loss, numbers, n, *one)
                curve = Curve((pair_cells(*pair.distributions()),) * k)
                pairs[id(curve)] = pair, record, filling
                curves.append((curve, record))
    checks = [priced(event, plan.budget), exact(curves, plan.budget, event)]
    records = checks[-1].witness
    checks.append(same_in_public(plan, list(records or ()), effort.n))
    checks.append(charged_once(plan, (records or fillings(plan))[0], effort.n))
    if effort.runs:
        worst = next(pairs[id(curve)] for curve, one in curves if one == records and id(curve) in pairs)
        checks += _outcomes(calibrated, plan, effort, *worst)
    return checks


def _by_rows(calibrated: PosteriorDraws, loss: RowLoss, plan: Plan, effort: Effort) -> list[Check]:
    """The exact curve on a grid for the pairs of records whose terms differ most; real draws tested and attacked.

    Where there is no grid, a few real draws choose the pair. Real draws are made of this pair and of hard tables
    (`tacit.audit.hard_tables`).
    """
    event, k, numbers = calibrated.event(), calibrated.drawn.draws, numbers_of(calibrated)
    records, rest = ends(plan), fillings(plan)
    thetas = grid(loss, numbers)
    on_grid = thetas is not None
    if thetas is None:
        (some,) = collected(plan, records[:1], effort.n, rest[0])
        few = real_draws(calibrated, some, effort.n, _LEAST_RUNS, seconds=_MOST_SECONDS).values
        thetas = loss.theta_of(few) if len(few) else np.zeros((1, len(loss.parameters)))
    rows = [one.arrays() for one in collected(plan, [*records, *rest], 1, rest[0])]  # pyright: ignore[reportAttributeAccessIssue]
    together = tuple(np.concatenate([row[i] for row in rows]) for i in (0, 1))
    terms = record_terms(loss, numbers, together, thetas)
    prior = prior_terms(loss, numbers, thetas) if on_grid else np.zeros(len(thetas))
    curves: list[tuple[Curve, Any]] = []
    beside: list[tuple[Any, Any]] = []
    sizes = {effort.n} if loss.settings.n is not None else {1, effort.n}
    for n in sorted(sizes):
        for filling, term in zip(rest, terms[len(records) :], strict=True):
            base = prior + (n - 1) * term
            distribution = np.exp(-(base - base.min())) if on_grid else np.ones(len(thetas))
            for i, j in _furthest_pairs(terms[: len(records)], distribution / distribution.sum()):
                pair = records[i], records[j]
                beside.append((pair, (n, filling)))
                if on_grid:
                    curves.append((Curve((row_cells(base + terms[i], base + terms[j]),) * k), pair))
    checks = [priced(event, plan.budget)]
    witness: Any = beside[-1][0]
    if curves:
        checks.append(exact(curves, plan.budget, event))
        witness = checks[-1].witness
    checks.append(same_in_public(plan, list(witness or ()), effort.n, few=True))
    checks.append(charged_once(plan, (witness or rest)[0], effort.n))
    if effort.runs:
        n, filling = next(where for pair, where in beside if pair == witness)
        worst = NeighbourTables("worst", ((filling, n - 1),), witness)
        checks += draw_checks([worst], calibrated, plan, effort, seconds=_MOST_SECONDS)
        hard = list(pairs(calibrated, plan, effort.n, seed=effort.seed))
        checks += draw_checks(hard, calibrated, plan, effort, seconds=_TABLE_SECONDS)
    return checks


def _furthest_pairs(terms: Any, distribution: Any) -> list[tuple[int, int]]:
    """The pairs of records whose log ratio varies most under a distribution on the grid."""
    mean = terms @ distribution
    covariance = (terms * distribution) @ terms.T - np.outer(mean, mean)
    spread = np.diag(covariance)[:, None] + np.diag(covariance)[None, :] - 2 * covariance
    pairs = sorted(combinations(range(len(terms)), 2), key=lambda pair: -spread[pair])
    return pairs[:_MOST_PAIRS]


def _records(plan: Plan) -> list[Record]:
    """Missing cells, and every level or both bounds."""
    (name,) = plan.calibrated_mechanism().columns
    column = plan.schema.declared(name)
    cells = column.levels[:6] if isinstance(column, Category) else (column.low, column.high)
    return [{name: cell} for cell in cells]


def _sums(calibrated: PosteriorDraws, plan: Plan, records: list[Record], n: int, filling: Record) -> Any:
    """The sums of both data sets of every pair, in mapped units."""
    found = collected(plan, records, n, filling)
    assert isinstance(calibrated.loss, ConjugateLoss)
    unit = calibrated.loss.conjugacy.statistic.unit
    sums = [tuple(total / unit for total in one.totals) for one in found]  # pyright: ignore[reportAttributeAccessIssue]
    return combinations(sums, 2)


def _outcomes(
    calibrated: PosteriorDraws, plan: Plan, effort: Effort, pair: ConjugatePair, records: Any, filling: Record
) -> list[Check]:
    """Real draws against their distribution, by Kolmogorov and Smirnov, and a likelihood-ratio attack on the first of
    them.
    """
    from scipy.stats import kstest

    p_values: dict[str, float] = {}
    scores: list[Any] = []
    distributions = pair.distributions()
    for name, distribution, one in zip(
        ("first", "second"), distributions, collected(plan, records, pair.n, filling), strict=True
    ):
        size = calibrated.drawn.parameters
        values = np.array([calibrated.cross(one, pair.n, OSEntropy())[:size] for _ in effort.repeats()])
        telling = pair.telling(values / calibrated.unit)
        if effort.runs >= LEAST_RUNS:
            p_values[f"{name}: fit"] = float(kstest(distribution.uniform(telling), "uniform").pvalue)
            p_values[f"{name}: repeats"] = 0.0 if len(np.unique(values, axis=0)) < effort.runs / 2 else 1.0
        places = distribution.place(telling)
        scores.append(distributions[1].log_density(places) - distributions[0].log_density(places))
    attack = attacked(scores[0], scores[1], plan.budget, effort, records, "a likelihood-ratio attack")
    return [drawn(p_values, effort, 2 * effort.runs), attack]
