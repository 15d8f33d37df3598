"""What the laws run on: every registered family's examples, crossed with every kind of budget.

A new family is tested by being registered: nothing here names one.
"""

from __future__ import annotations

import pytest

import tacit
from tacit.boundary import collect
from tacit.models.registry import FAMILIES


def exact_sums(source, plan):
    """n and the exact sums, straight from the secret side of the boundary."""
    n, collected = collect(source, plan)
    return n, collected.totals


BUDGETS = {
    "pure": tacit.PureDP(1.0),
    "approximate": tacit.ApproxDP(1.0, 1e-6),
    "zcdp": tacit.ZCDP(0.5),
    "gdp": tacit.GDP(1.0),
    "renyi": tacit.RenyiDP(order=8.0, epsilon=2.0),
}

EXAMPLES = {
    f"{family}-{i}": example for family, model in FAMILIES.items() for i, example in enumerate(model.examples())
}

PLANS = {
    f"{name}-{kind}": tacit.Plan(example.model, example.schema, budget)
    for name, example in EXAMPLES.items()
    for kind, budget in BUDGETS.items()
}

# Every method of every family, on the family's first example.
METHODS = {
    f"{name}-{method}": (example, method)
    for name, example in EXAMPLES.items()
    if name.endswith("-0")
    for method in example.model.methods
}
# The default and the naive one, for distributions that take long.
MAIN_METHODS = {
    name: (example, method)
    for name, (example, method) in METHODS.items()
    if method in (next(iter(example.model.methods)), "naive")
}
# Default methods that must be right however small the noise is. Those that take the covariates for normal stand still
# where the noise is far below the sampling spread; `infer` refuses such chains.
TINY_NOISE = {
    name: case for name, case in MAIN_METHODS.items() if case[1] != "naive" and not name.endswith("-marginal")
}


def by_pace(cases):
    """The names of cases, those of examples that take too long marked as slow."""
    return [pytest.param(name, marks=() if case[0].always else pytest.mark.slow) for name, case in cases.items()]
