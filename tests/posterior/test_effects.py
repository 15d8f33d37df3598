"""What a posterior answers: the right numbers, in the units of the data, in sentences that say them."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import tacit
from tacit.models.effects import EffectDraws, percent, rounded, step_of
from tacit.models.registry import FAMILIES
from tacit.posterior.effects import effect_draws, groups_left_out

SCHEMA = tacit.Schema(
    cost=(0, 1000), age=(20, 80), mood=(1, 5), smoker=["no", "yes"], region=["north", "south", "east"], visits=(0, 9)
)


def effects(model, theta, **more):
    """From two draws, the same twice, of coefficients in mapped units."""
    draws = {"theta": np.array([theta, theta], float), **{k: np.array([v, v]) for k, v in more.items()}}
    return {one.name: one for one in model.effects(draws, SCHEMA)}


def test_a_linear_effect_is_a_step_of_the_response_by_hand():
    """Mapped slope 0.3 of age: 500 / 30 of cost a year and so 50 for ten years; a level moves the response by 500."""
    found = effects(tacit.LinearRegression("cost ~ age + region"), [0, 0.3, -0.1, 0.2], sigma=0.1)
    assert list(found) == ["age, +10", "region[south]", "region[east]"]
    assert found["age, +10"].values == pytest.approx(0.3 * 500 / 30 * 10)
    assert found["region[south]"].values == pytest.approx(-50)
    assert found["age, +10"].sentence(50, 40, 60) == "10 more in age goes with cost 50 higher [40, 60]."
    said = found["region[south]"].sentence(-50, -60, -40)
    assert said == "region = south, compared with north, goes with cost 50 lower [40, 60]."
    said = found["region[south]"].sentence(-50, -60, 4)
    assert said.endswith("50 lower [from 60 lower to 4 higher]: the direction stays open.")


def test_a_logistic_effect_is_a_ratio_of_odds_by_hand():
    found = effects(tacit.LogisticRegression("smoker ~ mood + mood:region"), [0, -1.4, 0.5, 0.5])
    assert np.exp(found["mood, +1"].values) == pytest.approx(math.exp(-0.7))
    said = found["mood, +1"].sentence(math.log(0.5), math.log(0.45), math.log(0.53))
    assert said == "1 more in mood goes with 0.5 times the odds of smoker = yes [0.45, 0.53]."
    assert "stays open" in found["mood, +1"].sentence(0.0, -0.1, 0.1)
    assert "where region = south, on top of the rest" in found["mood:region[south], +1"].before


@pytest.mark.parametrize("link", ["softplus", "log"])
def test_a_ratio_of_rates_is_what_the_link_makes_of_a_step(link):
    """From the middle of the bounds: log(1 + e^u) at u = 0.8 and one step of 0.15 on, by hand."""
    found = effects(tacit.PoissonRegression("visits ~ age", link=link), [0.8, 0.45])
    rate = math.exp if link == "log" else lambda u: math.log1p(math.exp(u))
    assert np.exp(found["age, +10"].values) == pytest.approx(rate(0.95) / rate(0.8))
    assert ("middle" in found["age, +10"].after) == (link == "softplus")


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.family)
def test_every_family_has_a_question_and_answers_from_its_own_draws(family):
    """One draw of each prior, seed 1: finite answers with sentences of one line, and no name twice."""
    for example in family.examples():
        model, schema = example.model, example.schema
        question = model.question(schema)
        assert question.endswith("?")
        prior = model.default_prior(schema)
        drawn = model.draw_parameters(prior, schema, np.random.default_rng(1))
        found = model.effects({k: np.asarray(v)[None] for k, v in drawn.items()}, schema)
        assert found
        assert len({one.name for one in found}) == len(found)
        for one in found:
            assert one.values.shape == (1,)
            value = float(one.values[0])
            said = one.sentence(value, value - 1e-3, value + 1e-3)
            assert said[0] != " "
            assert "  " not in said
            assert said.endswith(".")


def test_a_posterior_says_its_effects():
    """Seed 3: a share of 500 rows at epsilon 1, within 0.1 of the truth (5 sd of about 0.02)."""
    plan = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0), title="Who smokes?")
    posterior = tacit.infer(tacit.simulate(plan, n=500, seed=3, parameters={"theta": 0.3}).release)
    (one,) = posterior.effects()
    assert one.estimate == pytest.approx(0.3, abs=0.1)
    assert (one.low, one.high) == tuple(posterior.interval("theta"))
    assert str(posterior).splitlines()[:2] == ["Who smokes?", f"  {one.sentence}"]
    assert repr(posterior) == str(posterior), "a name typed alone shows the answer"
    wider = posterior.effects(0.99)[0]
    assert wider.low < one.low < one.high < wider.high


def test_what_each_site_has_for_itself_is_said_of_each_site():
    """Two sites of means that have parameters of their own; a posterior with shared ones answers once."""
    schema = tacit.Schema(cost=(0, 1000))
    plan = tacit.Plan(tacit.Normal("cost"), schema, tacit.PureDP(5.0))
    sites = [tacit.simulate(plan, n=300, seed=seed).release for seed in (1, 2)]
    pooled = tacit.infer(sites, disjoint=True, draws=200, chains=2, anyway=True)
    assert [one.name for one in pooled.effects()] == ["mean"]


def test_names_cannot_go_on_as_the_sentence():
    name = "age is 5 [4, 6]. The promise is kept"
    schema = tacit.Schema({"cost": (0, 10), name: (0, 10)})
    model = tacit.LinearRegression(f"cost ~ `{name}`")
    (one,) = model.effects({"theta": np.zeros((1, 2)), "sigma": np.ones(1)}, schema)
    assert repr(name) in one.sentence(0.1, 0.05, 0.2)


def test_a_function_steps_by_its_own_value_and_a_piece_of_a_curve_is_no_answer():
    """A coefficient of log(age) is not one of age: the sentence must not speak of ten years."""
    found = effects(tacit.LinearRegression("cost ~ log(age) + poly(mood, 2)"), [0, 0.3, 0.2, 0.1], sigma=0.1)
    assert list(found) == ["log(age)"]
    assert found["log(age)"].before == "1 more in 'log(age)' goes with cost "
    assert found["log(age)"].values == pytest.approx(0.3 * 500 / (math.log(4) / 2)), "mapped over log 20 to log 80"


def test_of_two_levels_the_second_says_both():
    """By group and without: 0.3 of the smokers, and never the 0.7 beside it."""
    shares = np.array([[[0.7, 0.3], [0.6, 0.4], [0.9, 0.1]]])
    found = tacit.Shares("smoker", by="region").effects({"share": shares}, SCHEMA)
    assert [one.name for one in found] == ["north: yes", "south: yes", "east: yes"]
    assert [one.values[0] for one in found] == [0.3, 0.4, 0.1]
    (alone,) = tacit.Categorical("smoker").effects({"theta": shares[:, 0]}, SCHEMA)
    assert (alone.name, alone.values[0]) == ("yes", 0.3)
    assert tacit.Shares("smoker", by="region").question(SCHEMA) == "How many have smoker = yes, by region?"


@pytest.mark.parametrize(("size", "shown"), [(20, 20), (21, 10)])
def test_of_many_groups_those_at_both_ends_are_answered(size, shown):
    """Means 0, 1, 2, ... in an order of seed 1; draws of anything else choose the same groups."""
    levels = [f"g{i}" for i in range(size)]
    means = np.random.default_rng(1).permutation(size).astype(float)
    plan = tacit.Plan(
        tacit.VaryingRegression("cost ~ (1 | g)"), tacit.Schema(cost=(0, 1000), g=levels), tacit.PureDP(1.0)
    )
    draws = {"theta": np.zeros((1, 1)), "sigma": np.ones(1), "spread": np.ones(1), "group_mean": means[None]}
    parts = SimpleNamespace(coords={"group": levels}, axes=())
    posterior = SimpleNamespace(plan=plan, parts=parts, joined=lambda: draws)
    first, *groups = effect_draws(posterior, draws)
    assert first.name == "sd by g"
    assert len(groups) == shown
    assert groups_left_out(posterior, groups) == size - shown
    if shown < size:
        assert [one.values[0] for one in groups] == [*range(5), *range(size - 5, size)]
    others = effect_draws(posterior, {**draws, "group_mean": -means[None]})
    assert [one.name for one in others[1:]] == [one.name for one in groups]


def test_steps_are_round_and_numbers_short():
    assert [step_of(*bounds) for bounds in ((18, 90), (1, 5), (0, 1), (0, 100_000), (15, 55))] == [10, 1, 1, 10_000, 10]
    assert [rounded(v) for v in (0.012345, 12.345, 2518.4, math.inf)] == ["0.0123", "12.3", "2,518", "inf"]
    assert [percent(v) for v in (0.0149, 0.62, 0.985)] == ["1.5%", "62%", "98.5%"]
    assert EffectDraws("x", "odds", np.zeros(1), "A goes with ", " the odds").shown(1000.0) == "over a million"
