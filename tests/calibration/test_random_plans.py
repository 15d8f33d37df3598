"""Plans that nobody chose: they are repeatable and varied, a right posterior passes, and planted faults do not."""

from __future__ import annotations

import pytest

import tacit
from tacit.calibration.random_plans import PLAN_GROUPS, PLAN_KINDS, random_plan, rejected_plans, try_plan
from tacit.certificates.plans import load_plans, make_plans, plans_page


def test_plans_are_repeatable_and_varied():
    """300 plans of seed 27: every family group with every kind it has; small and large n; pure, approximate, zCDP."""
    plans = [random_plan(27, number) for number in range(300)]
    assert str(plans[7]) == str(random_plan(27, 7)) != str(random_plan(28, 7))
    assert {one.group for one in plans} == set(PLAN_GROUPS)
    assert {one.plan.mechanism.kind for one in plans} == set(PLAN_KINDS)
    assert {type(one.plan.budget) for one in plans} == {tacit.PureDP, tacit.ApproxDP, tacit.ZCDP}
    assert min(one.n for one in plans) < 200 < 10_000 < max(one.n for one in plans)
    assert 0.3 < sum(one.prior is None for one in plans) / 300 < 0.9
    linear = {one.plan.model.formula for one in plans if one.group == "linear"}
    assert len(linear) >= 8
    assert any(":" in formula for formula in linear)


def test_groups_and_kinds_can_be_chosen_and_are_checked():
    assert {random_plan(1, i, groups=["linear"]).group for i in range(10)} == {"linear"}
    assert {random_plan(1, i, groups=["logistic"], kinds=["newton"]).plan.mechanism.kind for i in range(5)} == {
        "newton"
    }
    with pytest.raises(tacit.InputError, match=r"^Expected kinds='exact' to be one of noise, newton, local\.$"):
        random_plan(1, 1, kinds=["exact"])


def test_the_verdict_is_bonferroni_over_plans():
    fine, worse = {"p": 0.002, "failed": 0}, {"p": 0.00009, "failed": 0}
    assert rejected_plans([worse] + [fine] * 99, 0.01) == [worse]
    assert rejected_plans([fine] * 100, 0.01) == []
    assert rejected_plans([{"p": 1.0, "failed": 1}, fine], 0.001) == [{"p": 1.0, "failed": 1}]
    with pytest.raises(tacit.InputError, match="level"):
        rejected_plans([fine], 2)


def test_the_certificate_goes_on_where_it_stopped(tmp_path, monkeypatch):
    tried = []

    def quick(chosen, *, trials, seed):
        tried.append(seed)
        same = {"plan": str(chosen), "group": chosen.group, "kind": chosen.plan.mechanism.kind, "number": "theta"}
        return {**same, "p": 1e-9 if seed == 1 else 1.0, "covers_95": 0.95, "trials": trials, "failed": 0}

    monkeypatch.setattr("tacit.certificates.plans.try_plan", quick)
    make_plans(tmp_path, 3, say=lambda _: None)
    make_plans(tmp_path, 5, say=lambda _: None)
    assert tried == [0, 1, 2, 3, 4]
    shown = plans_page(load_plans(tmp_path))
    assert shown == (tmp_path / "random-plans.md").read_text()
    assert "such runs. Here 1 are." in shown
    assert f"* {random_plan(27, 1)}: p = 1e-09 for theta" in shown


@pytest.mark.slow
def test_random_plans_are_calibrated_and_a_fault_is_found():
    """Seed 27, ten plans with sums of linear regression and ten of others, 60 trials each; false alarms 1%.

    Planted: noise that is taken for none (`naive`), on the linear plans.
    """
    plans = [random_plan(27, i, groups=["linear"]) for i in range(10)]
    plans += [random_plan(27, i, groups=["others"]) for i in range(10)]
    found = [try_plan(one, trials=60, seed=i) for i, one in enumerate(plans)]
    assert rejected_plans(found) == []
    planted = [try_plan(one, trials=60, seed=i, method="naive") for i, one in enumerate(plans[:3])]
    assert rejected_plans(planted)
