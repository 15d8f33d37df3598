"""What one record costs under an unknown n, worked out by other means than the sensitivities that prices come from.

The vector of a record is made here in floats, from the names of the released entries and the definition of the family
alone. What the noise of the plan then costs is the privacy loss of the worst record: in discrete Laplace noise
sum |v_i| / b_i, in discrete Gaussian noise of sd s_i half of sum (v_i / s_i)^2. It must not exceed the budget, and
where the claim is exact it must come close to it.
"""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import tacit

FORMULAS = ("y ~ a", "y ~ a + b", "y ~ g", "y ~ a + g", "y ~ a * g", "y ~ g + h", "y ~ a + g + h")
SCHEMA = tacit.Schema(y=(-3, 9), a=(0, 10), b=(-1, 4), g=["p", "q"], h=["u", "v", "w"])
LEVELS = {"g": ["p", "q"], "h": ["u", "v", "w"]}
PLANS = 24
"""Seed: their number. Of a pure and a zCDP budget, rows and people, add-remove and filters, in turn."""


def plan_of(number):
    random = Random(f"price {number}")
    model = random.choice(
        [
            tacit.LinearRegression(random.choice(FORMULAS)),
            tacit.LinearRegression(random.choice(FORMULAS)),
            tacit.Mean("a"),
            tacit.Categorical("h"),
            tacit.Shares("h", by="g"),
        ]
    )
    filtered = number % 3 == 2
    person = tacit.Person("who", random.choice((1, 2, 5)), "row") if number % 4 == 3 else None
    neighbours = "replace-one" if filtered else "add-remove"
    budget = tacit.PureDP(0.7, neighbours=neighbours) if number % 2 else tacit.ZCDP(0.3, neighbours=neighbours)
    return tacit.Plan(
        model, SCHEMA, budget, tacit.AddNoise(unit=person), where="b < 3 or g == 'p'" if filtered else None
    )


def records():
    """Every combination of levels with numbers, in mapped units, at either end, in the middle and at random."""
    rng = np.random.default_rng(1)
    places = [*product((-1.0, 0.0, 1.0), repeat=3), *rng.uniform(-1, 1, (20, 3))]
    return [{"y": y, "a": a, "b": b, "g": g, "h": h} for (y, a, b), g, h in product(places, LEVELS["g"], LEVELS["h"])]


def column(name, record):
    """A column of a design by its name: a constant, an indicator, a number, or a product of such."""
    if name == "Intercept":
        return 1.0
    if ":" in name:
        return float(np.prod([column(part, record) for part in name.split(":")]))
    if "[" in name:
        factor, level = name.rstrip("]").split("[")
        return float(record[factor] == level)
    return record[name]


def entry(name, record):
    """What a record adds to a released number, by the number's name."""
    if name == "rows":
        return 1.0
    if "=" in name:
        return float(all(record[one.split("=")[0].strip()] == one.split("=")[1] for one in name.split(", ")))
    if "^" in name:
        return record[name[0]] ** 2
    first, _, second = name.partition("*")
    return column(first, record) * (column(second, record) if second else 1.0)


def loss(plan, moved):
    """What sums that are moved by ``moved`` (pairs, entries) cost, in the budget's own number."""
    scales = np.array(plan.noise().scales, float) / plan.statistic().unit
    if plan.noise().kind == "discrete-laplace":
        return np.abs(moved / scales).sum(axis=-1)
    return ((moved / scales) ** 2).sum(axis=-1) / 2


@pytest.mark.parametrize("number", range(PLANS))
def test_the_worst_record_costs_the_budget_and_no_more(number):
    """No false alarm is possible. Planted by the lower end: noise a tenth smaller costs more than the budget."""
    plan = plan_of(number)
    assert not plan.calibrated_mechanism().public_n
    one = np.unique([[entry(name, record) for name in plan.statistic().entries] for record in records()], axis=0)
    moved = one
    if plan.budget.neighbours == "replace-one":  # one that counts in the place of another, or of one that does not
        moved = np.concatenate([one, (one[:, None] - one[None, :]).reshape(-1, one.shape[1])])
    person = plan.mechanism.person
    worst = float(loss(plan, moved * (1 if person is None else person.max_rows)).max())
    budget = plan.budget.epsilon if plan.noise().kind == "discrete-laplace" else plan.budget.rho
    assert worst <= budget * (1 + 1e-9)
    loosest = 0.7 if "*" in plan.model.to_plain().get("formula", "") else 0.9  # products within levels have a bound
    assert worst > loosest * budget, "the noise is not wasted, either"
