"""Parts of a regression that no row shares: independent given the rows, and drawn exactly one after the other."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaincinv, log_expit

import tacit
from tacit.mechanisms.posterior_sample import beta_divergence
from tacit.mechanisms.posterior_sample.registry import loss_for
from tacit.report.plan_text import explain

SCHEMA = tacit.Schema(
    ill=["no", "yes"],
    kind=list("xyz"),
    g=list("abcd"),
    h=["u", "v"],
    age=(-1, 1),
    far={"bounds": [-1, 1], "clamp": False},
)
BETA = {"loss": "beta-divergence", "sampler": "rejection"}


class Seeded:
    """Bytes of a seeded generator in place of the system's."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def bytes(self, count):
        return self.rng.bytes(count)


@pytest.mark.parametrize(
    ("formula", "sizes"),
    [
        ("ill ~ 0 + g", [1, 1, 1, 1]),
        ("ill ~ 0 + g:h", [1] * 8),
        ("ill ~ 0 + g + g:age", [1, 2, 2, 2]),
        ("ill ~ 0 + g:age + g:h:age", [1, 2, 2, 2]),
        ("ill ~ g", [4]),
        ("ill ~ 0 + g + h", [5]),
        ("ill ~ 0 + g + age", [5]),
    ],
)
def test_no_row_has_a_say_in_two_parts(formula, sizes):
    """Seed 31: 500 rows of all combinations; and no part can be cut further: its columns hang together by rows."""
    rng = np.random.default_rng(31)
    loss = loss_for(tacit.LogisticRegression(formula), SCHEMA, tacit.PosteriorSample(sampler="rejection"))
    rows = {"g": rng.integers(0, 4, 500), "h": rng.integers(0, 2, 500), "age": rng.uniform(0.1, 1, 500)}
    x, _ = loss.rows.arrays({**rows, "ill": rng.integers(0, 2, 500)})
    parts = loss.parts
    assert sorted(map(len, parts)) == sorted(sizes)
    assert sorted(j for part in parts for j in part) == list(range(len(loss.parameters)))
    assert np.all(sum(np.any(x[:, part] != 0, axis=1).astype(int) for part in map(list, parts)) <= 1)
    for part in map(list, parts):
        joined = (x[:, part] != 0).astype(int)
        assert np.all(np.linalg.matrix_power(joined.T @ joined > 0, len(part)))


@pytest.mark.parametrize("kind", ["log-likelihood", "beta-divergence"])
def test_each_part_follows_its_own_density(kind):
    """Seed 32: 6,000 draws of three levels and a slope in one of them: means of each coefficient in 12 cells against
    sums over a grid of its own rows; false alarm 1e-6. The planted fault, rows counted for the next level, is rejected.
    """
    draws, weight = 6000, 0.8
    said = {"sampler": "rejection", "draws": draws, "prior": {"sd": 2.0}}
    numbers = {"weight": weight, "precision": 0.25}
    if kind == "beta-divergence":
        said, numbers = {**said, "loss": kind}, {"weight": weight, "beta": 2.0}
    loss = loss_for(tacit.LogisticRegression("ill ~ 0 + g"), SCHEMA, tacit.PosteriorSample(**said))
    level = np.repeat([0, 1, 2, 3], [9, 6, 1, 0])
    x = (level[:, None] == np.arange(4)).astype(float)
    y = np.where(np.arange(16) % 5 < 1, -1.0, 1.0)
    found = np.array(loss.draw(numbers, SimpleNamespace(arrays=lambda: (x, y)), 16, Seeded(32)))
    assert found.shape == (draws, 4)
    axis = np.linspace(-14, 14, 4001)

    def mass(own):
        losses = -log_expit(np.outer(axis, own))
        if kind == "beta-divergence":
            p, q = np.exp(-losses), np.exp(log_expit(-np.outer(axis, own)))
            losses = -p + (p**2 + q**2) / 2
        logs = -weight * losses.sum(axis=1) - axis**2 / 8
        return np.exp(logs - logs.max())

    def statistic(j, own):
        share = mass(own) / mass(own).sum()
        edges = np.interp(np.linspace(0, 1, 13)[1:-1], np.cumsum(share) - share / 2, axis)
        counts = np.bincount(np.searchsorted(edges, found[:, j]), minlength=12)
        return float(((counts - draws / 12) ** 2).sum() / (draws / 12))

    limit = 2 * float(gammaincinv(11 / 2, 1 - 1e-6 / 4))
    assert max(statistic(j, y[level == j]) for j in range(4)) < limit
    assert statistic(0, y[level == 1]) > limit
    assert np.max(np.abs(np.corrcoef(found.T) - np.eye(4))) < 5 / math.sqrt(draws)


def test_softmax_has_parts_of_all_levels_of_the_response():
    loss = loss_for(tacit.SoftmaxRegression("kind ~ 0 + h"), SCHEMA, tacit.PosteriorSample(draws=2))
    assert loss.parts == ((0, 2, 4), (1, 3, 5))
    assert [loss.columns_of(part) for part in loss.parts] == [[0], [1]]
    assert [loss.parameters[j] for j in loss.parts[1]] == ["x: h[v]", "y: h[v]", "z: h[v]"]
    rng = np.random.default_rng(33)
    x, y = np.eye(2)[rng.integers(0, 2, 40)], rng.integers(0, 3, 40).astype(float)
    found = loss.draw({"weight": 0.5, "precision": 0.2}, SimpleNamespace(arrays=lambda: (x, y)), 40, Seeded(33))
    assert np.shape(found) == (2, 6)
    assert np.all(np.isfinite(found))


def test_many_levels_are_proved_and_the_plan_says_how():
    """30 coefficients, each a part; with an intercept they are one. A plan that says it means a chain keeps it."""
    schema = tacit.Schema(ill=["no", "yes"], g=[f"l{i}" for i in range(30)])

    def plan(formula="ill ~ 0 + g", budget=None, **said):
        budget = budget or tacit.ApproxDP(1.0, 1e-5)
        return tacit.Plan(tacit.LogisticRegression(formula), schema, budget, tacit.PosteriorSample(**said))

    by_parts = plan()
    assert by_parts.calibrated_mechanism().noise_parameters.sampler == "rejection"
    assert "the 30 parts that no row shares are drawn apart" in " ".join(explain(by_parts))
    pure = plan(budget=tacit.PureDP(1.0), **BETA)
    assert pure.promise.basis.value == "proved"
    assert "the 30 parts that no row shares are drawn apart" in " ".join(explain(pure))
    assert tacit.simulate(pure, n=60, seed=1).release.noise_parameters.sampler == "rejection"
    with pytest.raises(tacit.InputError, match="assume"):
        plan("ill ~ g")
    with pytest.raises(tacit.InputError, match="sampler"):
        plan("ill ~ g", tacit.PureDP(1.0), **BETA)
    chain = plan(assume="converged", gamma=1e-7)
    assert chain.calibrated_mechanism().noise_parameters.sampler == "mcmc"
    ball = {"loss": "bounded-log-likelihood", "options": {"bound": 0.5}}
    assert plan(budget=tacit.PureDP(1.0), **ball).calibrated_mechanism().loss.parts == (tuple(range(30)),)


@pytest.mark.parametrize("other", ["no,b", "no,"], ids=["into another part", "a missing cell"])
@pytest.mark.parametrize("counted", [2, 1])
def test_a_row_that_moves_between_parts_tells_no_more_than_is_charged(counted, other, tmp_path, monkeypatch):
    """Two CSV files of three rows, fresh entropy: 10,000 draws each of four parts, at a range of 1 a draw. One row
    leaves the part of level a, where nobody is left, and enters one where nobody was; or its level is missing, which
    counts as the first level, a, so that its answer alone changes.

    The log ratio of the draws with both coefficients above 0 and that of those with both below lie in an interval of
    length 1. Five standard errors are allowed: a false alarm has a probability below 1e-6. The planted fault, a price
    that counts one of the two parts, is within its own promise and is caught.
    """
    count = 10_000
    if counted == 1:
        as_it_is = beta_divergence.weight_for
        monkeypatch.setattr(beta_divergence, "weight_for", lambda *said: 2 * as_it_is(*said))
        monkeypatch.setattr(
            beta_divergence.BetaLoss, "difference_range", lambda self, n: self.density.loss_range.at(n["beta"])
        )
    plan = tacit.Plan(
        tacit.LogisticRegression("ill ~ 0 + g"),
        SCHEMA,
        tacit.PureDP(count),
        tacit.PosteriorSample(**BETA, draws=count, prior={"sd": 9.0}),
    )
    assert 0.999 * count < plan.event().epsilon() <= count
    logs, errors = [], 0.0
    for name, row in (("one", "yes,a"), ("two", other)):
        file = tmp_path / f"{name}.csv"
        file.write_text(f"ill,g\n{row}\nyes,c\nno,c\n")
        release = tacit.privatize(file, plan, ledger=None)
        draws = np.reshape(release.values, (count, 4))[:, [0, 1 if other == "no,b" else 0]]
        shares = [np.mean(np.all(draws > 0, axis=1)), np.mean(np.all(draws < 0, axis=1))]
        logs.append(math.log(shares[0] / shares[1]))
        errors += sum((1 - s) / (s * count) for s in shares)
    assert (logs[0] - logs[1] <= 1 + 5 * math.sqrt(errors)) is (counted == 2)
    assert logs[0] - logs[1] > 0.5
