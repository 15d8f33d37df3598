"""The audit of a private descent: what one row adds through the real code, the curve that follows, and an attack.

The attack and the public checks are those of private chains: an attacker who sees every noisy sum. Before them stand
two computations. The first looks for a row whose whole vector is longer than the noise was made for, or depends on the
rows beside it. The second prices the pair of records that is furthest apart as if all steps were like the worst one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.audit.black_box import ends
from tacit.audit.check import Check
from tacit.audit.effort import Effort
from tacit.audit.neighbours import Record, collected, fillings
from tacit.audit.private_chains import private_chains, recorded
from tacit.mechanisms.dp_sgd.dp_sgd import DescentPoint
from tacit.mechanisms.iterative.private_sums import Answer, PrivateSums
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan
from tacit.privacy.dominating_pair import AntipodalPair
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, RenyiDP
from tacit.privacy.self_composition import composed_delta
from tacit.schema import Category
from tacit.sources.open import open_source

_POINTS = 12  # of a run, at which vectors are looked at
_RECORDS = 60
_TOLERANCE = 1e-3  # relative: what the composition's grid may add


def private_descent(crossing: DescentPoint, plan: Plan, effort: Effort) -> list[Check]:
    """All checks of a plan that releases the last point of a private descent."""
    n = crossing.rows
    assert n is not None  # or there is no plan
    # A descent answers to the same names as a chain.
    price, *others = private_chains(crossing, plan, replace(effort, n=n))  # pyright: ignore[reportArgumentType]
    return [price, *_by_vectors(crossing, plan, n, effort.seed), *others]


def _by_vectors(crossing: DescentPoint, plan: Plan, n: int, seed: int) -> list[Check]:
    """Every candidate as a row, at points of one real run."""
    records = [*ends(plan), *fillings(plan), *_anywhere(plan, seed)]
    numbers = dict(crossing.drawn.numbers)
    (filled,) = collected(plan, records[:1], n, fillings(plan)[0])
    run = recorded(crossing, filled, n)  # pyright: ignore[reportArgumentType]
    answers = run[:: max(1, len(run) // _POINTS)]
    candidates, beside = (crossing.chain.evidence(numbers, one, OSEntropy()) for one in (_rows(plan, records), filled))
    law = candidates.steps
    longest, depends = 0.0, False
    furthest: tuple[float, tuple[Record, Record]] = (0.0, (records[0], records[1]))
    for answer in answers:
        vectors = [_one(candidates, answer, i) for i in range(len(records))]
        longest = max(longest, *(math.sqrt(sum(int(v) ** 2 for v in vector)) for vector in vectors))
        depends = depends or _depends(beside, answer, n)
        pair = _furthest(np.array(vectors, np.float64))
        apart = math.dist(vectors[pair[0]].tolist(), vectors[pair[1]].tolist())
        if apart > furthest[0]:
            furthest = apart, (records[pair[0]], records[pair[1]])
    share_of_radius = longest / law.radius
    violated = longest > law.radius or depends
    if longest > law.radius:
        words = f"A row adds a vector {share_of_radius:.6g} times as long as the noise was made for."
    elif depends:
        words = "What a row adds depends on the rows that are taken with it."
    else:
        words = f"The longest vector of a row is {100 * share_of_radius:.4g}% of what the noise was made for."
    figures = {"longest": share_of_radius, "apart": furthest[0] / law.radius}
    vectors_check = Check("sensitivity", violated, words, proof=True, witness=furthest[1], figures=figures)
    return [vectors_check, _curve(crossing, plan, furthest)]


def _anywhere(plan: Plan, seed: int) -> list[Record]:
    """Records anywhere within the bounds: a loss that ignores what is far out is steepest in the middle."""
    rng = np.random.default_rng(seed)
    found: list[Record] = []
    for _ in range(_RECORDS):
        cells: dict[str, Any] = {}
        for name in plan.crossing().columns:
            column = plan.schema.declared(name)
            cells[name] = (
                column.levels[int(rng.integers(len(column.levels)))]
                if isinstance(column, Category)
                else float(rng.uniform(column.low, column.high))
            )
        found.append(cells)
    return found


def _rows(plan: Plan, records: list[Record]) -> Any:
    """One data set of all records."""
    columns = plan.crossing().columns
    source = open_source({name: [one[name] for one in records] for name in columns}, columns, plan.schema)
    found = plan.crossing().collector()
    for batch in source.batches(plan.schema, columns, 2**16):
        found.add(batch.columns)
    return found


def _furthest(vectors: Any) -> tuple[int, int]:
    squares = np.sum(vectors**2, axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * vectors @ vectors.T
    first, second = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return int(first), int(second)


def _curve(crossing: DescentPoint, plan: Plan, furthest: tuple[float, tuple[Record, Record]]) -> Check:
    """The share of the promise that opposite vectors as far apart as the found ones use, in every step."""
    law = crossing.chain.steps(dict(crossing.drawn.numbers))
    half = furthest[0] / (2 * law.radius)
    multiplier = float(law.multiplier)
    if half == 0:
        return Check("exact curve", False, "No two records were found that differ.", proof=True, share=0.0)
    pair = AntipodalPair(max(multiplier / half, 0.05), float(law.rate))
    share = _share(pair, law.steps, plan.budget)
    violated = share > 1 + _TOLERANCE
    words = f"The furthest pair of records uses {100 * min(share, 10.0):.4g}% of the promise ({plan.budget.symbols})."
    figures = {"multiplier_of_the_pair": multiplier / half, "rate": float(law.rate), "steps": law.steps}
    return Check("exact curve", violated, words, proof=True, share=share, witness=furthest[1], figures=figures)


def _share(pair: AntipodalPair, steps: int, budget: Guarantee) -> float:
    """What ``steps`` steps of the pair cost over what is promised, in the promise's own number."""
    mu = 2 * math.sqrt(steps) / pair.multiplier
    match budget:
        case ApproxDP(epsilon=epsilon, delta=delta):
            if composed_delta(pair, steps, 0.0) <= delta:
                return 0.0
            low, high = 0.0, epsilon
            while composed_delta(pair, steps, high) > delta and high < 64 * epsilon:
                low, high = high, 2 * high
            for _ in range(14):
                middle = (low + high) / 2
                low, high = (middle, high) if composed_delta(pair, steps, middle) > delta else (low, middle)
            return low / epsilon
        case ZCDP(rho=rho):
            return mu**2 / 2 / rho
        case GDP(mu=promised):
            return mu / promised
        case RenyiDP(order=order, epsilon=epsilon):
            return steps * pair.renyi(order) / epsilon
        case _:
            return math.inf  # a pure promise, which Gaussian noise cannot keep


def _one(sums: PrivateSums, answer: Answer, row: int) -> Any:
    return sums.exact(answer.vector, answer.state, answer.bound, np.array([row]), len(answer.values))


def _depends(sums: PrivateSums, answer: Answer, n: int) -> bool:
    """Whether the last row adds anything else beside all other rows than alone."""
    size, every = len(answer.values), np.arange(n)
    beside = sums.exact(answer.vector, answer.state, answer.bound, every, size) - sums.exact(
        answer.vector, answer.state, answer.bound, every[:-1], size
    )
    return bool(np.any(beside != _one(sums, answer, n - 1)))
