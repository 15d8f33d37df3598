"""The audit of noisy sums: a search for the worst pair, its exact curve, and the noise that is really drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.audit.check import Check
from tacit.audit.curve import Curve, curve_of
from tacit.audit.draws import noise_tests
from tacit.audit.effort import Effort
from tacit.audit.findings import attacked, bounded, drawn, exact, priced
from tacit.audit.neighbours import Record, collected, fillings
from tacit.audit.output_distributions import noise_parts
from tacit.audit.public_output import charged_once, same_in_public
from tacit.audit.sensitivity import LargestDifferences, search_neighbours
from tacit.mechanisms.add_noise import NoisySums, Sums
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan

_SEARCHED_AGAIN = 60  # records, for data sets filled with other rows than stand-ins


def noisy_sums(calibrated: NoisySums, plan: Plan, effort: Effort) -> list[Check]:
    """All checks of a mechanism whose output is a whole-number statistic plus noise.

    It need not be a sum: where a collector is anything but `Sums`, data sets of ``n`` rows with several fillings are
    searched, as what one row changes may then depend on the others.
    """
    event = calibrated.event()
    rest = fillings(plan)
    additive = type(calibrated.accumulator()) is Sums
    found, filling = _search(calibrated, plan, effort, rest[:1] if additive else rest)
    sensitivity = bounded(found, calibrated.sensitivity, calibrated.unit)
    curves: list[tuple[Curve, Any]] = []
    for pair in (found.l1_pair, found.l2_pair):
        first, second = _locate(plan, pair, effort.n, filling)
        curves.append((curve_of(noise_parts(calibrated.noise, _minus(second, first))), pair))
    curve = exact(curves, plan.budget, event)
    checks = [priced(event, plan.budget), sensitivity, curve]
    witness: tuple[Record, Record] = sensitivity.witness if sensitivity.violated else curve.witness  # pyright: ignore[reportAssignmentType]
    checks.append(same_in_public(plan, [*found.l1_pair, *found.l2_pair], min(effort.n, 10)))
    checks.append(charged_once(plan, witness[0], min(effort.n, 10)))
    if effort.runs:
        checks += _outcomes(calibrated, plan, effort, filling, witness)
    return checks


def _search(
    calibrated: NoisySums, plan: Plan, effort: Effort, rest: Sequence[Record]
) -> tuple[LargestDifferences, Record]:
    """The worst pair over all fillings, in the norm that the noise is about; and the filling it was found with."""
    weights = calibrated.sensitivity.relative_scales
    best: tuple[LargestDifferences, Record] | None = None
    for filling in rest:

        def locate(records: Sequence[Record], filling: Record = filling) -> list[list[int]]:
            return _locate(plan, records, effort.n if len(rest) > 1 else 1, filling)

        size = {"records": _SEARCHED_AGAIN, "rounds": 6} if len(rest) > 1 else {}
        found = search_neighbours(plan, calibrated.columns, weights, locate, seed=effort.seed, **size)
        if best is None or (found.l1, found.l2_squared) > (best[0].l1, best[0].l2_squared):
            best = found, filling
    assert best is not None
    return best


def _locate(plan: Plan, records: Sequence[Record], n: int, filling: Record) -> list[list[int]]:
    return [list(one.totals) for one in collected(plan, records, n, filling)]  # pyright: ignore[reportAttributeAccessIssue]


def _outcomes(calibrated: NoisySums, plan: Plan, effort: Effort, filling: Record, witness: Any) -> list[Check]:
    """Run the mechanism on both data sets, and look at what comes out."""
    p_values: dict[str, float] = {}
    residuals: list[Any] = []
    centres: list[list[int]] = []
    for name, one in zip(("first", "second"), collected(plan, witness, effort.n, filling), strict=True):
        centre = [int(v) for v in one.totals]  # pyright: ignore[reportAttributeAccessIssue]
        runs = [calibrated.cross(one, effort.n, OSEntropy()) for _ in effort.repeats()]
        residual = np.array([_minus(run, centre) for run in runs], dtype=object)
        p_values |= {f"{name}: {test}": p for test, p in noise_tests(residual, calibrated.noise).items()}
        residuals.append(residual)
        centres.append(centre)
    moved = np.array(_minus(centres[1], centres[0]), dtype=object)

    def score(residual: Any, own: int) -> Any:
        """log Q / P at each outcome, from its distance to either centre."""
        to_first = residual if own == 0 else residual + moved
        return _total(calibrated, to_first - moved) - _total(calibrated, to_first)

    attack = attacked(
        score(residuals[0], 0), score(residuals[1], 1), plan.budget, effort, witness, "a likelihood-ratio attack"
    )
    return [drawn(p_values, effort, 2 * effort.runs), attack]


def _total(calibrated: NoisySums, values: Any) -> Any:
    with np.errstate(invalid="ignore"):
        found = calibrated.noise.log_pmf(values.astype(np.float64)).sum(axis=-1)
    return np.clip(found, -1e6, 1e6)  # an impossible outcome settles the matter, and a difference needs a number


def _minus(first: Sequence[int], second: Sequence[int]) -> list[int]:
    return [int(a) - int(b) for a, b in zip(first, second, strict=True)]
