"""A likelihood of one's own: what is refused, what its files hold, and that the integers of a row are its own."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm, poisson

import tacit
from tacit.calibration.simulate import SeededEntropy
from tacit.models.likelihood_source import digest_of
from tacit.models.likelihood_steps import fitted
from tacit.models.registry import SCORED
from tacit.statistics.clipped_scores import ClippedScores

SCHEMA = tacit.Schema(visits=(0, 30), dose=(0, 10), kind=["a", "b"])
BUDGET = tacit.ApproxDP(epsilon=2, delta=1e-6)
PARAMETERS = {
    "rate": tacit.Parameter(0, 1),
    "slope": tacit.Parameter(0, 0.3),
    "never": tacit.Parameter(0, 1, "share"),
}


def sometimes_never(row, p):
    rate = jnp.exp(p["rate"] + p["slope"] * row["dose"])
    counted = jnp.log1p(-p["never"]) + poisson.logpmf(row["visits"], rate)
    return jnp.where(row["visits"] == 0, jnp.logaddexp(jnp.log(p["never"]), counted), counted)


def helped(row, p):
    return helper(row["dose"], p["rate"])


def helper(dose, at):
    return norm.logpdf(dose, at)


OFFSET = 3.0


def reads_a_number(row, p):
    return norm.logpdf(row["dose"], p["rate"] + OFFSET)


def returns_two(row, p):
    return jnp.stack([row["dose"] * p["rate"], p["rate"]])


def raises(row, p):
    return row["dosis"] * p["rate"]


def never_finite(row, p):
    return jnp.log(-1 - jnp.exp(p["rate"] + row["dose"]))


def own(function=sometimes_never, **other):
    said = {"parameters": PARAMETERS, "columns": ["visits", "dose"], "response": "visits", "whole": True, "clip": 3}
    return tacit.Likelihood(function, **{**said, **other})


def simple(function):
    return own(function, parameters={"rate": tacit.Parameter(5, 2)}, columns="dose", response="dose", whole=False)


def some_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    dose = rng.uniform(0, 10, n)
    visits = rng.poisson(np.exp(0.3 + 0.1 * dose)) * (rng.random(n) < 0.7)
    return {"visits": np.clip(visits, 0, 30).astype(float), "dose": dose}


def test_a_plan_file_names_the_function_and_holds_no_code():
    plan = tacit.Plan(own(), SCHEMA, BUDGET)
    text = plan.to_toml()
    again = tacit.Plan.from_toml(text)
    assert again == plan
    assert again.model.log_density is None
    assert plan.model.digest in text
    assert "logaddexp" not in text
    assert again.mechanism.kind == "newton"


def test_the_digest_is_that_of_the_source_and_of_what_it_calls():
    """The planted faults: another function, and one whose helper changed."""
    assert digest_of(sometimes_never) != digest_of(helped)
    namespace = dict(helper.__globals__)
    before = digest_of(helped)
    changed = type(helped)(helped.__code__, {**namespace, "helper": raises})
    assert digest_of(changed) != before
    assert own() == own()
    assert own() != own(helped)


def test_a_file_in_another_python_is_refused_in_one_sentence_before_anything_is_charged(tmp_path):
    """The command line reads such a plan, says whose function it is, and charges nothing."""
    plan = tacit.Plan(own(), SCHEMA, BUDGET)
    plan.save(tmp_path / "plan.toml")
    (tmp_path / "rows.csv").write_text("visits,dose\n1,2\n0,3\n")
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("clinic", tacit.ApproxDP(epsilon=10, delta=1e-3))

    def run(*words):
        return subprocess.run([sys.executable, "-m", "tacit", *words], cwd=tmp_path, capture_output=True, text=True)

    shown = run("check", "plan.toml")
    assert shown.returncode == 0, shown.stderr
    assert "sometimes_never" in shown.stdout
    assert plan.model.digest[:12] in shown.stdout
    words = ["privatize", "plan.toml", "rows.csv", "-o", "release.json", "--ledger", "books.db", "--dataset", "clinic"]
    failed = run(*words)
    assert failed.returncode == 2
    assert "tacit.Likelihood" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not (tmp_path / "release.json").exists()
    assert len(list(ledger.entries("clinic"))) == 1  # that the dataset is there


def around(value):
    return lambda row, p: row["dose"] * p["rate"] * value


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: own(42), r"log_density='int' to be a function"),
        (lambda: own(around(2)), r"to use no value from around it \(value\)"),
        (lambda: own(reads_a_number), r"not to read the global value OFFSET"),
        (lambda: own(parameters={}), r"parameters=\{\} to map"),
        (lambda: own(parameters={"rate": 1.0}), r"parameter rate=1.0 to be a tacit.Parameter"),
        (lambda: own(parameters={"a b": tacit.Parameter(0, 1)}), r"parameter='a b' to be named"),
        (lambda: own(response="kind"), r"response=\['kind'\] to be among the columns"),
        (lambda: own(columns=["visits", "visits"]), r"to name each column once"),
        (lambda: own(clip=0), r"clip=0 to be a number"),
        (lambda: own(clip=float("nan")), r"clip=nan to be a number"),
        (lambda: own(whole="yes"), r"whole='yes' to be True or False"),
        (lambda: tacit.Parameter(0, 0), r"sd=0 of a parameter to be above 0"),
        (lambda: tacit.Parameter(0, 1, "even"), r"support='even' to be one of"),
    ],
)
def test_what_is_declared_wrongly_gets_one_sentence(make, what):
    with pytest.raises(tacit.InputError, match=what):
        make()


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (returns_two, r"to return one number for a row, not an array of shape \(2,\)"),
        (raises, r"to work on a made-up row; it raised KeyError: 'dosis'"),
        (never_finite, r"and its gradient to be finite"),
    ],
)
def test_the_function_is_tried_before_anything_is_charged(tmp_path, function, what):
    """The planted fault is a function that works: it is charged."""
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("clinic", tacit.ApproxDP(epsilon=10, delta=1e-3))
    plan = tacit.Plan(simple(function), SCHEMA, BUDGET)
    with pytest.raises(tacit.InputError, match=what):
        tacit.privatize({"dose": [1.0, 2.0, 3.0]}, plan, ledger=ledger, dataset="clinic")
    assert len(list(ledger.entries("clinic"))) == 1  # that the dataset is there
    tacit.privatize(
        {"dose": [1.0, 2.0, 3.0]}, tacit.Plan(simple(helped), SCHEMA, BUDGET), ledger=ledger, dataset="clinic"
    )
    assert len(list(ledger.entries("clinic"))) > 1


def test_a_cluster_is_refused():
    class Client:
        __module__ = "distributed.client"

    plan = tacit.Plan(simple(helped), SCHEMA, BUDGET)
    assert plan.calibrated_mechanism().one_process
    with pytest.raises(tacit.InputError, match="engine"):
        tacit.privatize({"dose": [1.0]}, plan, ledger=None, engine=Client())


def some_cells(family):
    """A model with its schema and 5,000 parsed rows."""
    if family == "likelihood":
        return own(), SCHEMA, some_rows(5000)
    example = SCORED[family].examples()[0]
    rng = np.random.default_rng(1)
    prior = replace(example.model.default_prior(example.schema), theta_sd=1.0)
    parameters = example.model.draw_parameters(prior, example.schema, rng)
    return (
        example.model,
        example.schema,
        parsed(example.model.draw_rows(parameters, example.schema, 5000, rng), example.schema),
    )


def parsed(raw, schema):
    """Raw cells as a source would hand them over."""
    found = {}
    for name, values in raw.items():
        column = schema[name]
        if isinstance(column, tacit.Category):
            found[name] = np.array([column.levels.index(value) for value in values])
        else:
            found[name] = np.clip(np.asarray(values, float), column.low, column.high)
    return found


SOME = ("likelihood", "ordinal", "negative-binomial-regression", "weibull-survival")


@pytest.mark.parametrize(
    "family", [pytest.param(f, marks=() if f in SOME else pytest.mark.slow) for f in ("likelihood", *SCORED)]
)
def test_a_row_s_integers_are_its_own_bit_for_bit(family):
    """Seed 2. Whatever rows are beside it, wherever it stands and however rows are cut into batches.

    The planted fault is a density that a row shares with the block: scores divided by the largest of the batch.
    """
    model, schema, cells = some_cells(family)
    scores = model.clipped_scores(schema).likelihood
    point = tuple(np.random.default_rng(3).normal(size=len(scores.coordinates)))
    whole = scores.scores(cells, point)
    assert np.isfinite(whole).mean() > 0.99
    rng = np.random.default_rng(2)

    def of(places, function):
        return function({name: values[places] for name, values in cells.items()})

    def mine(some):
        return scores.scores(some, point)

    def shared(some):
        found = mine(some)
        return found / np.abs(found).max()

    for places in (rng.permutation(5000), np.arange(5000)[3:], np.arange(7), np.array([4999]), np.arange(5000)[::-7]):
        assert of(places, mine).tobytes() == whole[places].tobytes()
    assert of(np.arange(7), shared).tobytes() != shared(cells)[:7].tobytes()


def test_scores_are_the_derivatives_of_the_density():
    """By central differences of the function itself, in prior sds; their error is below 1e-6 of the largest."""
    import jax

    model, rows = own(), some_rows(200)
    scores = model.clipped_scores(SCHEMA).likelihood.scores(rows, (0.2, -0.1, 0.3))
    with jax.enable_x64(True):
        density = jax.vmap(model.row_density(SCHEMA), (0, None))
        found = np.stack(
            [
                (np.asarray(density(rows, at + step)) - np.asarray(density(rows, at - step))) / 2e-5
                for at in [np.array([0.2, -0.1, 0.3])]
                for step in 1e-5 * np.eye(3)
            ],
            axis=1,
        )
    assert np.abs(found - scores).max() < 1e-6 * np.abs(scores).max()


def test_the_prior_of_a_parameter_is_changed_by_its_name():
    model = own()
    prior = model.changed_prior(model.default_prior(SCHEMA), {"rate": (1.0, 0.5)}, SCHEMA)
    mean, sd = model.coordinate_prior(prior, (), (), SCHEMA)
    assert mean.tolist() == [1.0, 0.0, 0.0]
    assert sd.tolist() == [0.5, 1.0, 1.0]
    with pytest.raises(tacit.InputError, match="to be a parameter: rate, slope, never"):
        model.changed_prior(prior, {"rat": (0, 1)}, SCHEMA)


def test_made_up_rows_follow_the_density():
    """Seed 4: the share of zeros and the mean of 20,000 rows without slope, within 4.5 standard errors (1e-5)."""
    model, rng = own(), np.random.default_rng(4)
    rows = model.draw_rows({"rate": 1.0, "slope": 0.0, "never": 0.25}, SCHEMA, 20_000, rng)
    visits = np.asarray(rows["visits"])
    mean, zeros = 0.75 * np.e, 0.25 + 0.75 * np.exp(-np.e)
    assert abs(visits.mean() - mean) < 4.5 * visits.std() / 20_000**0.5
    assert abs((visits == 0).mean() - zeros) < 4.5 * (zeros * (1 - zeros) / 20_000) ** 0.5


def test_rounds_lead_to_the_rows_own_estimate():
    """Seed 5. With little noise the anchor is the rows' own estimate, to a quarter of its standard error.

    The planted fault is the second point, which is not there yet.
    """
    rows, budget = some_rows(4000, seed=5), tacit.ApproxDP(epsilon=1e5, delta=1e-6)
    model = own(clip=6)
    plan = tacit.Plan(model, SCHEMA, budget)

    def read(empty):
        empty.add(rows)
        return 4000, empty

    _, values, noise = plan.calibrated_mechanism().carry_out(read, SeededEntropy(1))
    unit = plan.calibrated_mechanism().unit
    facts = noise.facts(unit)
    scores = model.clipped_scores(SCHEMA).likelihood

    def gradient(t):
        found = scores.scores(rows, tuple(t))
        return found.sum(axis=0), found.T @ found

    t = np.zeros(3)
    for _ in range(50):
        score, information = gradient(t)
        t = t + np.linalg.solve(information, score)
    real = [[value / unit for value in some] for some in noise.split(list(values))]
    anchor = fitted(model, SCHEMA, facts, real, 4000.0, model.default_prior(SCHEMA), 8).anchor
    root = np.linalg.cholesky(information).T
    assert np.abs(root @ (anchor - t)).max() < 0.25
    assert np.abs(root @ (np.array(facts[1].point) - t)).max() > 1
    assert abs(real[-1][-1]) < 4000 * 0.05  # rows that were cut


@pytest.mark.slow
def test_from_rows_to_predictions(tmp_path):
    """Seed 6. A release of 20,000 rows, saved and read, holds the truth in its 99.99% intervals, and predicts."""
    plan = tacit.Plan(own(), SCHEMA, BUDGET)
    truth = {"rate": 0.5, "slope": 0.1, "never": 0.3}
    release = tacit.simulate(plan, n=20_000, seed=6, parameters=truth).release
    release.save(tmp_path / "release.json")
    posterior = tacit.infer(tmp_path / "release.json", seed=1, chains=2)
    for row in posterior.summary():
        assert abs(row.mean - truth[row.name]) < 4.5 * row.sd
        assert row.sd < 0.1
    predicted = posterior.predict({"dose": [0.0, 10.0]})
    mean = 0.7 * np.exp([0.5, 1.5])
    assert np.abs(predicted.mean / mean - 1).max() < 0.2
    posterior.save(tmp_path / "posterior.nc")
    again = tacit.Posterior.load(tmp_path / "posterior.nc")
    assert "rate" in tacit.report(again, quick=True)
    assert not any("does not describe" in one for one in again.warnings())


@pytest.mark.slow
def test_a_likelihood_of_one_s_own_is_calibrated():
    """Simulation-based calibration, 200 trials, seed 7, n = 1,000; a false alarm has a probability of 0.1%."""
    priors = {
        "rate": tacit.Parameter(0.5, 0.5),
        "slope": tacit.Parameter(0, 0.1),
        "never": tacit.Parameter(-1, 1, "share"),
    }
    plan = tacit.Plan(own(parameters=priors), SCHEMA, tacit.ApproxDP(epsilon=4, delta=1e-6))
    assert tacit.calibrate(plan, n=1000, trials=200, seed=7, warmup=200).calibrated(level=0.001)


def test_the_page_s_example_has_at_most_twenty_lines():
    text = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
    text = text[text.index("## A likelihood of your own") :]
    code = text[text.index("```python") :].split("```")[1].splitlines()[1:]
    assert len(code) <= 20
    assert "def sometimes_never" in "\n".join(code)
    assert isinstance(own().clipped_scores(SCHEMA), ClippedScores)
    assert inspect.getsource(sometimes_never)
