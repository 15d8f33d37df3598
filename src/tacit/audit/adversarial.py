"""Tables on which samplers of posterior draws go wrong, with two records that tell them apart.

    two modes     half of the rows say one thing and half the opposite, as loudly as the schema lets them, and one
                  record near the prior's centre decides between the two
    few rows      rows that say nothing about most coefficients, and one in a corner
    separation    the response is a function of a covariate, but for one record
    huge          one record whose covariate is as large as the schema lets it be

Rows are raw cells of the plan's columns, and few of them are different. The first table of each kind is always the
same; the others vary with their seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.neighbours import Record
from tacit.mechanisms.mechanism import Collector
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.plan import Plan
from tacit.schema import Category
from tacit.sources.open import open_source

KINDS = ("two modes", "few rows", "separation", "huge")
MANY = 401  # rows of a table with two modes, unless n is declared
_FAR, _FARTHEST = 1200.0, 2.0**20  # half-widths of a column that is not clamped


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables: ``rows``, each so many times, and one of two ``records``."""

    kind: str
    rows: tuple[tuple[Record, int], ...]
    records: tuple[Record, Record]

    @property
    def n(self) -> int:
        """Rows of either table."""
        return 1 + sum(count for _, count in self.rows)

    def collected(self, plan: Plan) -> list[Collector]:
        """What the mechanism keeps of each of the two, through the parsing of real cells."""
        crossing = plan.crossing()
        everything = [record for record, _ in self.rows] + list(self.records)
        cells = {name: [one[name] for one in everything] for name in crossing.columns}
        source = open_source(cells, crossing.columns, plan.schema)
        parsed: list[dict[str, Any]] = []
        for batch in source.batches(plan.schema, crossing.columns, 2**16):
            count = len(next(iter(batch.columns.values())))
            parsed += [{name: values[i : i + 1] for name, values in batch.columns.items()} for i in range(count)]
        found: list[Collector] = []
        for last in parsed[len(self.rows) :]:
            collector = crossing.collector()
            for one, (_, times) in zip(parsed, self.rows, strict=False):
                if times:
                    collector.add(one, times=times)
            collector.add(last, times=1)
            found.append(collector)
        return found


def pairs(crossing: PosteriorDraws, plan: Plan, n: int, *, seed: int = 0, count: int = len(KINDS)) -> Iterator[Pair]:
    """``count`` pairs, the kinds in turn. ``n`` is the number of rows, but for two modes unless a plan declares it."""
    declared = crossing.rows
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        rng = None if i < len(KINDS) else np.random.default_rng([seed, i])
        size = declared or (MANY if kind == "two modes" else n)
        yield _pair(kind, _Cells(plan, _response(crossing), crossing.columns), size, rng)


def _response(crossing: PosteriorDraws) -> str:
    """The column that the others are to explain."""
    response = crossing.loss.rows.response  # pyright: ignore[reportAttributeAccessIssue]
    return response.column if hasattr(response, "column") else response.numbers[0]


@dataclass(frozen=True)
class _Cells:
    """How numbers in mapped units become cells: 0 is the middle of a column, -1 and 1 are its ends."""

    plan: Plan
    response: str
    columns: tuple[str, ...]

    def record(self, x: float | list[float], y: float) -> Record:
        """``x`` of all covariates, or of each in turn; ``y`` of the response."""
        covariates = [name for name in self.columns if name != self.response]
        each = x[: len(covariates)] if isinstance(x, list) else [x] * len(covariates)
        found = {name: self._cell(name, value) for name, value in zip(covariates, each, strict=True)}
        return {**found, self.response: self._cell(self.response, y)}

    def _cell(self, name: str, value: float) -> Any:
        column = self.plan.schema.declared(name)
        if isinstance(column, Category) and name == self.response:
            return column.levels[-1 if value > 0 else 0]  # so that records which differ a little do differ
        if isinstance(column, Category):
            return column.levels[min(int((np.clip(value, -1, 1) + 1) / 2 * len(column.levels)), len(column.levels) - 1)]
        middle, half = (column.low + column.high) / 2, (column.high - column.low) / 2
        return middle + half * (value if not column.clamp else float(np.clip(value, -1, 1)))

    @property
    def covariates(self) -> int:
        """Their number."""
        return len(self.columns) - 1

    @property
    def free(self) -> bool:
        """Whether some covariate is not clamped."""
        columns = [self.plan.schema.declared(name) for name in self.columns if name != self.response]
        return any(not isinstance(column, Category) and not column.clamp for column in columns)


def _pair(kind: str, cells: _Cells, n: int, rng: Any) -> Pair:
    """One pair; without ``rng`` the plainest of its kind."""

    def random(low: float, high: float, plain: float) -> float:
        return plain if rng is None else float(rng.uniform(low, high))

    rest = n - 1
    loud = _FAR if rng is None else 10 ** random(0, 4, 0)
    match kind:
        case "two modes":
            y = random(0.2, 1.0, 0.84)
            # The first covariate speaks and the others are silent; the record is nearer to the centre by a factor.
            share = random(0.01, 0.5, 1 / 12)
            x = [loud if cells.free else 1.0] + [0.0] * (cells.covariates - 1)
            near = [share * x[0], *x[1:]]
            rows = ((cells.record(x, y), rest - rest // 2), (cells.record(x, -y), rest // 2))
            return Pair(kind, rows, (cells.record(near, share * y), cells.record(near, -share * y)))
        case "few rows":
            corner = (
                [1.0] * cells.covariates if rng is None else [float(v) for v in rng.choice([-1, 1], cells.covariates)]
            )
            rows = ((cells.record(0.0, 1.0), rest - rest // 2), (cells.record(0.0, -1.0), rest // 2))
            return Pair(kind, rows, (cells.record(corner, -1.0), cells.record(corner, 1.0)))
        case "separation":
            edge = random(0.0, 1.0, 1.0)
            rows = ((cells.record(1.0, 1.0), rest - rest // 2), (cells.record(-1.0, -1.0), rest // 2))
            return Pair(kind, rows, (cells.record(edge, 1.0), cells.record(edge, -1.0)))
        case _:
            far = _FARTHEST if rng is None else math.exp(random(0, math.log(_FARTHEST), 0))
            spread = [float(v) for v in (np.linspace(-1, 1, 6) if rng is None else rng.uniform(-1, 1, 6))]
            parts = [rest // 6 + (i < rest % 6) for i in range(6)]
            rows = tuple(
                (cells.record([value] * cells.covariates, 1.0 if i % 2 else -1.0), times)
                for i, (value, times) in enumerate(zip(spread, parts, strict=True))
                if times
            )
            return Pair(kind, rows, (cells.record(far, 1.0), cells.record(far, -1.0)))
