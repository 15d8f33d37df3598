"""Inference where the number of rows is not public: people with several rows, the limit of a known n, calibration."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.infer import method_name
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.models.registry import FAMILIES
from tacit.noise.discrete_laplace import DiscreteLaplace

YES_NO = tacit.Schema(x=["no", "yes"])
NUMBERS = tacit.Schema(y=(-10, 10), a=(-1, 1), b=(-1, 1))
LEVELS = tacit.Schema(y=(-10, 10), a=(-1, 1), g=["p", "q"], x=["no", "yes"])
NARROW = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "nu0": 30.0, "kappa0": 20.0, "lambda0": (20.0, 5.0, 5.0)}

CASES = {
    "bernoulli": (tacit.Bernoulli("x"), YES_NO, None),
    "categorical": (tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c", "d"]), None),
    "histogram": (tacit.Histogram("v", [1, 2]), tacit.Schema(v=(0, 3)), None),
    "shares": (tacit.Shares("x", by="g"), tacit.Schema(x=["no", "yes"], g=["p", "q", "r"]), {"concentration": 1.0}),
    "mean": (tacit.Mean("v"), tacit.Schema(v=(0, 30)), None),
    "mean by group": (tacit.Mean("v", by="g"), tacit.Schema(v=(0, 30), g=["p", "q"]), None),
    "normal": (tacit.Normal("v"), tacit.Schema(v=(0, 30)), None),
    "exponential": (tacit.Exponential("v"), tacit.Schema(v=(0, 30)), None),
    "poisson": (tacit.Poisson("v"), tacit.Schema(v=(0, 30)), None),
    "geometric": (tacit.Geometric("v"), tacit.Schema(v=(0, 30)), None),
    "linear": (tacit.LinearRegression("y ~ a + b"), NUMBERS, NARROW),
    "linear with levels": (tacit.LinearRegression("y ~ g + a"), LEVELS, {"a0": 20.0, "b0": 0.5}),
    "logistic": (tacit.LogisticRegression("x ~ g"), LEVELS, None),
    "quantiles": (tacit.Quantiles("v", [0.5], [1, 2]), tacit.Schema(v=(0, 3)), None),
}
QUICK = ("bernoulli", "mean", "exponential")
SLOW = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]


def plan_of(name, budget):
    model, schema, _ = CASES[name]
    return tacit.Plan(model, schema, budget, tacit.AddNoise())


def people_with_rows(people, seed):
    """About 1.13 rows each: 88.5% have one, 10% two, 1.5% three; about 0.2 of all rows say yes."""
    rng = np.random.default_rng(seed)
    rows = rng.choice([1, 2, 3], p=[0.885, 0.1, 0.015], size=people)
    who = np.repeat(np.arange(people), rows)
    return {"who": who, "x": np.where(rng.random(len(who)) < 0.2015, "yes", "no")}


def test_people_with_several_rows_are_about_rows_that_exist():
    """Seed 1, fresh noise: 40 releases of one table; a 95% interval that holds misses more than 7 with p < 2e-3.

    Planted: rows of stand-ins, which every interval leaves far behind, and which `infer` refuses for that.
    """
    data = people_with_rows(20_000, seed=1)
    truth = float(np.mean(data["x"] == "yes"))
    for neighbours in ("replace-one", "add-remove"):
        unit = tacit.Person("who", 3, "row")
        budget = tacit.PureDP(1.0, neighbours=neighbours)
        plan = tacit.Plan(tacit.Bernoulli("x"), YES_NO, budget, tacit.AddNoise(unit=unit))
        held = 0
        for seed in range(20):
            release = tacit.privatize(data, plan, ledger=None)
            assert release.n is None
            assert "n" not in release.to_plain()
            low, high = tacit.infer(release, seed=seed, chains=1, draws=1000, warmup=100).interval("theta")
            held += low < truth < high
        assert held >= 16
    filled = tacit.Plan(tacit.Bernoulli("x"), YES_NO, tacit.PureDP(1.0), tacit.AddNoise(unit=tacit.Person("who", 3)))
    with pytest.raises(tacit.InputError, match='"row", for results about rows, or "person"'):
        tacit.privatize(data, filled, ledger=None)


def test_everyone_counts_once():
    """Of p's three rows one says yes, of q's two both, r has one that says no: 1/3 + 1 + 0 of 3 people, no noise."""
    data = {"who": list("pppqqr"), "x": ["yes", "no", "no", "yes", "yes", "no"]}
    unit = tacit.Person("who", 3, "person")
    plan = tacit.Plan(tacit.Bernoulli("x"), YES_NO, tacit.PureDP(1e9), tacit.AddNoise(unit=unit))
    release = tacit.privatize(data, plan, ledger=None)
    assert release.n == 3
    assert release.values[0] / release.unit == pytest.approx(4 / 3, abs=1e-6)
    assert plan.noise().scales[0] < 1.01 * plan_of("bernoulli", tacit.PureDP(1e9)).noise().scales[0] + 2


@pytest.mark.parametrize("name", SLOW)
def test_without_noise_n_is_found_and_the_posterior_is_that_of_a_known_n(name):
    """Seed 3, at epsilon = 1e6: means differ by less than a fifth of a standard deviation.

    What is about the rows themselves is left out: only the noise makes it uncertain, and that differs.
    """
    found = []
    for neighbours in ("replace-one", "add-remove"):
        plan = plan_of(name, tacit.PureDP(1e6, neighbours=neighbours))
        release = tacit.simulate(plan, n=400, seed=3, prior=CASES[name][2]).release
        found.append(tacit.infer(release, seed=1, draws=500, warmup=300, prior=CASES[name][2]))
    same_posterior(*found, n=400)


COUNTED = ("mean", "normal", "exponential", "poisson", "linear", "linear with levels", "logistic")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == "mean" else pytest.mark.slow) for n in COUNTED])
def test_where_the_count_alone_has_no_noise_the_posterior_is_that_of_a_known_n(name):
    """Seed 3: the sums keep noise of 3 rows, the same numbers in both releases, and the count has next to none.

    Planted: with noise on the count, too, the same comparison fails for some number.
    """
    prior = CASES[name][2]
    plans = {n: plan_of(name, tacit.PureDP(1e7, neighbours=n)) for n in ("replace-one", "add-remove")}
    known = plans["replace-one"].statistic()
    rows = tacit.simulate(plans["replace-one"], n=400, seed=3, prior=prior)
    scale = 3 * known.unit
    noise = np.random.default_rng(3).laplace(size=len(known.entries)) * scale
    values = [exact + round(error) for exact, error in zip(rows.exact, noise, strict=True)]

    def posterior(plan, n, values, scales):
        release = tacit.Release(plan, n, tuple(values), "rows", "a1", noise_parameters=DiscreteLaplace(tuple(scales)))
        return tacit.infer(release, seed=1, draws=1000, warmup=300, prior=prior, anyway=True)

    scales = [scale] * len(values)
    first = posterior(plans["replace-one"], 400, values, scales)
    second = posterior(plans["add-remove"], None, [*values, 400 * known.unit], [*scales, known.unit // 1000])
    same_posterior(first, second, n=400)
    if name == "mean":
        noisy = posterior(plans["add-remove"], None, [*values, 400 * known.unit], [*scales, 40 * known.unit])
        with pytest.raises(AssertionError):
            same_posterior(first, noisy, n=400)


def same_posterior(known, latent, *, n):
    """Means within 0.2 standard deviations (each has an error of a few hundredths), widths within 25%."""
    known, latent = ({row.name: row for row in one.summary()} for one in (known, latent))
    assert latent["n"].mean == pytest.approx(n, abs=0.5)
    for row in known.values():
        if row.sd > 1e-6 and not row.name.startswith(("rows_", "count")):
            assert abs(latent[row.name].mean - row.mean) < 0.2 * row.sd, row.name
            assert 0.8 < latent[row.name].sd / row.sd < 1.25, row.name


@pytest.mark.parametrize("name", SLOW)
def test_calibrated_where_n_is_drawn_from_a_poisson_distribution(name):
    """Seed 7, about 300 rows, level 1e-3 for each family.

    Shares by group have a concentration here: where it is learned it may be so small that both shares of a group are 0
    in floats, and a rank among those says nothing.
    """
    plan = plan_of(name, tacit.PureDP(1.0, neighbours="add-remove"))
    found = tacit.calibrate(plan, n=300, trials=200, seed=7, prior=CASES[name][2])
    assert "n" in found.ranks
    assert found.calibrated(1e-3), found.least_p()


def test_a_posterior_that_takes_the_noisy_number_for_n_is_found():
    """Planted, seed 7: without its own noise n is far off, and the ranks show it."""
    plan = plan_of("bernoulli", tacit.PureDP(0.1, neighbours="add-remove"))
    found = tacit.calibrate(plan, n=100, trials=200, seed=7)
    assert found.calibrated(1e-3)
    below = np.mean(found.released.sum(axis=1) < found.truths["n"])
    assert 0.3 < below < 0.7
    low, high = found.intervals[0.95]["n"]
    width = high - low
    assert np.median(width) > 20  # a point has none


def test_methods_that_must_know_n_are_refused():
    for model in FAMILIES.values():
        example = model.examples()[0]
        for method, found in example.model.methods.items():
            if found.unknown_n:
                assert method_name(example.model, example.schema, method, unknown_n=True) == method
            else:
                with pytest.raises(tacit.InputError, match=r"^Expected method=.*\.$"):
                    method_name(example.model, example.schema, method, unknown_n=True)


def test_an_audit_finds_a_leak_of_n(monkeypatch):
    """Planted: the release says n. Without it the same audit finds nothing."""
    plan = plan_of("bernoulli", tacit.PureDP(1.0, neighbours="add-remove"))
    assert not tacit.audit(plan, runs=0).violated
    monkeypatch.setattr(UnitOfPrivacy, "n_is_public", True)
    leaking = tacit.Plan(plan.model, plan.schema, plan.budget, plan.mechanism)
    (check,) = [one for one in tacit.audit(leaking, runs=0).checks if one.violated]
    assert check.name == "public part"
    assert "n" in check.words.split(": ")[1]


def test_one_person_moves_means_by_no_more_than_one_row_and_rounding():
    """Brute force over pairs of people with up to 3 rows of 3 levels, under both relations; planted: a tenth less."""
    model, schema = tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"])
    statistic = model.statistic(schema)
    lists = [()] + [(i, j, k)[: 1 + n] for n in range(3) for i in range(3) for j in range(3) for k in range(3)]
    means = [
        np.array([row.count(level) * statistic.unit // max(len(row), 1) for level in range(3)], dtype=object)
        for row in lists
    ]
    unit = tacit.Person("who", 3, "person")
    for neighbours, pairs in (
        ("replace-one", [(a, b) for a in means[1:] for b in means[1:]]),
        ("add-remove", [(a, means[0]) for a in means]),
    ):
        claim = UnitOfPrivacy(neighbours, unit).moves(statistic)
        worst = max(sum(abs(int(v)) for v in a - b) for a, b in pairs)
        assert 0.9 * float(claim.l1) < worst <= claim.l1
