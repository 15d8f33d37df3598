"""Which mechanism a plan has that is made without one."""

from __future__ import annotations

import pytest

import tacit

SCHEMA = tacit.Schema(ill=["no", "yes"], visits=(0, 10), age=(18, 90), sex=["f", "m"], score=(0, 1))
BUDGET = tacit.ApproxDP(1.0, 1e-6)
CHOSEN = {
    "logistic with a number": (tacit.LogisticRegression("ill ~ age + sex"), tacit.Newton()),
    "counts with a number": (tacit.PoissonRegression("visits ~ age"), tacit.Newton()),
    "numbers in a ball": (tacit.LogisticRegression("ill ~ age + score", radius=1.0), tacit.Newton()),
    "levels alone": (tacit.LogisticRegression("ill ~ sex"), tacit.AddNoise()),
    "no intercept": (tacit.LogisticRegression("ill ~ 0 + age"), tacit.AddNoise()),
    "linear": (tacit.LinearRegression("score ~ age"), tacit.AddNoise()),
    "share": (tacit.Bernoulli("ill"), tacit.AddNoise()),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_plan_without_a_mechanism_has_the_default_of_its_family(name):
    model, mechanism = CHOSEN[name]
    plan = tacit.Plan(model, SCHEMA, BUDGET)
    assert plan.mechanism == mechanism
    assert tacit.Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize("name", CHOSEN)
def test_a_plan_file_gets_it_by_name_and_noisy_sums_if_it_names_no_kind(name):
    model, mechanism = CHOSEN[name]
    tables = {"model": model.to_plain(), "schema": SCHEMA.to_plain(), "budget": BUDGET.to_plain()}
    assert tacit.Plan.from_plain(tables).mechanism == tacit.AddNoise()
    assert tacit.Plan.from_plain({**tables, "mechanism": {"kind": "default"}}).mechanism == mechanism


def test_a_person_may_be_named_beside_the_default_kind():
    tables = tacit.Plan(tacit.LogisticRegression("ill ~ age"), SCHEMA, BUDGET).to_plain()
    tables["mechanism"] = {"kind": "default", "unit": "person", "id": "id", "max_rows": 3}
    found = tacit.Plan.from_plain(tables).mechanism
    assert found == tacit.Newton(unit=tacit.Person("id", max_rows=3))


def test_what_is_wrong_with_the_schema_is_still_said():
    with pytest.raises(tacit.InputError, match="height"):
        tacit.Plan(tacit.LogisticRegression("ill ~ height"), SCHEMA, BUDGET)
    with pytest.raises(tacit.InputError, match="model"):
        tacit.Plan("logistic", SCHEMA, BUDGET)


def test_a_missing_kind_does_not_misdirect():
    """A table about persons has all its keys right but for the one that is not there."""
    tables = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.PureDP(1.0)).to_plain()
    tables["mechanism"] = {"unit": "person", "id": "who", "max_rows": 3, "weight": "row"}
    with pytest.raises(tacit.InputError, match=r"Expected \[mechanism\] to say its kind") as caught:
        tacit.Plan.from_plain(tables)
    assert "did you mean" not in str(caught.value)
