"""Posterior draws as a mechanism: plans, prices, the boundary, releases, and what a release says about itself."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import tacit
from tacit.infer import method_name
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.posterior_sample.registry import LOSSES, loss_for
from tacit.mechanisms.posterior_sample.rows import RowMap
from tacit.models.conjugate import ConjugateModel
from tacit.models.draw_law import FAILED
from tacit.models.registry import DRAWN, FAMILIES
from tacit.noise.entropy import OSEntropy

YES_NO = tacit.Schema(x=["no", "yes"])
MIXED = tacit.Schema(ill=["no", "yes"], age=(18, 90), dose=(0, 10), area=["a", "b", "c"])

PLANS = {
    "share": tacit.Plan(
        tacit.Bernoulli("x"),
        YES_NO,
        tacit.RenyiDP(order=15, epsilon=1.0),
        tacit.PosteriorSample(prior={"a": 6, "b": 12}, n=100),
    ),
    "share-exact-profile": tacit.Plan(
        tacit.Bernoulli("x"), YES_NO, tacit.ApproxDP(1.0, 1e-5), tacit.PosteriorSample(n=100, grid=2**30)
    ),
    "levels": tacit.Plan(
        tacit.Categorical("area"),
        MIXED,
        tacit.RenyiDP(order=3, epsilon=1.0),
        tacit.PosteriorSample(draws=3, tempering="concentrated", prior={"concentration": [1, 2, 3]}),
    ),
    "counts": tacit.Plan(
        tacit.Poisson("visits"),
        tacit.Schema(visits=(0, 12)),
        tacit.RenyiDP(order=2, epsilon=1.0),
        tacit.PosteriorSample(),
    ),
    "waits": tacit.Plan(
        tacit.Exponential("wait"),
        tacit.Schema(wait=(0, 30)),
        tacit.RenyiDP(order=2, epsilon=1.0),
        tacit.PosteriorSample(n=100),
    ),
    "mean": tacit.Plan(
        tacit.NormalMean("w", 4.0), tacit.Schema(w=(40, 80)), tacit.GDP(0.5), tacit.PosteriorSample(draws=2, n=100)
    ),
    "query": tacit.Plan(
        tacit.StatisticalQuery("age"), MIXED, tacit.RenyiDP(order=3, epsilon=0.5), tacit.PosteriorSample(n=100)
    ),
    "logistic": tacit.Plan(
        tacit.LogisticRegression("ill ~ age + dose"), MIXED, tacit.GDP(1.0), tacit.PosteriorSample(private="response")
    ),
    "bounded": tacit.Plan(
        tacit.LogisticRegression("ill ~ age"),
        MIXED,
        tacit.PureDP(1.0),
        tacit.PosteriorSample(loss="bounded-log-likelihood", options={"bound": 3.0}, draws=2, sampler="rejection"),
    ),
    "softmax": tacit.Plan(
        tacit.SoftmaxRegression("area ~ age", radius=1.0),
        MIXED,
        tacit.ApproxDP(1.0, 1e-5),
        tacit.PosteriorSample(tempering="concentrated", sampler="mcmc", gamma=1e-8, assume="converged"),
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_survives_being_written(name):
    plan = PLANS[name]
    again = tacit.Plan.from_toml(plan.to_toml())
    assert again == plan
    assert again.to_toml() == plan.to_toml()
    assert hash(again.mechanism) == hash(plan.mechanism)


@pytest.mark.parametrize("name", PLANS)
def test_the_budget_is_met_and_used_up(name):
    """Planted fault: numbers that are tempered 1% less break the budget, unless nothing had to be tempered."""
    plan = PLANS[name]
    assert plan.event().satisfies(plan.budget)
    crossing = plan.crossing()
    numbers = dict(crossing.law.numbers)
    change = {"diffused": ("weight", 1.01), "concentrated": ("scale", 1.01)}[plan.mechanism.tempering]
    if "precision" in numbers and plan.mechanism.tempering == "concentrated":
        change = ("precision", 1 / 1.01)
    numbers[change[0]] *= change[1]
    assert not crossing.loss.event(numbers).satisfies(plan.budget)


@pytest.mark.parametrize("name", PLANS)
def test_a_release_survives_being_written_and_cannot_be_edited(name, tmp_path):
    release = tacit.simulate(PLANS[name], n=100, seed=3).release
    path = release.save(tmp_path / "release.json")
    assert tacit.Release.load(path) == release
    plain = release.to_plain()
    assert plain["guarantee"]["assumes"][0] in ("exact draw, ideal arithmetic", "ideal arithmetic")
    for field in ("unit", "entries", "sample", "guarantee", "plan"):
        for wrong in (None, "x", -1, [], {}):
            with pytest.raises(tacit.InputError, match="Expected"):
                tacit.Release.from_json(json.dumps({**plain, field: wrong}))
    for field in plain["sample"]:
        for wrong in (None, "x", -1, {}):
            with pytest.raises(tacit.InputError, match="Expected"):
                tacit.Release.from_json(json.dumps({**plain, "sample": {**plain["sample"], field: wrong}}))
    heavier = {k: v * 1.5 for k, v in plain["sample"]["numbers"].items()}  # a release that spent more than it says
    with pytest.raises(tacit.InputError, match="Expected"):
        tacit.Release.from_json(json.dumps({**plain, "sample": {**plain["sample"], "numbers": heavier}}))


def test_the_ledger_is_charged_before_the_draw(tmp_path, monkeypatch):
    """A draw that breaks down has cost its budget and is released as a failure; the planted fault is in the sampler."""
    plan = PLANS["share"]
    book = tacit.Ledger.create(tmp_path / "ledger.db")
    book.new_dataset("trial", tacit.RenyiDP(order=15, epsilon=2.5))
    rows = {"x": ["yes"] * 60 + ["no"] * 40}
    release = tacit.privatize(rows, plan, ledger=book, dataset="trial")
    assert release.ledger is not None
    loss = type(plan.crossing().loss)
    with monkeypatch.context() as patch:
        patch.setattr(loss, "draw", lambda *_: (_ for _ in ()).throw(ZeroDivisionError("yes")))
        broken = tacit.privatize(rows, plan, ledger=book, dataset="trial")
    assert broken.values == (FAILED,)
    assert broken.ledger is not None
    with pytest.raises(tacit.RefusedError):
        tacit.privatize(rows, plan, ledger=book, dataset="trial")


def test_a_failure_is_one_of_the_outputs(monkeypatch):
    """Not a number, not there, or out of all bounds: released as a failure, refused by `infer` and by `drawn`."""
    plan = PLANS["mean"]
    crossing = plan.crossing()
    for bad in (None, [math.nan], [math.inf], [1e300]):
        monkeypatch.setattr(type(crossing.loss), "draw", lambda *_a, bad=bad: [bad, [0.25]])
        values = crossing.cross(crossing.collector(), 100, OSEntropy())
        assert values == (FAILED, 2**18)
        crossing.check(values, 100)
    release = tacit.Release(plan=plan, n=100, values=(FAILED, 2**18), dataset="d", id="i")
    assert tacit.Release.from_json(release.to_json()) == release
    with pytest.raises(tacit.InputError, match="one of them failed"):
        tacit.infer(release)
    assert tacit.drawn(release).values.tolist() == [[0.25]]
    with pytest.raises(tacit.InputError, match="all of them failed"):
        tacit.drawn(tacit.Release(plan=plan, n=100, values=(FAILED, FAILED), dataset="d", id="i"))


def test_a_draw_fails_as_a_whole():
    crossing = PLANS["levels"].crossing()
    third = 2**20 // 3
    crossing.check((third,) * 6 + (FAILED,) * 3, 10)
    with pytest.raises(tacit.InputError, match="as a whole"):
        crossing.check((third,) * 7 + (FAILED,) * 2, 10)
    with pytest.raises(tacit.InputError, match="where the parameters can lie"):
        crossing.check((third,) * 8 + (2**20 + 1,), 10)


def test_where_covariates_are_public_the_release_says_so_and_no_ledger_pays(tmp_path):
    """Totals of a ledger are about rows: a price for responses alone has no sum with them."""
    plan = PLANS["logistic"]
    rows = {"ill": ["no", "yes"] * 10, "age": list(range(20, 40)), "dose": [1.0] * 20}
    book = tacit.Ledger.create(tmp_path / "ledger.db")
    book.new_dataset("trial", tacit.GDP(3.0))
    with pytest.raises(tacit.InputError, match="protects responses alone"):
        tacit.privatize(rows, plan, ledger=book, dataset="trial")
    release = tacit.privatize(rows, plan, ledger=None)
    assert any("in the response of one row alone" in text for text in release.guarantee.assumes)


def test_draws_are_rounded_to_the_declared_grid():
    """Fresh entropy; a coarse grid leaves only its own points."""
    plan = tacit.Plan(tacit.Bernoulli("x"), YES_NO, tacit.ApproxDP(1.0, 1e-3), tacit.PosteriorSample(grid=8, draws=50))
    release = tacit.privatize({"x": ["yes", "no"] * 20}, plan, ledger=None)
    assert set(release.values) <= set(range(9))
    assert release.unit == 8


def test_the_number_of_rows_must_be_the_declared_one(tmp_path):
    """Refused before anything is charged where a length or a footer tells, else afterwards."""
    plan = PLANS["share"]
    book = tacit.Ledger.create(tmp_path / "ledger.db")
    book.new_dataset("trial", tacit.RenyiDP(order=15, epsilon=1.5))
    with pytest.raises(tacit.InputError, match=r"Expected n=100 .* to be the number of rows, 3, which is public"):
        tacit.privatize({"x": ["yes", "no", "no"]}, plan, ledger=book, dataset="trial")
    assert len(book.entries("trial")) == 1  # the total, and nothing spent
    (tmp_path / "rows.csv").write_text("x\nyes\nno\n")
    with pytest.raises(
        tacit.InputError, match=r"Expected n=100 .* to be the number of rows; the budget counts as spent"
    ):
        tacit.privatize(tmp_path / "rows.csv", plan, ledger=None)
    with pytest.raises(tacit.InputError, match="declared number of rows"):
        tacit.Release(plan=plan, n=99, values=(1,), dataset="d", id="i")


@pytest.mark.parametrize(
    ("model", "budget", "said", "sentence"),
    [
        (tacit.Bernoulli("x"), tacit.PureDP(1.0), {}, "no pure epsilon"),
        (tacit.Bernoulli("x"), tacit.ZCDP(0.1), {}, "no rho"),
        (tacit.Bernoulli("x"), tacit.GDP(0.1), {}, "no mu"),
        (tacit.NormalMean("age", 4.0), tacit.PureDP(1.0), {}, "no pure epsilon"),
        (tacit.Exponential("dose"), tacit.RenyiDP(order=2, epsilon=1.0), {}, "to be declared"),
        (tacit.Bernoulli("x"), tacit.RenyiDP(order=2, epsilon=0.1), {"tempering": "direct"}, "diffused would"),
        (tacit.Bernoulli("x"), tacit.RenyiDP(order=2, epsilon=0.1), {"sampler": "mcmc"}, "to be exact"),
        (
            tacit.Bernoulli("x"),
            tacit.RenyiDP(order=2, epsilon=0.1),
            {"gamma": 0.1},
            "draws of a conjugate family are exact",
        ),
        (tacit.Bernoulli("x"), tacit.RenyiDP(order=2, epsilon=0.1), {"private": "response"}, "only regressions"),
        (tacit.Bernoulli("x"), tacit.RenyiDP(order=2, epsilon=0.1), {"public": {"n": 3}}, "exactly n and count"),
        (tacit.Geometric("dose"), tacit.GDP(0.1), {}, "bounded gradient"),
        (tacit.LinearRegression("dose ~ age"), tacit.GDP(0.1), {}, "bounded gradient"),
        (tacit.PoissonRegression("dose ~ age"), tacit.GDP(0.1), {}, "bounded gradient"),
        (tacit.LogisticRegression("ill ~ age"), tacit.PureDP(1.0), {}, "to be met"),
        (tacit.LogisticRegression("ill ~ age"), tacit.GDP(1.0), {"sampler": "mcmc"}, "assume=None to be"),
        (
            tacit.LogisticRegression("ill ~ age"),
            tacit.ApproxDP(1.0, 1e-5),
            {"sampler": "mcmc", "gamma": 0.1, "assume": "converged"},
            "to be met",
        ),
        (
            tacit.LogisticRegression("ill ~ age"),
            tacit.GDP(1.0),
            {"sampler": "langevin"},
            "above 0 for sampler langevin",
        ),
        (
            tacit.LogisticRegression("ill ~ age"),
            tacit.GDP(1.0),
            {"sampler": "rejection", "gamma": 0.1},
            "which is exact",
        ),
        (tacit.LogisticRegression("ill ~ age"), tacit.GDP(1.0), {"prior": {"a": 1}}, "to be sd"),
        (tacit.LogisticRegression("ill ~ age"), tacit.GDP(1.0), {"options": {"bound": 1}}, "the loss's own"),
        (tacit.LogisticRegression("ill ~ age"), tacit.GDP(1.0), {"loss": "brier"}, "to be one of log-likelihood"),
        (tacit.LogisticRegression("ill ~ age"), tacit.PureDP(1.0), {"loss": "bounded-log-likelihood"}, "largest logit"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(model, budget, said, sentence):
    schema = tacit.Schema({**YES_NO.to_plain(), **MIXED.to_plain()})
    with pytest.raises(tacit.InputError, match=sentence) as raised:
        tacit.Plan(model, schema, budget, tacit.PosteriorSample(**said))
    assert str(raised.value).startswith("Expected ")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"draws": 0}, "draws=0"),
        ({"draws": True}, "draws=True"),
        ({"grid": 0}, "grid=0"),
        ({"n": 0}, "n=0"),
        ({"tempering": "cold"}, "tempering='cold'"),
        ({"sampler": "gibbs"}, "sampler='gibbs'"),
        ({"private": "x"}, "private='x'"),
        ({"gamma": -1}, "gamma=-1"),
        ({"assume": True}, "assume=True"),
        ({"prior": [1]}, "prior="),
    ],
)
def test_settings_are_checked(said, sentence):
    with pytest.raises(tacit.InputError, match=sentence):
        tacit.PosteriorSample(**said)


def test_unknown_keys_of_the_table_are_refused():
    toml = PLANS["share"].to_toml().replace("n = 100", "n = 100\nchains = 4")
    with pytest.raises(tacit.InputError, match="mechanism key='chains'"):
        tacit.Plan.from_toml(toml)
    with pytest.raises(tacit.InputError, match="mechanism key='bound'"):
        tacit.Plan.from_toml(PLANS["logistic"].to_toml() + "bound = 3.0\n")


def test_softmax_and_queries_cross_as_draws_only():
    with pytest.raises(tacit.InputError, match="posterior-sample"):
        tacit.Plan(tacit.SoftmaxRegression("area ~ age"), MIXED, tacit.PureDP(1.0))
    with pytest.raises(tacit.InputError, match=r"kind='noise' of .* for family query"):
        tacit.Plan(tacit.StatisticalQuery("age"), MIXED, tacit.PureDP(1.0))
    for family, model in DRAWN.items():
        for one in model.examples():
            with pytest.raises(tacit.InputError, match=f"family='{family}' to have a method that takes releases"):
                method_name(one.model, one.schema, None)


FAMILY_EXAMPLES = {
    f"{family}-{i}": example
    for family, model in {**FAMILIES, **DRAWN}.items()
    for i, example in enumerate(model.examples())
}


@pytest.mark.parametrize("name", FAMILY_EXAMPLES)
@pytest.mark.parametrize("budget", [tacit.RenyiDP(order=1.5, epsilon=0.5), tacit.GDP(0.5), tacit.ApproxDP(1.0, 1e-3)])
def test_every_registered_family_is_drawn_from_or_refused(name, budget):
    """A family that is registered is tested here: what is not refused in one sentence is priced within the budget."""
    model, schema, *_ = FAMILY_EXAMPLES[name]
    said: dict = {"n": 50}
    if not isinstance(model, ConjugateModel):
        chain = {"sampler": "mcmc", "gamma": 1e-7, "assume": "converged"}
        said |= chain if isinstance(budget, tacit.ApproxDP) else {"sampler": "rejection"}
    able = isinstance(model, tacit.NormalMean | tacit.LogisticRegression | tacit.SoftmaxRegression)
    if not able and (isinstance(budget, tacit.GDP) or not isinstance(model, ConjugateModel)):
        with pytest.raises(tacit.InputError, match="Expected "):
            tacit.Plan(model, schema, budget, tacit.PosteriorSample(**said))
        return
    plan = tacit.Plan(model, schema, budget, tacit.PosteriorSample(**said))
    assert plan.event().satisfies(plan.budget)
    assert tacit.Plan.from_toml(plan.to_toml()) == plan


def test_a_new_loss_is_a_line_in_the_registry():
    """What is registered builds for a plan, prices it and draws."""
    assert {"log-likelihood", "bounded-log-likelihood"} <= set(LOSSES)
    loss = loss_for(tacit.LogisticRegression("ill ~ age"), MIXED, tacit.PosteriorSample())
    assert loss.parameters == ("Intercept", "age")


def test_rows_are_mapped_clamped_and_bounded():
    """Seed 5: no row is longer than the bound, and some row reaches it; levels of one factor never meet."""
    design = tacit.LogisticRegression("ill ~ age + dose + area").design(MIXED)
    from tacit.statistics.design import sign

    row_map = RowMap(design.columns, sign("ill", MIXED))
    assert row_map.norm_squared() == 4  # the constant, two numbers and one of the two levels
    rng = np.random.default_rng(5)
    columns = {
        "ill": rng.integers(0, 2, 1000),
        "age": rng.choice([18.0, 90.0], 1000),
        "dose": rng.choice([0.0, 10.0], 1000),
        "area": rng.integers(0, 3, 1000),
    }
    x, y = row_map.arrays(columns)
    assert np.max(np.sum(x**2, axis=1)) == 4
    assert set(y) == {-1.0, 1.0}
    ball = RowMap(tacit.LogisticRegression("ill ~ age + dose").design(MIXED).columns, sign("ill", MIXED), radius_of(1))
    x, _ = ball.arrays(columns)
    assert np.max(np.sum(x**2, axis=1)) <= float(ball.norm_squared()) == 2


def radius_of(value):
    from fractions import Fraction

    return Fraction(value)


def test_importing_the_boundary_stays_light():
    import subprocess
    import sys

    code = "import sys, tacit.boundary; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "jaxlib", "scipy", "pyarrow", "xarray"} & set(loaded)


def test_a_plan_of_draws_is_explained_in_words():
    from tacit.report.words import explain, explain_plain

    for plan in PLANS.values():
        lines = explain(plan)
        assert any("ideal arithmetic" in line for line in lines)
        assert json.loads(json.dumps(explain_plain(plan)))["sample"]["draws"] == plan.mechanism.draws
    assert isinstance(PLANS["share"].crossing(), PosteriorDraws)
