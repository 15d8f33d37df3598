"""Plans as files: what is refused, and how."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

import tacit
from tacit.collector.form import Form
from tacit.ledger import digest
from tacit.report.plan_text import explain

GOOD = """
[model]
family = "bernoulli"
column = "smoker"

[schema]
smoker = ["no", "yes"]
age = [18, 65]

[budget]
epsilon = 1.0
"""


def test_a_file_and_its_python_twin_are_equal(tmp_path):
    plan = tacit.Plan(
        model=tacit.Bernoulli("smoker"),
        schema=tacit.Schema(smoker=["no", "yes"], age=(18, 65)),
        budget=tacit.PureDP(epsilon=1.0),
    )
    (tmp_path / "plan.toml").write_text(GOOD)
    assert tacit.Plan.load(tmp_path / "plan.toml") == plan
    assert tacit.Plan.load(plan.save(tmp_path / "again.toml")) == plan


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('family = "bernoulli"\n', "", "family"),
        ("bernoulli", "bernouli", "did you mean 'bernoulli'"),
        ("[model]", "[modle]", "did you mean 'model'"),
        ('column = "smoker"', 'colum = "smoker"', "did you mean 'column'"),
        ('column = "smoker"', "", "column"),
        ('column = "smoker"', 'column = "smokes"', "did you mean 'smoker'"),
        ('column = "smoker"', 'column = "age"', "levels, not bounds"),
        ('["no", "yes"]', '["no", "yes", "perhaps"]', "two"),
        ("[18, 65]", "[65, 18]", "'age'"),
        ("epsilon = 1.0", "epsilon = 0", "epsilon"),
        ("epsilon = 1.0", "epsilon = -1", "epsilon"),
        ("epsilon = 1.0", "epsilon = nan", "epsilon"),
        ("epsilon = 1.0", "epsilon = inf", "epsilon"),
        ("epsilon = 1.0", 'epsilon = "1"', "epsilon"),
        ("epsilon = 1.0", "epsilom = 1.0", "epsilon"),
        ("epsilon = 1.0", "epsilon = 1.0\ndelta = 1", "delta"),
        ("epsilon = 1.0", "epsilon = 1.0\nrho = 1", "rho"),
        ("epsilon = 1.0", 'epsilon = 1.0\nneighbours = "remove-one"', "neighbours"),
        ("epsilon = 1.0", 'epsilon = 1.0\nassumes = ["luck"]', "assumes"),
        ("epsilon = 1.0", "", "budget|epsilon"),
        ("[budget]\nepsilon = 1.0", "", "budget"),
        ("[budget]\nepsilon = 1.0", "budget = 3", "budget"),
        ("epsilon = 1.0", 'epsilon = 1.0\n[mechanism]\nkind = "magic"', "kind"),
        ("epsilon = 1.0", 'epsilon = 1.0\n[mechanism]\nkind = "noise"\nlaw = "discrete-laplce"', "discrete-laplace"),
        ("epsilon = 1.0", 'epsilon = 1.0\n[mechanism]\nkind = "noise"\nlaw = "discrete-gaussian"', "budget"),
        ("epsilon = 1.0", 'epsilon = 1.0\n[mechanism]\nkid = "noise"', "did you mean 'kind'"),
        ("epsilon = 1.0", "epsilon = ", "TOML"),
    ],
)
def test_refused_in_one_sentence(old, new, said):
    assert old in GOOD
    with pytest.raises(tacit.InputError, match=said) as caught:
        tacit.Plan.from_toml(GOOD.replace(old, new))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["model", "schema", "budget", "mechanism"])
def test_a_part_of_the_wrong_type_is_refused(name):
    parts = {
        "model": tacit.Bernoulli("smoker"),
        "schema": tacit.Schema(smoker=["no", "yes"]),
        "budget": tacit.PureDP(1.0),
        "mechanism": tacit.AddNoise(),
    }
    with pytest.raises(tacit.InputError, match=name):
        tacit.Plan(**{**parts, name: "x"})


def test_a_budget_is_always_said():
    with pytest.raises(TypeError):
        tacit.PureDP()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]))  # type: ignore[call-arg]


def test_a_plan_is_not_overwritten_by_accident(tmp_path):
    plan = tacit.Plan.from_toml(GOOD)
    plan.save(tmp_path / "plan.toml")
    with pytest.raises(tacit.InputError, match="not to exist"):
        plan.save(tmp_path / "plan.toml")
    plan.save(tmp_path / "plan.toml", overwrite=True)


@pytest.mark.parametrize(
    "title", ["", " ", "x" * 101, "a\nb", "Promise: none", "of epsilon 0", "It is Private", "a\u202eb", 3]
)
def test_a_title_that_could_be_taken_for_a_promise_is_refused(title):
    with pytest.raises(tacit.InputError, match="title"):
        tacit.Plan(tacit.Bernoulli("s"), tacit.Schema(s=["n", "y"]), tacit.PureDP(1.0), title=title)


def test_a_title_is_kept_noted_and_changes_no_number():
    """It is in the file and in what is signed and noted, and nowhere else: the mechanism is that of the bare plan."""
    bare = tacit.Plan(tacit.Bernoulli("s"), tacit.Schema(s=["n", "y"]), tacit.PureDP(1.0))
    plan = tacit.Plan(bare.model, bare.schema, bare.budget, title="Who says yes?")
    assert tacit.Plan.from_toml(plan.to_toml()) == plan != bare
    assert plan.noise() == bare.noise()
    assert plan.event() == bare.event()
    release = tacit.simulate(plan, n=50, seed=1).release
    assert release.values == tacit.simulate(bare, n=50, seed=1).release.values
    assert tacit.Release.from_json(release.to_json()).plan.title == "Who says yes?"
    assert explain(plan) == ["Title: 'Who says yes?'. It is the author's own, and promises nothing.", *explain(bare)]


DERIVED = {"visited": "visits > 0", "rate": {"value": "visits / years", "bounds": [0, 12], "missing": 1}}
TABLE = tacit.Schema(visits=(0, 50), years=(0, 9), age=(18, 90))


def test_derived_columns_go_where_the_plan_goes():
    plan = tacit.Plan(tacit.LinearRegression("rate ~ age + visited"), TABLE, tacit.ZCDP(1.0), derive=DERIVED)
    assert plan.columns == plan.calibrated_mechanism().columns
    assert set(plan.columns) == {"rate", "age", "visited"}
    assert plan.reads == ("age", "visits", "years")
    assert plan.derive == DERIVED
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert "[derive]" in plan.to_toml()
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert dataclasses.replace(plan, budget=tacit.PureDP(1.0)).derive == DERIVED
    plain = tacit.Plan(plan.model, plan.schema.flat, plan.budget)
    assert plain != plan
    assert plain.statistic() == plan.statistic()
    assert digest(plain.to_plain()) != digest(plan.to_plain())
    other = dataclasses.replace(plan, derive={**DERIVED, "visited": "visits > 1"})
    assert other != plan
    said = "\n".join(explain(plan))
    assert "Reads: the columns age, visits, years;" in said
    assert "Column rate: 'visits / years' of the same row, clamped to 0 to 12; where that has no value" in said


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"where": "age > 20", "mechanism": tacit.PosteriorSample(1)}, "of .where. to be left out"),
        ({"where": "age > "}, "^Expected rows='age > '"),
        ({"where": 5}, "^Expected rows=5"),
        ({"derive": {"age": "visits"}}, "no column of the schema"),
        ({"derive": []}, "to be a table"),
    ],
)
def test_what_cannot_be_derived_or_filtered_is_refused(said, words):
    with pytest.raises(tacit.InputError, match=words):
        tacit.Plan(tacit.Mean("age"), TABLE, tacit.ZCDP(1.0), **said)


@pytest.mark.parametrize("table", ['rows = "age > 20"\nmore = 1', "", "rows = 5"])
def test_a_where_table_has_one_key(table):
    text = tacit.Plan(tacit.Mean("age"), TABLE, tacit.ZCDP(1.0)).to_toml() + f"\n[where]\n{table}\n"
    with pytest.raises(tacit.InputError, match=r"^Expected (where|rows)="):
        tacit.Plan.from_toml(text)


def test_the_form_of_a_survey_asks_for_columns_themselves():
    plan = tacit.Plan(tacit.Bernoulli("visited"), TABLE, tacit.PureDP(1.0), tacit.Local(), derive=DERIVED)
    assert len(tacit.randomize({"visits": 3, "years": 1, "age": 30}, plan)) == 1
    with pytest.raises(tacit.InputError, match="record"):
        tacit.randomize({"years": 1}, plan)
    with pytest.raises(tacit.InputError, match="of question 'q' to be left out"):
        Form.of_plans("survey", {"q": plan})
