"""Distributions of every plan: it survives being written down, and its price is right before data is near."""

from __future__ import annotations

import dataclasses

import pytest

import tacit
from laws.cases import BUDGETS, EXAMPLES, PLANS


@pytest.mark.parametrize("name", PLANS)
def test_toml_round_trip_is_exact(name):
    plan = PLANS[name]
    again = tacit.Plan.from_toml(plan.to_toml())
    assert again == plan
    assert again.to_toml() == plan.to_toml()


@pytest.mark.parametrize("name", PLANS)
def test_the_event_meets_the_budget(name):
    plan = PLANS[name]
    assert plan.event().satisfies(plan.budget)


@pytest.mark.parametrize("name", PLANS)
def test_the_budget_is_used_up(name):
    """Planted fault: noise calibrated 1% too large would waste budget, and is caught."""
    plan = PLANS[name]
    noise, sensitivity = plan.noise(), plan.statistic().sensitivity()
    if plan.noise().kind == "discrete-laplace" and isinstance(plan.budget, tacit.ApproxDP):
        pytest.skip("a pure distribution under an approximate budget leaves delta unused on purpose")
    less = dataclasses.replace(noise, scales=tuple(int(s / 1.01) for s in noise.scales))
    assert not less.event(sensitivity).satisfies(plan.budget)


@pytest.mark.parametrize("name", EXAMPLES)
def test_less_budget_means_more_noise(name):
    model, schema, *_ = EXAMPLES[name]
    sds = [tacit.Plan(model, schema, tacit.PureDP(e), tacit.AddNoise()).noise().sd[0] for e in (0.01, 0.1, 1.0, 10.0)]
    assert sds == sorted(sds, reverse=True)
    assert sds[0] > 50 * sds[2]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("budget", BUDGETS)
def test_entries_and_scales_have_one_length(name, budget):
    model, schema, *_ = EXAMPLES[name]
    plan = tacit.Plan(model, schema, BUDGETS[budget], tacit.AddNoise())
    entries = plan.statistic().entries
    assert len(plan.noise().scales) == len(entries) == len(set(entries))
    assert plan.statistic().sensitivity().entries == len(entries)
