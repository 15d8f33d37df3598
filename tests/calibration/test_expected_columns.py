"""What is expected of columns and effects: the forms that are read, and one clear sentence for everything else."""

from __future__ import annotations

import pytest

import tacit
from tacit.calibration.expected_columns import ExpectedColumns, expected_columns, read_effect, read_expect

SCHEMA = tacit.Schema(
    ill=["no", "yes"], age=(18, 90), bmi=(15, 55), region=["n", "e", "s"], visits=(0, 20), cost=(0, 9)
)
BUDGET = tacit.ApproxDP(epsilon=1, delta=1e-6)
PLAN = tacit.Plan(tacit.LogisticRegression("ill ~ age + bmi + region"), SCHEMA, BUDGET, tacit.Newton())
COUNTS = tacit.Plan(tacit.PoissonRegression("visits ~ age"), SCHEMA, BUDGET, tacit.Newton())
SHARE = tacit.Plan(tacit.Bernoulli("ill"), SCHEMA, BUDGET)


def test_all_forms_are_read():
    texts = ["age=40+-10", "bmi=27±5", "region=n:0.5", "ill=no:0.8,yes:0.2", "bmi:age=0.25"]
    found = expected_columns(PLAN, read_expect(texts, PLAN), read_effect(["age=0.03", "region[e]=-1"]))
    assert found.numbers == {"age": (40, 10), "bmi": (27, 5)}
    assert found.shares == {"region": (0.5, 0.25, 0.25), "ill": (0.8, 0.2)}
    assert found.correlations == {("age", "bmi"): 0.25}
    assert found.effects == {"age": 0.03, "region[e]": -1.0}
    assert found == expected_columns(
        PLAN,
        {"age": (40, 10), "bmi": [27, 5], "region": {"n": 0.5}, "ill": {"no": 0.8, "yes": 0.2}, "age:bmi": 0.25},
        {"age": 0.03, "region[e]": -1},
    )
    assert found.to_plain()["correlations"] == {"age:bmi": 0.25}
    assert expected_columns(COUNTS, {"visits": 3, "age": 50}, None).numbers == {"visits": (3, None), "age": (50, None)}
    assert expected_columns(PLAN, None, {}) == ExpectedColumns()


@pytest.mark.parametrize(
    ("plan", "expect", "effect", "said"),
    [
        (PLAN, {"agee": (40, 10)}, None, "expect='agee' to be a column of the formula: age, bmi, region, ill (did you"),
        (PLAN, {"cost": (4, 1)}, None, "to be a column of the formula"),
        (PLAN, {"age": (100, 10)}, None, "expect age=100 to be a mean inside the bounds"),
        (PLAN, {"age": (40, 0)}, None, "expect age=0 to be a standard deviation above 0"),
        (PLAN, {"age": (40, -1)}, None, "above 0"),
        (PLAN, {"age": (40, 36)}, None, "below 33.17, as the bounds allow"),
        (PLAN, {"age": (40, 1, 2)}, None, "to be a mean and a standard deviation, or a mean alone"),
        (PLAN, {"age": "old"}, None, "or a mean alone"),
        (PLAN, {"age": ()}, None, "or a mean alone"),
        (PLAN, {"age": (float("nan"), 1)}, None, "or a mean alone"),
        (PLAN, {"region": {"w": 0.3}}, None, "expect region='w' to be a declared level: n, e, s"),
        (PLAN, {"region": {"n": 1.5}}, None, "to be shares from 0 to 1"),
        (PLAN, {"region": {"n": 0.9, "e": 0.3}}, None, "to be shares that sum to 1"),
        (PLAN, {"ill": {"no": 0.5, "yes": 0.4}}, None, "to be shares that sum to 1"),
        (PLAN, {"region": (1, 2)}, None, "to give shares of its levels"),
        (PLAN, {"age:region": 0.3}, None, "to name two different numbers of the formula: age, bmi"),
        (PLAN, {"age:age": 0.3}, None, "two different numbers"),
        (PLAN, {"age:bmi": 1}, None, "to be a correlation, between -1 and 1"),
        (PLAN, [("age", 4)], None, "to be a mapping"),
        (PLAN, None, {"ages": 1}, "effect='ages' to be a coefficient: age, bmi, region[e], region[s] (did you mean"),
        (PLAN, None, {"Intercept": 1}, "expect the mean or the shares of the response instead"),
        (PLAN, None, {"age": "much"}, "to be a number, in the units of the data"),
        (COUNTS, {"visits": (3, 1)}, None, "to be a mean alone"),
        (SHARE, {"ill": {"no": 0.5}}, None, "to be left out: family bernoulli is no regression"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(plan, expect, effect, said):
    with pytest.raises(tacit.InputError, match=r"^Expected .*\.$") as caught:
        tacit.design(plan, n=100, expect=expect, effect=effect)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["age"], "to have the form"),
        (["=3"], "to have the form"),
        (["age=x"], "to have the form"),
        (["age=1+-2+-3"], "to have the form"),
        (["region=n"], "LEVEL:SHARE"),
        (["region=n:many"], "LEVEL:SHARE"),
        (["age=40", "age=50"], "to be all that is said of 'age'"),
    ],
)
def test_options_that_cannot_be_read(texts, said):
    with pytest.raises(tacit.InputError, match="expect=") as caught:
        read_expect(texts, PLAN)
    assert said in str(caught.value)


@pytest.mark.parametrize("texts", [["age"], ["age=x"], ["=1"], ["age=1", "age=2"]])
def test_effects_that_cannot_be_read(texts):
    with pytest.raises(tacit.InputError, match="effect="):
        read_effect(texts)
