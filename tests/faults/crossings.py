"""Faults of the boundary itself: what is public depends on a row, or the price is not paid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import tacit
from faults.broken import BrokenNoise, Fault, lying
from tacit import boundary
from tacit.privacy.events import PureEvent
from tacit.schema import Category, Schema

NUMBER = tacit.Plan(tacit.LinearRegression("y ~ x"), tacit.Schema(y=(-1, 1), x=(-1, 1)), tacit.PureDP(1.0))
LEVELS = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c", "no such level"]), tacit.PureDP(1.0))

real = boundary.privatize


def _n_from_the_data(monkeypatch):
    """Rows with a missing cell are dropped, so that n says how many there were."""

    def privatize(data, plan, **more):
        whole = [all(cell is not None for cell in row) for row in zip(*data.values(), strict=True)]
        whole[0] = True
        kept = {name: [c for c, good in zip(cells, whole, strict=True) if good] for name, cells in data.items()}
        return real(kept, plan, **more)

    monkeypatch.setattr(boundary, "privatize", privatize)
    return NUMBER


def _levels_from_the_data(monkeypatch):
    """The levels are those that the column has."""

    def privatize(data, plan, **more):
        seen = sorted({str(cell) for cell in data["x"]} | {"a", "b"})
        schema = Schema(x=Category(tuple(seen)))
        return real(data, tacit.Plan(plan.model, schema, plan.budget), **more)

    monkeypatch.setattr(boundary, "privatize", privatize)
    return LEVELS


def _raises(monkeypatch):
    """A cell that cannot be read stops the release."""

    def privatize(data, plan, **more):
        for cell in data["x"]:
            float(cell if cell is not None else 0)
        return real(data, plan, **more)

    monkeypatch.setattr(boundary, "privatize", privatize)
    return NUMBER


def _under_priced(right, budget):
    """The price is a tenth of what the release costs: a ledger pays for ten."""
    return replace(lying(right, budget), said=PureEvent(budget.epsilon / 10))


def _bounds_from_the_data(monkeypatch):
    """The bounds are the smallest and the largest value."""

    def privatize(data, plan, **more):
        x = np.array([v if isinstance(v, float | int) and np.isfinite(v) else 0.0 for v in data["x"]], float)
        schema = Schema(y=(-1, 1), x=(float(max(x.min(), -9)) - 1, float(min(x.max(), 9)) + 1))
        return real(data, tacit.Plan(plan.model, schema, plan.budget), **more)

    monkeypatch.setattr(boundary, "privatize", privatize)
    return NUMBER


FAULTS = [
    Fault("n taken from the data", "rows with missing cells are dropped", _n_from_the_data, ("public part",), runs=0),
    Fault("levels read from the data", "the levels that occur", _levels_from_the_data, ("public part",), runs=0),
    Fault(
        "bounds read from the data",
        "the smallest and the largest value",
        _bounds_from_the_data,
        ("public part",),
        runs=0,
    ),
    Fault("a cell that raises", "an unreadable cell stops the release", _raises, ("public part",), runs=0),
    Fault(
        "price understated",
        "the ledger is charged a tenth",
        lambda m: replace(NUMBER, mechanism=BrokenNoise(change=_under_priced)),
        ("exact curve", "ledger"),
        runs=0,
    ),
]
