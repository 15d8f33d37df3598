"""What the laws run on: every registered family's examples, crossed with every kind of budget.

A new family is tested by being registered: nothing here names one.
"""

from __future__ import annotations

from functools import cache

import pytest

import tacit
from tacit.boundary import collect
from tacit.certificates.cases import Case, audited, calibrated
from tacit.models.registry import FAMILIES


@cache
def certified() -> dict[str, Case]:
    """Every family's plan under every mechanism, made once for all tests; not while modules are collected."""
    return {case.key: case for case in audited()}


@cache
def certified_methods() -> dict[str, Case]:
    return {case.key: case for case in calibrated(certified().values())}


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
    f"{name}-{kind}": tacit.Plan(example.model, example.schema, budget, tacit.AddNoise())
    for name, example in EXAMPLES.items()
    for kind, budget in BUDGETS.items()
}

# Every method of every family that takes releases, on the family's first example.
METHODS = {
    f"{name}-{method}": (example, method)
    for name, example in EXAMPLES.items()
    if name.endswith("-0")
    for method, found in example.model.methods.items()
    if found.central and found.known_n
}
# The default and the naive one, for distributions that take long.
MAIN_METHODS = {
    name: (example, method)
    for name, (example, method) in METHODS.items()
    if method in (next(iter(example.model.methods)), "naive")
}
# Every method but the naive one and kulkarni2021's, whose moments are wrong for large effects however small the noise.
TINY_NOISE = {name: case for name, case in METHODS.items() if case[1] not in ("naive", "taylor")}
# These make up rows. Where the sums leave the rows hardly any room their chains stand still, and are refused.
BY_ROWS = ("augment", "individual")


def by_pace(cases):
    """The names of cases, those of examples that take too long marked as slow."""
    return [pytest.param(name, marks=() if case[0].always else pytest.mark.slow) for name, case in cases.items()]


def tiny_noise():
    """Names and epsilons; all methods but the default ones are slow, and those that make up rows have one epsilon.

    Of three epsilons the middle one is slow, too.
    """
    return [
        pytest.param(
            name,
            epsilon,
            marks=() if case[0].always and name in MAIN_METHODS and epsilon != 1e9 else pytest.mark.slow,
        )
        for name, case in TINY_NOISE.items()
        for epsilon in ((1e9,) if case[1] in BY_ROWS else (1e6, 1e9, 1e12))
    ]
