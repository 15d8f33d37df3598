"""The audit of noisy scores in rounds: the worst pair of each round at some points, and the curve of all rounds.

Given what was released before, a round is a sum plus noise at a fixed point; and whatever the points are, its price is
the same. So points are picked here, as far out as rounds may lead, and each round is attacked at all of them. A pair of
records is then followed through all rounds: its losses add up, and their exact curve is compared with the promise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.audit.check import Check
from tacit.audit.curve import Curve, curve_of
from tacit.audit.draws import noise_tests
from tacit.audit.effort import Effort
from tacit.audit.findings import bounded, drawn, exact, priced
from tacit.audit.neighbours import Record, collected, fillings
from tacit.audit.output_distributions import noise_parts
from tacit.audit.public_output import charged_once, same_in_public
from tacit.audit.sensitivity import LargestDifferences, contributions, search_neighbours
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.models.score_noise import ScoreNoise
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sums import ScoreSums

_SIZES = (0.0, 1.0, 8.0)  # of the points' coefficients, in mapped units
_RECORDS, _ROUNDS = 80, 6

Point = tuple[int, ...]


def score_rounds(calibrated: ScoreRounds, plan: Plan, effort: Effort) -> list[Check]:
    """All checks of a mechanism that releases scores and information round by round."""
    event = calibrated.event()
    points = _points(calibrated, effort.seed)
    worst: dict[bool, Check] = {}
    pairs: dict[Point, list[tuple[Record, Record]]] = {point: [] for point in points}
    kinds = [share > 0 for share in calibrated.matrix]
    for matrix in sorted(set(kinds)):
        place = kinds.index(matrix)
        if matrix and isinstance(calibrated.sums, ScoreSums) and calibrated.sums.observed:
            place = len(kinds) - 1  # its information is another one, and larger
        for point in points:
            found = _search(calibrated, plan, effort, place, point)
            check = bounded(found, calibrated.sensitivity(place, point), calibrated.unit)
            pairs[point].append(found.l1_pair if calibrated.sums.laplace else found.l2_pair)
            if matrix not in worst or (check.violated and not worst[matrix].violated):
                worst[matrix] = check
    curves: list[tuple[Curve, tuple[Record, Record]]] = []
    for point in points:
        path = [points[0], *[point] * (calibrated.passes - 1)]  # the first round is at 0
        curves += [(_curve(calibrated, plan, path, pair), pair) for pair in pairs[point]]
    curve = exact(curves, plan.budget, event)
    units, first = min(effort.n, 10), pairs[points[0]][0]
    checks = [priced(event, plan.budget), *worst.values(), curve]
    checks.append(same_in_public(plan, first, units, few=True))
    checks.append(charged_once(plan, first[0], units))
    if effort.runs:
        checks.append(_outcomes(calibrated, plan, effort, first))
    return checks


def _points(calibrated: ScoreRounds, seed: int) -> list[Point]:
    rng = np.random.default_rng(seed)
    size = len(calibrated.sums.coordinates)
    return [tuple(int(t) for t in np.rint(rng.normal(size=size) * far * POINT_UNIT)) for far in _SIZES]


def _search(calibrated: ScoreRounds, plan: Plan, effort: Effort, place: int, point: Point) -> LargestDifferences:
    statistic, weights = calibrated.statistic(place, point), calibrated.sensitivity(place, point).relative_scales

    def locate(records: Sequence[Record]) -> list[list[int]]:
        return [[calibrated.people * v for v in one] for one in contributions(statistic, plan.schema, records)]

    return search_neighbours(
        plan, calibrated.columns, weights, locate, seed=effort.seed, records=_RECORDS, rounds=_ROUNDS
    )


def _curve(calibrated: ScoreRounds, plan: Plan, path: Sequence[Point], pair: tuple[Record, Record]) -> Curve:
    parts = []
    for place, point in enumerate(path):
        first, second = contributions(calibrated.statistic(place, point), plan.schema, pair)
        distribution = ScoreNoise(calibrated.noise_parameters.noise, (calibrated.round_at(place, point),))
        moved = [calibrated.people * (b - a) for a, b in zip(first, second, strict=True)]
        if any(moved):
            parts += noise_parts(distribution.of_round(0), moved)
    return curve_of(parts)


def _outcomes(calibrated: ScoreRounds, plan: Plan, effort: Effort, pair: tuple[Record, Record]) -> Check:
    """Does the noise of the first round, as it is drawn, follow its distribution? That of the others is drawn alike."""
    p_values: dict[str, float] = {}
    for name, one in zip(("first", "second"), collected(plan, pair, effort.n, fillings(plan)[0]), strict=True):
        centre = [int(v) for v in one.totals]  # pyright: ignore[reportAttributeAccessIssue]
        runs = [calibrated.cross(one, effort.n, OSEntropy()) for _ in effort.repeats()]
        residual = np.array([[a - b for a, b in zip(run, centre, strict=True)] for run in runs], dtype=object)
        tests = noise_tests(residual, calibrated.noise_parameters.of_round(0))
        p_values |= {f"{name}: {test}": p for test, p in tests.items()}
    return drawn(p_values, effort, 2 * effort.runs)
