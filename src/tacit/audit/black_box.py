"""The audit of a mechanism about whose output nothing is known: run it on neighbours, and learn to tell them apart."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from tacit.audit.check import Check
from tacit.audit.effort import Effort
from tacit.audit.findings import attacked, priced
from tacit.audit.guess import learnt_scores
from tacit.audit.neighbours import Record, collected, fillings
from tacit.audit.public_output import charged_once, same_in_public
from tacit.mechanisms.mechanism import CalibratedMechanism
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan
from tacit.schema import Category

_PILOT = 40  # runs on each candidate, to see which pair of records is furthest apart
_MOST_PAIRS = 12


def black_box(calibrated: CalibratedMechanism, plan: Plan, effort: Effort) -> list[Check]:
    """The checks that need nothing but the mechanism itself."""
    event = calibrated.event()
    records = ends(plan)
    checks = [
        priced(event, plan.budget),
        same_in_public(plan, records[:2], min(effort.n, 10)),
        charged_once(plan, records[0], min(effort.n, 10)),
    ]
    if effort.runs:
        pair, filling = _furthest(calibrated, plan, effort, records)
        outcomes = [
            np.array([calibrated.cross(one, effort.n, OSEntropy()) for _ in effort.repeats()], dtype=np.float64)
            for one in collected(plan, pair, effort.n, filling)
        ]
        first, second = learnt_scores(*outcomes)
        checks.append(attacked(first, second, plan.budget, effort, pair, "an attack that learnt from outcomes"))
    return checks


def ends(plan: Plan) -> list[Record]:
    """Records at the ends of their columns, opposite ones next to each other."""
    columns = plan.calibrated_mechanism().columns
    found: list[Record] = []
    for pattern in range(2 ** min(len(columns), 4)):
        for flip in (0, 1):
            cells: dict[str, Any] = {}
            for i, name in enumerate(columns):
                column = plan.schema.declared(name)
                side = -((pattern >> min(i, 3) & 1) ^ flip)
                cells[name] = column.levels[side] if isinstance(column, Category) else (column.low, column.high)[side]
            found.append(cells)
    return found


def _furthest(calibrated: CalibratedMechanism, plan: Plan, effort: Effort, records: list[Record]) -> tuple[Any, Record]:
    """Of opposite records beside every filling, the pair whose few pilot outcomes differ most in the mean."""
    best: tuple[float, Any, Record] | None = None
    for filling in fillings(plan):
        for pair in islice(zip(records[::2], records[1::2], strict=True), _MOST_PAIRS):
            pilot = [
                np.array([calibrated.cross(one, effort.n, OSEntropy()) for _ in range(_PILOT)], dtype=np.float64)
                for one in collected(plan, pair, effort.n, filling)
            ]
            spread = np.sqrt(pilot[0].var(axis=0) + pilot[1].var(axis=0)) + 1e-12
            apart = float(np.max(np.abs(pilot[0].mean(axis=0) - pilot[1].mean(axis=0)) / spread))
            if best is None or apart > best[0]:
                best = apart, pair, filling
    assert best is not None
    return best[1], best[2]
