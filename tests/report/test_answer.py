"""The first screen: promises in one true sentence, axes of ratios, warnings by weight, what more would give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.models.effects import EffectDraws
from tacit.pages.svg import ratio_ticks
from tacit.report.answer import _rows, called, promise_in_short
from tacit.report.outlook import _noise_with_twice, outlook
from tacit.report.replicas import ReplicaCheck
from tacit.report.uncertainty import Split
from tacit.report.weight import weighed

SCHEMA = tacit.Schema(cost=(0, 1000), age=(20, 80), smoker=["no", "yes"])
SHARE = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(0.5))


@pytest.fixture(scope="module")
def share():
    """Seed 1."""
    return tacit.infer(tacit.simulate(SHARE, n=400, seed=1).release, draws=300, chains=2, anyway=True)


def test_the_promise_in_one_sentence_names_its_number_and_rounds_up():
    budgets = {
        tacit.PureDP(0.5): "more than 1.65 times as likely (epsilon = 0.5).",
        tacit.PureDP(0.001): "more than 1.00101 times",
        tacit.PureDP(20.0): "more than 10^9 times",
        tacit.ApproxDP(1.0, 1e-6): "more than 2.72 times as likely, plus a probability of 1e-06 (",
        tacit.GDP(1.0): "at most 69.2% of guesses right, where 50% is luck (mu = 1).",
        tacit.ZCDP(0.1): "by at most 1.11 times on average (rho = 0.1).",
        tacit.RenyiDP(8.0, 0.5): "by at most 1.65 times on average",
    }
    for budget, said in budgets.items():
        found = promise_in_short(replace(SHARE, budget=budget), budget)
        assert said in found
        assert found.count(". ") == 0, "one sentence"
    assert "Replacing any row" in promise_in_short(SHARE, SHARE.budget)
    person = replace(SHARE, mechanism=tacit.AddNoise(unit=tacit.Person("id", 2)))
    assert "Replacing any one person's data" in promise_in_short(person, person.budget)
    local = replace(SHARE, mechanism=tacit.Local())
    assert "from that person's report" in promise_in_short(local, local.budget)
    assert called(SHARE) == "The share of one of two levels"
    assert called(replace(SHARE, model=tacit.LinearRegression("cost ~ age"))) == "Linear regression"


def test_a_spread_has_no_place_on_an_axis_of_means():
    """Seed 2: means near 70,000 keep their own axis beside a standard deviation of 600, which is a sentence alone."""
    rng = np.random.default_rng(2)
    spread = EffectDraws("sd by team", "amount", abs(rng.normal(600, 100, 400)), "They differ by ")
    means = [EffectDraws(name, "amount", rng.normal(70_000, 500, 400), "The mean is ") for name in "ABC"]
    rows, scale = _rows([spread, *means], ["one", "two", "three", "four"], {}, {}, {})
    assert scale.low > 60_000
    assert [bool(strip) for _, strip in rows] == [False, True, True, True]
    assert _rows([spread], ["one"], {}, {}, {})[0][0][1]
    grouped = tacit.LinearRegression("cost ~ age"), tacit.VaryingRegression("cost ~ (1 | region)")
    schema = tacit.Schema(cost=(0, 1000), age=(20, 80), region=list("NSE"))
    asked = [model.question(schema) for model in grouped]
    assert asked == ["What goes with cost?", "How does cost differ between the levels of region?"]


@pytest.mark.parametrize("ends", [(0.45, 1.2), (0.2, 3.0), (0.9, 1.1), (1e-4, 1e4), (0.001, 1.4), (1e-90, 1e90)])
def test_ticks_of_ratios_are_few_and_inside(ends):
    found = ratio_ticks(*map(math.log, ends))
    assert 2 <= len(found) <= 7
    assert all(ends[0] <= tick <= ends[1] * (1 + 1e-9) for tick in found)


def test_a_number_far_from_its_prediction_comes_first(share):
    def check(value):
        return {"one": [ReplicaCheck("near", 1.0, 0.0, 1.0), ReplicaCheck("far", value, 0.0, 1.0)]}

    grave, other = weighed(share, check(15.0))
    assert "far lies 15 standard deviations" in grave[0]
    assert other == list(share.warnings())
    assert weighed(share, check(7.0))[0] == [], "within what Laplace noise does"


def test_what_twice_would_give_by_hand():
    """At pure DP twice the budget halves the noise, at rho it divides it by the root of 2. Half the variance each."""
    assert _noise_with_twice(SHARE) == pytest.approx(0.5, rel=0.02)
    assert _noise_with_twice(replace(SHARE, budget=tacit.ZCDP(0.1))) == pytest.approx(math.sqrt(0.5), rel=0.02)
    rounds = tacit.Plan(tacit.LogisticRegression("smoker ~ age"), SCHEMA, tacit.PureDP(1.0))
    assert _noise_with_twice(rounds) is None, "scores in rounds"


def test_the_outlook_is_in_the_names_of_the_answer(share):
    found = outlook(share, [Split("theta", 2.0, 1.0), Split("count", 5.0, 0.0)])
    assert list(found) == ["smoker = yes"]
    rows, budget = found["smoker = yes"]
    assert rows == pytest.approx(math.sqrt(0.5 / 2 + 0.5 / 4))
    assert budget == pytest.approx(math.sqrt(0.5 + 0.5 / 4), rel=0.02)


def test_nothing_is_said_twice_and_nuisance_is_folded():
    """A regression by a quick method: one picture of each effect, none of the covariates outside the folded part."""
    plan = tacit.Plan(tacit.LinearRegression("cost ~ age"), SCHEMA, tacit.ApproxDP(2.0, 1e-6))
    posterior = tacit.infer(tacit.simulate(plan, n=1000, seed=5).release, draws=300, chains=2, method="naive")
    page = tacit.report(posterior, quick=True)
    shown, _, folded = page.partition("<details><summary>Every parameter of the method")
    assert "mu_x" not in shown
    assert "mu_x" in folded
    assert shown.count("10 more in age goes with") == 2, "the sentence, and the same for those who cannot see its strip"
    assert page.index("Do not rely on this yet") < page.index("What was found"), "the naive method forbids trust"


def test_the_title_of_a_plan_is_the_title_of_its_page(share):
    plan = replace(SHARE, title="Who smokes in the survey of 2026?")
    posterior = tacit.infer(tacit.simulate(plan, n=400, seed=1).release, draws=300, chains=2, anyway=True)
    assert "<h1>Who smokes in the survey of 2026?</h1>" in tacit.report(posterior, quick=True)
    assert "<h1>How many have smoker = yes?</h1>" in tacit.report(share, quick=True)
    np.testing.assert_array_equal(posterior.draws("theta"), share.draws("theta"))
