"""Networks with one hidden layer: their loss, what a plan of one says and refuses, and what its draws predict."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tacit
from tacit.errors import InputError
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss
from tacit.mechanisms.posterior_sample.loss import Settings
from tacit.mechanisms.targets.network_densities import NetworkBernoulli, NetworkNormal
from tacit.models.network import output, weight_names
from tacit.privacy.beta_divergence import Probabilities, gaussian

HIDDEN, COLUMNS = 4, 3
NAMES = weight_names(["1", "a", "b"], HIDDEN)
LEAST = 0.2
BERNOULLI = NetworkBernoulli(NAMES, 1.0, HIDDEN)
NORMAL = NetworkNormal(NAMES, 1.0, LEAST, 1.0, 4 * LEAST**2, 1.0, HIDDEN)


def loss_of(density, beta):
    return BetaLoss(None, Settings(loss="beta-divergence", sampler="mcmc", gamma=1e-7), density, beta)


def by_hand(theta, x):
    """The network unit by unit, with nothing shared with the package."""
    found = []
    for row in x:
        total = theta[HIDDEN * COLUMNS + HIDDEN]
        for j in range(HIDDEN):
            inside = sum(theta[j * COLUMNS + k] * row[k] for k in range(COLUMNS))
            total += theta[HIDDEN * COLUMNS + j] * np.tanh(inside)
        found.append(total)
    return np.array(found)


def loss_by_hand(kind, theta, x, y, beta):
    m, b = by_hand(theta, x), beta - 1
    if kind == "bernoulli":
        p = 1 / (1 + np.exp(-y * m))
        return -(p**b) / b + (p**beta + (1 - p) ** beta) / beta
    sigma = LEAST + np.exp(theta[-1])
    density = np.exp(-(((y - m) / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
    return -(density**b) / b + (2 * np.pi * sigma**2) ** (-b / 2) / np.sqrt(beta) / beta


CASES = {"bernoulli": (BERNOULLI, len(NAMES)), "normal": (NORMAL, len(NAMES) + 1)}


def some_rows(kind, n, rng, wide=1.0):
    x = np.concatenate([np.ones((n, 1)), wide * rng.standard_normal((n, 2))], axis=1)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if kind == "bernoulli" else rng.standard_normal(n)
    return x, y


@pytest.mark.parametrize("kind", CASES)
def test_the_loss_is_that_of_a_network_written_out_by_hand(kind):
    """Seed 1; no chance of a false alarm: two computations of one number. A network without its biases is caught."""
    from tacit.runtime.backend import float64

    density, size = CASES[kind]
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(size)
    x, y = some_rows(kind, 30, rng)
    with float64():
        for beta in (1.3, 2.0, 3.0):
            found = np.asarray(loss_of(density, beta).record_losses(theta, x, y, {}))
            assert found == pytest.approx(loss_by_hand(kind, theta, x, y, beta), rel=1e-12, abs=1e-13)
            bare = np.concatenate([np.zeros((30, 1)), x[:, 1:]], axis=1)
            assert np.max(np.abs(found - loss_by_hand(kind, theta, bare, y, beta))) > 1e-3


@pytest.mark.parametrize("kind", CASES)
def test_the_gradient_is_the_slope_in_every_direction(kind):
    """Seed 2; central differences of 1e-6 are good to about 1e-8. A gradient of half the loss is caught."""
    import jax

    from tacit.runtime.backend import float64

    density, size = CASES[kind]
    rng = np.random.default_rng(2)
    theta = rng.standard_normal(size)
    x, y = some_rows(kind, 40, rng)
    given = {"weight": 0.7, "beta": 1.5}
    with float64():

        def potential(t):
            return loss_of(density, 1.5).potential(t, x, y, given)

        found = np.asarray(jax.grad(potential)(theta))
        steps = 1e-6 * np.eye(size)
        slopes = np.array([float(potential(theta + s) - potential(theta - s)) / 2e-6 for s in steps])
    assert found == pytest.approx(slopes, rel=1e-5, abs=1e-6)
    assert not np.allclose(found, slopes / 2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", CASES)
def test_no_search_finds_a_loss_outside_the_range_that_is_charged(kind):
    """Seed 3; no chance of a false alarm: the range is proved. Weights and rows of many sizes; half the range is left.

    A planted fault: with a standard deviation below the declared one the range is exceeded.
    """
    from tacit.runtime.backend import float64

    density, size = CASES[kind]
    rng = np.random.default_rng(3)
    ranges = {"bernoulli": Probabilities(), "normal": gaussian(LEAST)}
    assert density.loss_range == ranges[kind]
    with float64():
        for beta in (1.2, 1.5, 3.0):
            low, high, below = np.inf, -np.inf, np.inf
            for scale in (0.3, 1.0, 10.0, 1000.0):
                for _ in range(40):
                    theta = scale * rng.standard_normal(size)
                    x, y = some_rows(kind, 200, rng, wide=scale)
                    if kind == "normal":
                        theta[-1] = rng.choice([-30.0, -3.0, 1.0])
                        y[:100] = by_hand(theta, x[:100])  # on the curve, where the density peaks
                    found = np.asarray(loss_of(density, beta).record_losses(theta, x, y, {}))
                    assert np.isfinite(found).all()
                    low, high = min(low, found.min()), max(high, found.max())
                    if kind == "normal":
                        narrow = NetworkNormal(NAMES, 1.0, LEAST / 2, 1.0, 1.0, 1.0, HIDDEN)
                        below = min(below, np.asarray(loss_of(narrow, beta).record_losses(theta, x, y, {})).min())
            most = density.loss_range.at(beta)
            assert high - low <= most
            assert high - low > 0.95 * most
            assert kind == "bernoulli" or high - below > most


SCHEMA = tacit.Schema(y=(0, 4), k=["no", "yes"], a=(-1, 1), b=(0, 10), c=["u", "v", "w"])


def plan_of(formula="y ~ a + b", hidden=2, budget=None, options=None, **more):
    said = {"loss": "beta-divergence", "sampler": "mcmc", "gamma": 1e-9, "assume": "converged", **more}
    options = ({"sigma_min": 0.4} if formula.startswith("y") else {}) if options is None else options
    mechanism = tacit.PosteriorSample(options=options, **said)
    return tacit.Plan(tacit.Network(formula, hidden=hidden), SCHEMA, budget or tacit.ApproxDP(2.0, 1e-6), mechanism)


@pytest.mark.parametrize("formula", ["y ~ a + b", "k ~ a + c", "k ~ a:b - 1"])
@pytest.mark.parametrize("budget", [tacit.ApproxDP(2.0, 1e-5), tacit.ApproxDP(1.0, 1e-6)])
def test_a_plan_is_priced_at_its_budget_and_reads_back(formula, budget):
    plan = plan_of(formula, budget=budget)
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert plan.event().satisfies(budget)
    numbers = dict(plan.crossing().law.numbers)
    assert not plan.crossing().loss.event({**numbers, "weight": 1.001 * numbers["weight"]}).satisfies(budget)
    assert any("Markov chain" in sentence for sentence in plan.crossing().assumes)


def test_a_plan_file_says_the_family_and_the_units():
    text = """
[model]
family = "network"
formula = "k ~ a + c"
hidden = 7

[schema]
k = ["no", "yes"]
a = {bounds = [-1, 1], clamp = false}
c = ["u", "v", "w"]

[budget]
epsilon = 1.0
delta = 1e-6

[mechanism]
kind = "posterior-sample"
loss = "beta-divergence"
assume = "converged"
gamma = 1e-9
"""
    plan = tacit.Plan.from_toml(text)
    assert plan.model == tacit.Network("k ~ a + c", hidden=7)
    names = plan.crossing().entries
    assert len(names) == 7 * 4 + 7 + 1
    assert names[0] == "unit 1: Intercept"
    assert names[-1] == "output: constant"
    assert "sigma" not in names
    assert plan_of("y ~ a", hidden=1).crossing().entries[-1] == "sigma"
    assert dict(plan.crossing().law.numbers) == {
        "beta": pytest.approx(3.0, rel=1e-2),
        "weight": pytest.approx(1.0, rel=1e-2),
    }


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"hidden": 0}, "hidden=0"),
        ({"hidden": True}, "hidden=True"),
        ({"hidden": 2.5}, "hidden=2.5"),
        ({"hidden": 10**6}, "hidden=1000000"),
        ({"formula": "c ~ a"}, "response='c' to be a number or to have two levels"),
        ({"formula": "y ~ a", "options": {}}, "sigma_min"),
        ({"formula": "y ~ a", "options": {"sigma_min": -1}}, "sigma_min=-1"),
        ({"formula": "k ~ a", "loss": "log-likelihood"}, "family='network'"),
        ({"prior": {"sd": 0}}, "prior sd=0"),
        ({"formula": "k ~ a", "prior": {"shape": 2.0}}, "prior='shape'"),
        ({"gamma": None}, "gamma=None"),
        ({"sampler": "rejection"}, "sampler='rejection'"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row(said, says):
    with pytest.raises(InputError) as refusal:
        plan_of(**said)
    assert str(refusal.value).startswith("Expected ")
    assert says in str(refusal.value)


def test_the_words_for_approval_promise_predictions_and_no_coefficients():
    from tacit.report.approval import learnable

    assert learnable(plan_of("k ~ a", draws=2)).startswith(
        "how k goes with the other columns: predictions; as 2 random"
    )


def test_noisy_sums_of_a_network_are_refused():
    with pytest.raises(InputError, match=r"posterior-sample.* for family network"):
        tacit.Plan(tacit.Network("y ~ a"), SCHEMA, tacit.PureDP(1.0))


def test_a_network_with_a_number_by_hand_predicts_in_the_units_of_the_data():
    """No random number. A plan's response from 0 to 4: 0 in mapped units is 2, and 1 is 2 as well."""
    model = tacit.Network("y ~ a", hidden=1)
    draws = {"theta": np.array([[0.0, 1.0, 0.5, 0.25], [0.0, 0.0, 0.0, -1.0]]), "sigma": np.array([0.1, 0.1])}
    found = model.predict(draws, SCHEMA, {"a": [0.0, 0.5, 1.0]}, np.random.default_rng(0))
    by_first = 2 + 2 * (0.25 + 0.5 * np.tanh([0.0, 0.5, 1.0]))
    assert found == pytest.approx(np.stack([by_first, np.zeros(3)]))
    chances = tacit.Network("k ~ a", hidden=1).predict({"theta": draws["theta"]}, SCHEMA, {"a": [0.0]}, None)
    assert chances[:, 0] == pytest.approx(1 / (1 + np.exp([-0.25, 1.0])))


def test_rows_go_in_and_predictions_come_out(tmp_path, capsys):
    """Fresh entropy. With a budget of 200 the mean of three draws follows the curve to 0.1.

    False alarms: 40 runs were off by 0.012 in the mean and 0.019 at most, so that 0.1 is never reached by chance.
    Planted: networks of the prior, of which none in 200 triples came within 0.1; one triple of seed 4 is tried here.
    """
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-1, 1, 400), rng.uniform(0, 10, 400)
    curve = 2 + np.tanh(3 * a)
    rows = {"y": curve + 0.1 * rng.standard_normal(400), "a": a, "b": b}
    plan = plan_of("y ~ a + b", budget=tacit.ApproxDP(200.0, 1e-6), gamma=1e-200, draws=3)
    release = tacit.privatize(rows, plan, ledger=None)
    path = tmp_path / "network.json"
    release.save(path)
    found = tacit.drawn(path)
    at = {"a": [-0.8, -0.2, 0.0, 0.5], "b": [1.0, 9.0, 5.0, 3.0]}
    prediction = found.predict(at)
    assert prediction.draws.shape == (3, 4)
    right = 2 + np.tanh(3 * np.array(at["a"]))
    assert np.max(np.abs(prediction.mean - right)) < 0.1
    weights = rng.standard_normal((3, len(plan.model.weights(SCHEMA))))
    assert np.max(np.abs(plan.model.predict({"theta": weights}, SCHEMA, at, rng).mean(axis=0) - right)) > 0.1
    low, high = prediction.interval(0.5)
    assert (low <= high).all()
    named = found.coefficients()
    assert list(named) == list(release.plan.crossing().loss.parameters)
    # 0.4 of the response is 0.2 in mapped units; released numbers are rounded after the draw.
    assert (named["sigma"] >= 0.2 - 1e-5).all()

    from typer.testing import CliRunner

    from tacit.cli.main import app

    shown = CliRunner().invoke(app, ["drawn", str(path), "--json"])
    assert shown.exit_code == 0
    printed = json.loads(shown.stdout)
    assert printed["units"] == "mapped"
    assert printed["values"]["sigma"] == pytest.approx(list(named["sigma"]))


def test_the_units_of_a_network_can_be_swapped_and_mirrored():
    """Seed 5; no chance of a false alarm. A mirrored unit whose output is not mirrored gives another function."""
    rng = np.random.default_rng(5)
    theta = rng.standard_normal(len(NAMES))
    x = some_rows("normal", 20, rng)[0]
    into, out = theta[:12].reshape(4, 3), theta[12:16]
    swapped = np.concatenate([into[::-1].ravel(), out[::-1], theta[16:]])
    flips = np.array([1.0, -1.0, 1.0, -1.0])
    mirrored = np.concatenate([(into * flips[:, None]).ravel(), out * flips, theta[16:]])
    half = np.concatenate([(into * flips[:, None]).ravel(), out, theta[16:]])
    there = output(theta, x, HIDDEN, np.tanh)
    assert output(swapped, x, HIDDEN, np.tanh) == pytest.approx(there)
    assert output(mirrored, x, HIDDEN, np.tanh) == pytest.approx(there)
    assert np.max(np.abs(output(half, x, HIDDEN, np.tanh) - there)) > 0.01
