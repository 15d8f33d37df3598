"""Inference where the number of rows is not public: people with several rows, the limit of a known n, calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.calibration.simulate import SeededEntropy
from tacit.calibration.study import study
from tacit.infer import method_name, posterior_arrays, problem_of
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.models import likelihood_model
from tacit.models.registry import FAMILIES, SCORED
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.posterior.score_sites import score_sites
from tacit.runtime.backend import float64
from tacit.runtime.chain import SamplerSettings

YES_NO = tacit.Schema(x=["no", "yes"])
NUMBERS = tacit.Schema(y=(-10, 10), a=(-1, 1), b=(-1, 1))
LEVELS = tacit.Schema(y=(-10, 10), a=(-1, 1), g=["p", "q"], x=["no", "yes"])
ONE_ROUND = tacit.Newton(rounds=1, matrix=(0.5,))
COUNTS = tacit.Schema(c=(0, 12), a=(-1, 1), g=[f"g{i}" for i in range(5)], y=(-10, 10))
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
    "logistic from sums": (
        tacit.LogisticRegression("x ~ a"),
        LEVELS,
        {"mean_sd": 0.15, "scale": 0.15, "theta_sd": 1.0},
    ),
    "poisson regression": (
        tacit.PoissonRegression("c ~ a", link="log"),
        COUNTS,
        {"mean_sd": 0.15, "scale": 0.15, "theta_sd": 0.7},
    ),
    "quantiles": (tacit.Quantiles("v", [0.5], [1, 2]), tacit.Schema(v=(0, 3)), None),
    "normal mean": (tacit.NormalMean("v", sd=4.0), tacit.Schema(v=(0, 30)), None),
    "survival curve": (tacit.SurvivalCurve("m", "x", (6, 12)), tacit.Schema(m=(0, 24), x=["no", "yes"]), None),
    "varying": (tacit.VaryingRegression("y ~ (1 | g)"), COUNTS, {"level": 0.2, "spread": 0.12, "sigma": 0.15}),
    "varying shares": (
        tacit.VaryingLogisticRegression("x ~ (1 | g)"),
        tacit.Schema(x=["no", "yes"], g=[f"g{i}" for i in range(5)]),
        None,
    ),
    "shares, learned": (tacit.Shares("x", by="g"), tacit.Schema(x=["no", "yes"], g=["p", "q", "r"]), None),
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


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_intervals_hold_the_share_of_all_rows_in_200_tables(neighbours):
    """Seed 5, repeatable noise: 442,000 people each, 0.2015 of whose rows say yes, which 93% of intervals must hold.

    As nobody has more rows than count, the sums are those of the rows. Planted: the share among stand-ins and rows,
    for which people with fewer than three rows are filled up, which no interval holds.
    """
    rng, people = np.random.default_rng(5), 442_000
    unit = tacit.Person("who", 3, "row")
    budget = tacit.PureDP(1.0, neighbours=neighbours)
    plan = tacit.Plan(tacit.Bernoulli("x"), YES_NO, budget, tacit.AddNoise(unit=unit))
    calibrated, values = plan.calibrated_mechanism(), []
    for table in range(200):
        rows = int(people + rng.binomial(people, 0.115) + rng.binomial(people, 0.015))
        yes = int(rng.binomial(rows, 0.2015))
        sums = calibrated.accumulator()
        sums.merge([(rows - yes) * calibrated.unit, yes * calibrated.unit])
        values.append(calibrated.cross(sums, rows, SeededEntropy(table)))
    found, _ = posterior_arrays(
        problem_of(plan, None, people), "gibbs", SamplerSettings(100, 1000), values, chains=1, seed=1
    )
    low, high = np.quantile(found["theta"][:, 0], [0.025, 0.975], axis=1)
    assert np.mean((low < 0.2015) & (high > 0.2015)) >= 0.93
    filled = 0.2015 * 1.13 / 3
    assert not ((low < filled) & (high > filled)).any()


def test_no_program_is_compiled_on_account_of_how_many_rows_there_are():
    """Compiled programs are kept in files. Planted: one for just as many rows as there are, and none for no rows."""
    schema = tacit.Schema(y=(-3, 3), a=(0, 5))
    plan = tacit.Plan(tacit.StudentRegression("y ~ a"), schema, tacit.ZCDP(0.5, neighbours="add-remove"))
    calibrated = plan.calibrated_mechanism()
    program = likelihood_model._program(plan.model, schema)
    assert program._cache_size() == 0
    calibrated.check_here()
    assert program._cache_size() == 1
    for n in (0, 1, 5000):
        tacit.privatize({"y": [1.0] * n, "a": [2.0] * n}, replace(plan, mechanism=ONE_ROUND), ledger=None)
    assert program._cache_size() == 1
    with float64():
        given = plan.model.inputs({"y": np.ones(3), "a": np.ones(3)}, schema)
        program(given, np.zeros(len(calibrated.sums.coordinates)))
    assert program._cache_size() == 2


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


COUNTED = (
    "mean",
    "normal",
    "normal mean",
    "exponential",
    "poisson",
    "geometric",
    "linear",
    "linear with levels",
    "logistic",
    "logistic from sums",
    "poisson regression",
)


def test_every_family_is_among_the_cases():
    """Those with a count of its own are among the ones of which that alone is made exact."""
    able = {
        name
        for name, model in FAMILIES.items()
        if any(one.unknown_n for one in model.examples()[0].model.methods.values())
    }
    assert {model.family for model, *_ in CASES.values()} == able
    assert set(FAMILIES) == able
    counted = {name for name in CASES if plan_of(name, BUDGET).statistic().entries[-1] == "rows"}
    assert counted == set(COUNTED)


BUDGET = tacit.PureDP(1.0, neighbours="add-remove")
ROUNDS = {**{name: FAMILIES[name] for name in ("logistic", "poisson-regression")}, **SCORED}


@pytest.mark.parametrize("name", ROUNDS)
def test_scores_in_rounds_take_the_released_count_for_n(name):
    """With no noise on it they are given what a public n gives them; the count is no part of the sums. Seed 3.

    Planted: another count, with which n is another.
    """
    example = ROUNDS[name].examples()[0]
    plan = tacit.Plan(example.model, example.schema, tacit.ZCDP(0.5, neighbours="add-remove"), ONE_ROUND)
    calibrated = plan.calibrated_mechanism()
    (place,), entries = calibrated.row_entries, len(calibrated.entries)

    def site(rows):
        values = [0] * entries
        values[place] = rows * calibrated.unit
        ((_, (found,), n),) = score_sites([tacit.Release(plan, None, tuple(values), "rows", "a1")])
        return len(found), n

    assert site(500) == (entries - 1, 500.0)
    assert site(700)[1] == 700.0


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
    """Seed 7, about 300 rows, level 1e-3 for each family."""
    plan = plan_of(name, tacit.PureDP(1.0, neighbours="add-remove"))
    found = tacit.calibrate(plan, n=300, trials=200, seed=7, prior=CASES[name][2])
    assert "n" in found.ranks
    assert found.calibrated(1e-3), found.least_p()


def test_a_posterior_that_takes_the_noisy_number_for_n_is_found():
    """Planted, seed 7: without its own noise n is far off, and the ranks show it. As `tacit calibrate` does it."""
    plan = plan_of("bernoulli", tacit.PureDP(0.1, neighbours="add-remove"))
    found = study(plan, n=100, trials=200, seed=7).found
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
