"""Try to beat a claimed sensitivity with real records through the real code path.

The search knows nothing of the proof. It writes records as raw cells (corners of the bounds, values beyond them,
missing and unreadable cells, undeclared levels, random values), lets the package parse, clamp, round and sum them
exactly as it would a file, and looks for the pair whose statistics differ most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Category, Number, Schema
from tacit.sources.open import open_source
from tacit.statistics.statistic import Statistic

Record = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """The largest differences that were found, in the units of `Sensitivity`, and the records that made them."""

    l1: Fraction
    l2_squared: Fraction
    l1_pair: tuple[Record, Record]
    l2_pair: tuple[Record, Record]

    def violates(self, claimed: Sensitivity) -> bool:
        """Whether a pair of records moves the statistic further than claimed."""
        return self.l1 > claimed.l1 or self.l2_squared > claimed.l2_squared


def search_sensitivity(
    statistic: Statistic, schema: Schema, *, seed: int, records: int = 300, rounds: int = 20
) -> Found:
    """Search over pairs of records: all pairs of a random pool, then improvement of the best ones cell by cell."""
    import numpy as np

    rng = np.random.default_rng(seed)
    weights = statistic.sensitivity().relative_scales
    candidates = {name: _candidates(schema.declared(name), rng) for name in statistic.columns}
    pool = _corners(candidates, records // 2) + [_random_record(candidates, rng) for _ in range(records // 2)]
    best: dict[int, tuple[Fraction, tuple[Record, Record]]] = {}
    for norm in (1, 2):
        sums = [contribution(statistic, schema, record) for record in pool]
        scaled = np.array([[float(v / w) for v, w in zip(row, weights, strict=True)] for row in sums])
        sizes = (np.abs(scaled[:, None, :] - scaled[None, :, :]) ** norm).sum(axis=2)
        i, j = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        pair = (pool[int(i)], pool[int(j)])
        size = _size(statistic, schema, pair, weights, norm)
        for _ in range(rounds):
            size, pair, improved = _improve(statistic, schema, pair, size, weights, norm, candidates, rng)
            if not improved:
                break
        best[norm] = (size, pair)
    return Found(best[1][0], best[2][0], best[1][1], best[2][1])


def contribution(statistic: Statistic, schema: Schema, record: Mapping[str, Any]) -> list[int]:
    """What one record adds to the statistic, through parsing, clamping and rounding."""
    source = open_source({name: [cell] for name, cell in record.items()}, statistic.columns, schema)
    (batch,) = source.batches(schema, statistic.columns, statistic.batch_rows)
    return statistic.batch_sum(batch.columns)


def _size(
    statistic: Statistic, schema: Schema, pair: tuple[Record, Record], weights: tuple[Fraction, ...], norm: int
) -> Fraction:
    first, second = (contribution(statistic, schema, record) for record in pair)
    terms = (abs(Fraction(a - b) / w) ** norm for a, b, w in zip(first, second, weights, strict=True))
    return sum(terms, Fraction(0))


def _improve(
    statistic: Statistic,
    schema: Schema,
    pair: tuple[Record, Record],
    size: Fraction,
    weights: tuple[Fraction, ...],
    norm: int,
    candidates: Mapping[str, list[Any]],
    rng: Any,
) -> tuple[Fraction, tuple[Record, Record], bool]:
    improved = False
    for side in (0, 1):
        for name in statistic.columns:
            column = schema.declared(name)
            fresh = [_random_cell(column, rng) for _ in range(4)]
            for cell in [*candidates[name], *fresh, *_beside(column, pair[side][name])]:
                changed = {**pair[side], name: cell}
                trial = (changed, pair[1]) if side == 0 else (pair[0], changed)
                reached = _size(statistic, schema, trial, weights, norm)
                if reached > size:
                    size, pair, improved = reached, trial, True
    return size, pair, improved


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


def _random_record(candidates: Mapping[str, list[Any]], rng: Any) -> Record:
    return {name: cells[int(rng.integers(len(cells)))] for name, cells in candidates.items()}


def _corners(candidates: Mapping[str, list[Any]], most: int) -> list[Record]:
    """Records from the first candidates of each column: both bounds, or the levels."""
    found: list[Record] = [{}]
    for name, cells in candidates.items():
        found = [{**record, name: cell} for record in found for cell in cells[: 2 if len(found) > 1 else 12]][:most]
    return found
