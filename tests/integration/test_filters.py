"""A filter: the release is about the rows that pass, whose number it does not say."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

import tacit
from tacit.mechanisms.add_noise import NoisySums
from tacit.privacy.sensitivity import Sensitivity

SCHEMA = tacit.Schema(age=(0, 90), weight=(30, 200), height=(1.2, 2.2), region=["north", "south"])
DERIVE = {"bmi": {"value": "weight / height^2", "bounds": [15, 55]}, "group": "cut(age, [18, 65])"}
WHERE = "age >= 18 and region == 'north' and not is_missing(bmi)"


def rows(n=3000, seed=1):
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random(n) < 0.1, np.nan, rng.normal(75, 12, n))
    table = {
        "age": rng.uniform(0, 90, n),
        "weight": weight,
        "height": rng.normal(1.7, 0.1, n),
        "region": rng.choice(["north", "south"], n),
    }
    return table, (table["age"] >= 18) & (table["region"] == "north") & ~np.isnan(weight)


@pytest.mark.parametrize("model", [tacit.Mean("bmi"), tacit.Categorical("group"), tacit.Shares("group", by="region")])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_filtered_release_is_that_of_the_rows_that_pass(model, neighbours, monkeypatch):
    """Without noise, the numbers are those of a table from which somebody else took the other rows."""
    monkeypatch.setattr(NoisySums, "cross", lambda calibrated, collected, n, entropy: tuple(collected.totals))
    budget = tacit.ZCDP(1.0, neighbours="add-remove")
    plain = tacit.Plan(model, SCHEMA, budget, tacit.AddNoise(), derive=DERIVE)
    budget = replace(budget, neighbours=neighbours)
    plan = tacit.Plan(model, SCHEMA, budget, tacit.AddNoise(), derive=DERIVE, where=WHERE)
    table, passing = rows()
    release = tacit.privatize(table, plan, ledger=None)
    kept = {name: cells[passing] for name, cells in table.items()}
    assert release.n is None
    assert release.values == tacit.privatize(kept, plain, ledger=None).values
    assert release.values != tacit.privatize(table, plain, ledger=None).values
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert tacit.Release.from_json(release.to_json()) == release


def test_complete_cases_have_the_mean_of_those_who_pass():
    """One release at rho = 10: the interval for these rows is about 0.02 wide; alarm at 8 times its half (1e-15)."""
    table, passing = rows()
    budget = tacit.ZCDP(10.0, neighbours="add-remove")
    plan = tacit.Plan(tacit.Mean("bmi"), SCHEMA, budget, tacit.AddNoise(), derive=DERIVE, where=WHERE)
    posterior = tacit.infer(tacit.privatize(table, plan, ledger=None))
    bmi = np.clip(table["weight"][passing] / table["height"][passing] ** 2, 15, 55)
    low, high = posterior.interval("rows_mean")
    assert abs(bmi.mean() - (low + high) / 2) < 4 * (high - low)
    everybody = np.clip(np.nan_to_num(table["weight"], nan=115) / table["height"] ** 2, 15, 55).mean()
    assert abs(everybody - (low + high) / 2) > 4 * (high - low), "power: all rows have another mean"


@pytest.mark.parametrize(
    "model", [tacit.Mean("age"), tacit.Categorical("region"), tacit.LinearRegression("age ~ region")]
)
@pytest.mark.parametrize("person", [None, tacit.Person("who", 3, "row"), tacit.Person("who", 3, "person")])
def test_under_replace_one_a_filtered_row_may_vanish_and_the_price_knows(model, person):
    """The audit searches pairs, and rows that come or go. Planted: the lesser price of the two."""
    plan = tacit.Plan(
        model, SCHEMA, tacit.PureDP(1.0), tacit.AddNoise(unit=person), derive=DERIVE, where="weight > 50 or age < 10"
    )
    assert not plan.calibrated_mechanism().public_n
    found = tacit.audit(plan, runs=0)
    assert not found.violated
    assert found.share > 0.9
    with mock.patch.object(Sensitivity, "either", smaller):
        planted = tacit.Plan(plan.model, plan.schema, plan.budget, plan.mechanism, where=plan.where)
        assert tacit.audit(planted, runs=0).violated


def smaller(first, second):
    """The price of a pair that counts, or of one that comes or goes, whichever is less."""
    return Sensitivity(min(first.l1, second.l1), min(first.l2_squared, second.l2_squared), first.relative_scales)


def test_a_filter_that_nobody_passes_is_no_error_and_says_nothing():
    for neighbours in ("add-remove", "replace-one"):
        budget = tacit.PureDP(1.0, neighbours=neighbours)
        plan = tacit.Plan(tacit.Mean("age"), SCHEMA, budget, where="age > 80 and age < 81 and weight > 199")
        release = tacit.privatize(rows(50)[0], plan, ledger=None)
        assert release.n is None
        assert "n" not in release.to_plain()


def test_releases_with_other_filters_are_not_pooled():
    table, _ = rows(200)
    made = []
    for i, where in enumerate((WHERE, "age > 30")):
        budget = tacit.PureDP(1.0, neighbours="add-remove")
        plan = tacit.Plan(tacit.Mean("bmi"), SCHEMA, budget, tacit.AddNoise(), derive=DERIVE, where=where)
        made.append(tacit.privatize(table, plan, ledger=None, dataset=f"site{i}"))
    with pytest.raises(tacit.InputError, match="about rows with the same condition"):
        tacit.infer(made, disjoint=True, method="moments")


def test_scores_that_are_cut_are_those_of_the_rows_that_pass():
    """A likelihood's rounds at rho = 1e6: n is noisy to less than a row, and the scores are a smaller table's."""
    schema = tacit.Schema(months=(0, 60), relapse=["no", "yes"], age=(18, 90), arm=["a", "b"])
    model, budget = tacit.ExponentialSurvival("months ~ age", event="relapse"), tacit.ZCDP(1e6)
    rng, n = np.random.default_rng(2), 400
    table = {
        "months": rng.exponential(20, n),
        "relapse": rng.choice(["no", "yes"], n),
        "age": rng.uniform(18, 90, n),
        "arm": rng.choice(["a", "b"], n),
    }
    passing = table["arm"] == "b"
    kept = {name: cells[passing] for name, cells in table.items()}
    filtered = tacit.privatize(table, tacit.Plan(model, schema, budget, where="arm == 'b'"), ledger=None)
    plain = tacit.privatize(kept, tacit.Plan(model, schema, budget), ledger=None)
    assert filtered.n is None
    assert tacit.Release.from_json(filtered.to_json()) == filtered
    assert abs(filtered.noisy_n[0] - passing.sum()) < 0.5
    assert not tacit.audit(filtered.plan, runs=0).violated
    (first, *_), (other, *_) = (one.noise_parameters.split(one.values) for one in (filtered, plain))
    assert np.allclose(np.array(first[:2]) / filtered.unit, np.array(other[:2]) / plain.unit, atol=1.0)
    assert not np.allclose(np.array(first[:2]) / filtered.unit, 2 * np.array(other[:2]) / plain.unit, atol=1.0)
