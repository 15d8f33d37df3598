"""Try to beat a claimed sensitivity with real records through the real code path.

The search knows nothing of the proof. It writes records as raw cells (corners of the bounds, values beyond them,
missing and unreadable cells, undeclared levels, random values), lets the package parse, clamp, round and sum them
exactly as it would a file, and looks for the pair whose statistics differ most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.audit.neighbours import may_be_absent
from tacit.plan import Plan
from tacit.privacy.neighbours import ADD_REMOVE
from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Category, Number, Schema
from tacit.sources.open import open_source
from tacit.statistics.statistic import Statistic

_Record = dict[str, Any]


@dataclass(frozen=True)
class LargestDifferences:
    """The largest differences that were found, in the units of `Sensitivity`, and the records that made them."""

    l1: Fraction
    l2_squared: Fraction
    l1_pair: tuple[_Record, Any]
    l2_pair: tuple[_Record, Any]

    def violates(self, claimed: Sensitivity) -> bool:
        """Whether a pair of records moves the statistic further than claimed."""
        return self.l1 > claimed.l1 or self.l2_squared > claimed.l2_squared

    def or_larger(self, other: LargestDifferences) -> LargestDifferences:
        """In each norm the larger one."""
        first = self if self.l1 >= other.l1 else other
        second = self if self.l2_squared >= other.l2_squared else other
        return LargestDifferences(first.l1, second.l2_squared, first.l1_pair, second.l2_pair)


Locate = Callable[[Sequence[Any]], list[list[int]]]
"""Where each record, or None for nobody, takes the statistic, in whole numbers: one vector each, all else equal."""


def search_sensitivity(
    statistic: Statistic, schema: Schema, *, seed: int, records: int = 300, rounds: int = 20, absent: bool = False
) -> LargestDifferences:
    """Search over pairs of records for the largest change of a sum; ``absent``: over records that come or go."""
    weights = statistic.sensitivity().relative_scales

    def locate(some: Sequence[Any]) -> list[list[int]]:
        return contributions(statistic, schema, some)

    return search_pairs(
        statistic.columns, schema, weights, locate, seed=seed, records=records, rounds=rounds, absent=absent
    )


def search_pairs(
    columns: Sequence[str],
    schema: Schema,
    weights: tuple[Fraction, ...],
    locate: Locate,
    *,
    seed: int,
    records: int = 300,
    rounds: int = 20,
    absent: bool = False,
) -> LargestDifferences:
    """Search over pairs of records: all pairs of a random pool, then improvement of the best one.

    ``locate`` is the code under attack; distances are in units of ``weights``. A record is changed cell by cell, and in
    all its numbers at once: where covariates lie in a ball, a pair is far apart by its directions, and those are not a
    matter of one cell. ``absent`` is for add-remove: the second of each pair is then None, no record at all.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    candidates = {name: _candidates(schema.declared(name), rng) for name in columns}
    pool = _corners(candidates, records // 2) + [_random_record(candidates, rng) for _ in range(records // 2)]
    if absent:
        return _alone(schema, weights, locate, pool, candidates, rounds, rng)
    places = locate(pool)
    scaled = np.array([[float(v / w) for v, w in zip(row, weights, strict=True)] for row in places])
    best: dict[int, tuple[Fraction, tuple[_Record, _Record]]] = {}
    for norm in (1, 2):
        sizes = (np.abs(scaled[:, None, :] - scaled[None, :, :]) ** norm).sum(axis=2)
        i, j = (int(place) for place in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
        size, pair = _size(places[i], places[j], weights, norm), (pool[i], pool[j])
        for _ in range(rounds):
            size, pair, improved = _improve(locate, schema, pair, size, weights, norm, candidates, rng)
            if not improved:
                break
        best[norm] = (size, pair)
    return LargestDifferences(best[1][0], best[2][0], best[1][1], best[2][1])


def search_neighbours(
    plan: Plan, columns: Sequence[str], weights: tuple[Fraction, ...], locate: Locate, **size: int
) -> LargestDifferences:
    """`search_pairs` over what the plan's neighbours differ by: records that come or go, records in the place of
    others, or both, where a record that is there may add nothing.
    """
    alone = plan.budget.neighbours == ADD_REMOVE
    found = search_pairs(columns, plan.schema, weights, locate, absent=alone, **size)
    if alone or not may_be_absent(plan):
        return found
    return found.or_larger(search_pairs(columns, plan.schema, weights, locate, absent=True, **size))


def _alone(
    schema: Schema,
    weights: tuple[Fraction, ...],
    locate: Locate,
    pool: list[_Record],
    candidates: Mapping[str, list[Any]],
    rounds: int,
    rng: Any,
) -> LargestDifferences:
    """The longest vectors of one record, by the same steps."""
    nobody, *places = locate([None, *pool])
    best: dict[int, tuple[Fraction, _Record]] = {}
    for norm in (1, 2):
        sizes = [_size(nobody, row, weights, norm) for row in places]
        place = max(range(len(pool)), key=sizes.__getitem__)
        size, own = sizes[place], pool[place]
        for _ in range(rounds):
            before = size
            for name in candidates:
                column = schema.declared(name)
                fresh = [_random_cell(column, rng) for _ in range(4)]
                trials = [{**own, name: c} for c in (*candidates[name], *fresh, *_beside(column, own[name]))]
                reached = [_size(nobody, row, weights, norm) for row in locate(trials)]
                most = max(range(len(trials)), key=reached.__getitem__)
                if reached[most] > size:
                    size, own = reached[most], trials[most]
            if size == before:
                break
        best[norm] = (size, own)
    return LargestDifferences(best[1][0], best[2][0], (best[1][1], None), (best[2][1], None))


def contribution(statistic: Statistic, schema: Schema, record: Mapping[str, Any]) -> list[int]:
    """What one record adds to the statistic, through parsing, clamping and rounding."""
    return contributions(statistic, schema, [record])[0]


def contributions(statistic: Statistic, schema: Schema, records: Sequence[Mapping[str, Any] | None]) -> list[list[int]]:
    """What each record adds: all are parsed together and then summed one by one. None, nobody, adds nothing."""
    if None in records:
        there = iter(contributions(statistic, schema, [one for one in records if one is not None]))
        return [[0] * len(statistic.entries) if one is None else next(there) for one in records]
    cells = {name: [record[name] for record in records if record is not None] for name in statistic.columns}
    source = open_source(cells, statistic.columns, schema)
    found: list[list[int]] = []
    for batch in source.batches(schema, statistic.columns, statistic.batch_rows):
        rows = len(next(iter(batch.columns.values())))
        for i in range(rows):
            found.append(statistic.batch_sum({name: values[i : i + 1] for name, values in batch.columns.items()}))
    return found


def _size(first: Sequence[int], second: Sequence[int], weights: tuple[Fraction, ...], norm: int) -> Fraction:
    terms = (abs(Fraction(a - b) / w) ** norm for a, b, w in zip(first, second, weights, strict=True))
    return sum(terms, Fraction(0))


def _improve(
    locate: Locate,
    schema: Schema,
    pair: tuple[_Record, _Record],
    size: Fraction,
    weights: tuple[Fraction, ...],
    norm: int,
    candidates: Mapping[str, list[Any]],
    rng: Any,
) -> tuple[Fraction, tuple[_Record, _Record], bool]:
    improved = False
    for side in (0, 1):
        for name in (*candidates, None):
            own, other = pair[side], pair[1 - side]
            if name is None:
                trials = _together(own, other, schema)
            else:
                column = schema.declared(name)
                fresh = [_random_cell(column, rng) for _ in range(4)]
                trials = [{**own, name: c} for c in (*candidates[name], *fresh, *_beside(column, own[name]))]
            fixed, *others = locate([other, *trials])
            reached = [_size(fixed, row, weights, norm) for row in others]
            most = max(range(len(trials)), key=reached.__getitem__)
            if reached[most] > size:
                size, improved = reached[most], True
                pair = (trials[most], other) if side == 0 else (other, trials[most])
    return size, pair, improved


def _together(own: _Record, other: _Record, schema: Schema) -> list[_Record]:
    """A record with all its numbers moved at once: towards those of the other record or away, or opposite to them."""
    ends = {n: (c.low, c.high) for n, c in schema.items() if n in own and isinstance(c, Number)}
    inside = {
        n
        for n, (low, high) in ends.items()
        if all(isinstance(r[n], float) and low <= r[n] <= high for r in (own, other))
    }
    opposite = {n: ends[n][0] + ends[n][1] - other[n] for n in inside}
    shares = (0.5, 0.1, 0.02, 0.004, -0.5, -0.1, -0.02, -0.004)
    moved = [{n: own[n] + share * (other[n] - own[n]) for n in inside} for share in shares]
    return [{**own, **cells} for cells in (opposite, *moved)]


def _candidates(column: Number | Category, rng: Any) -> list[Any]:
    if isinstance(column, Category):
        return [*column.levels, None, "no such level"]
    low, high = column.low, column.high
    beyond = [low - 1, high + 1, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, None]
    inside = [low, high, low + (high - low) / 2, 0.0, *rng.uniform(low, high, 4).tolist()]
    return inside + beyond


def _random_cell(column: Number | Category, rng: Any) -> Any:
    if isinstance(column, Category):
        return column.levels[int(rng.integers(len(column.levels)))]
    return float(rng.uniform(column.low, column.high))


def _beside(column: Number | Category, cell: Any) -> list[float]:
    """Numbers near a cell, from far to close, inside the bounds: where a maximum is not at a corner."""
    if isinstance(column, Category) or not isinstance(cell, float) or not column.low <= cell <= column.high:
        return []
    width = column.high - column.low
    return [cell + sign * width * step for step in (0.2, 0.05, 0.01, 0.002, 0.0004) for sign in (1, -1)]


def _random_record(candidates: Mapping[str, list[Any]], rng: Any) -> _Record:
    return {name: cells[int(rng.integers(len(cells)))] for name, cells in candidates.items()}


def _corners(candidates: Mapping[str, list[Any]], most: int) -> list[_Record]:
    """Records from the first candidates of each column: both bounds, or the levels."""
    found: list[_Record] = [{}]
    for name, cells in candidates.items():
        found = [{**record, name: cell} for record in found for cell in cells[: 2 if len(found) > 1 else 12]][:most]
    return found
