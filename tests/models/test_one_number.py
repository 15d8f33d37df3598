"""Families of one numeric column, from rows and from devices to one posterior: Normal, Exponential, Poisson, Geometric.

Laws that hold for every family are in tests/laws; here is what these four share: clamping inside the model, groups with
different budgets, pooling of releases and reports, and refusals.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import kstest

import tacit
from tacit.infer import posterior_arrays
from tacit.models.model import Problem, Site, Survey
from tacit.runtime.chain import SamplerSettings

SCHEMA = tacit.Schema(height=(140, 210), wait=(0, 30), visits=(0, 12), attempts=(0, 15), smoker=["no", "yes"])
FAMILIES = {
    "normal": (tacit.Normal("height"), {"mean": 172.0, "sd": 9.0}),
    "exponential": (tacit.Exponential("wait"), {"rate": 0.1}),
    "poisson": (tacit.Poisson("visits"), {"rate": 3.5}),
    "geometric": (tacit.Geometric("attempts"), {"p": 0.2}),
}
ONE_FAST = [pytest.param(name, marks=() if name == "exponential" else pytest.mark.slow) for name in FAMILIES]


def plan_of(name, budget, mechanism=None):
    model = FAMILIES[name][0]
    return tacit.Plan(model, SCHEMA, budget) if mechanism is None else tacit.Plan(model, SCHEMA, budget, mechanism)


def local_plan(name, epsilon):
    return plan_of(name, tacit.PureDP(epsilon), tacit.Local())


# ---------------------------------------------------------------------------------------------------------------------
# From rows and devices to a posterior


@pytest.mark.parametrize("name", ONE_FAST)
def test_a_release_of_real_rows_finds_the_parameters(name, tmp_path):
    """Fresh entropy for the noise, seed 1 for the rows. Alarm at 6 posterior standard deviations (below 1e-8)."""
    model, truth = FAMILIES[name]
    rows = model.draw_rows(truth, SCHEMA, 5000, np.random.default_rng(1))
    cells = {column: [*values.tolist(), "unreadable"] for column, values in rows.items()}
    release = tacit.privatize(cells, plan_of(name, tacit.PureDP(1.0)), ledger=None)
    posterior = tacit.infer(release.save(tmp_path / "release.json"), draws=500)
    for parameter, value in truth.items():
        draws = posterior.draws(parameter)
        assert abs(draws.mean() - value) < 6 * draws.std()
        assert draws.std() < 0.1 * value


@pytest.mark.parametrize("name", ONE_FAST)
def test_reports_of_devices_find_the_parameters(name, tmp_path):
    """Fresh entropy on the device, seed 2 for the survey. Alarm at 6 posterior standard deviations (below 1e-8)."""
    model, truth = FAMILIES[name]
    plan = local_plan(name, 2.0)
    record = {model.column: "3"}
    (report,) = tacit.randomize(record, plan)
    assert isinstance(report, int)
    reports = tacit.simulate(plan, n=5000, seed=2, parameters=truth).release
    posterior = tacit.infer(reports.save(tmp_path / "reports.parquet"), draws=500)
    for parameter, value in truth.items():
        draws = posterior.draws(parameter)
        assert abs(draws.mean() - value) < 6 * draws.std()
        assert draws.std() < 0.2 * value


def test_clamping_is_part_of_the_model():
    """Seeds 3 and 4: waits with a mean of 40 in bounds up to 30, so that 47% are clamped, from sums and from reports.

    Alarm at 6 posterior standard deviations (below 1e-8). The planted fault is the plain estimate of the rate, one over
    the mean of the clamped waits, which must be off by as much.
    """
    truth = {"rate": 1 / 40}
    wrong = truth["rate"] / (1 - math.exp(-30 / 40))  # one over the mean of min(x, 30)
    for plan, seed in ((plan_of("exponential", tacit.PureDP(1.0)), 3), (local_plan("exponential", 4.0), 4)):
        draws = tacit.infer(tacit.simulate(plan, n=20_000, seed=seed, parameters=truth).release).draws("rate")
        assert abs(draws.mean() - truth["rate"]) < 6 * draws.std()
        assert abs(draws.mean() - wrong) > 6 * draws.std()


# ---------------------------------------------------------------------------------------------------------------------
# Pooling


def test_groups_with_different_budgets_and_a_release_pool(tmp_path):
    """Seeds 5, 6 and 7: the posterior of all three is narrower than that of any two, which beat any one.

    Draws are independent, 4,000 a posterior: a standard deviation is known to 1.1%. Alarm if it is not 1% smaller.
    """
    truth = {"rate": 3.5}
    careful = tacit.simulate(local_plan("poisson", 0.5), n=8000, seed=5, parameters=truth).release
    bold = tacit.simulate(local_plan("poisson", 2.0), n=500, seed=6, parameters=truth).release
    central = tacit.simulate(plan_of("poisson", tacit.PureDP(0.2)), n=400, seed=7, parameters=truth).release
    merged = tacit.Reports.merge([careful, bold], dataset="both")
    assert [group.n for group in merged.groups] == [8000, 500]
    merged.save(tmp_path / "both.parquet")

    def sd(*evidence):
        draws = tacit.infer(list(evidence), disjoint=True).draws("rate")
        assert abs(draws.mean() - 3.5) < 6 * draws.std()
        return draws.std()

    alone = [sd(one) for one in (careful, bold, central)]
    reports = sd(tmp_path / "both.parquet")
    everything = sd(central, tmp_path / "both.parquet")
    assert reports < 0.99 * min(alone[:2])
    assert everything < 0.99 * min(reports, alone[2])
    # Independent pieces add their information, about.
    assert everything == pytest.approx(sum(s**-2 for s in alone) ** -0.5, rel=0.15)


def pooled_p_values(name, *, trials, seed, fault=1.0):
    """Ranks of the truth in the posterior of two groups of reports and one release, drawn from the prior.

    ``fault``: the epsilon that inference takes the second group's reports to have, over the true one.
    """
    model = FAMILIES[name][0]
    plans = [local_plan(name, 0.5), local_plan(name, 2.0), plan_of(name, tacit.PureDP(0.3))]
    prior = model.default_prior(SCHEMA)
    problem = Problem(
        plans[2].model,
        SCHEMA,
        prior,
        (Site(50, (plans[2].noise(),)),),
        (Survey(100, plans[0].local_randomizer()), Survey(60, local_plan(name, 2.0 * fault).local_randomizer())),
    )
    truths, values = [], []
    for trial in range(trials):
        own = seed * 10_000 + trial
        truths.append(model.draw_parameters(prior, SCHEMA, np.random.default_rng(own)))
        parts = [
            tacit.simulate(plan, n=n, seed=own + 5000 * (i + 1), parameters=truths[-1])
            for i, (plan, n) in enumerate(zip(plans, (100, 60, 50), strict=True))
        ]
        summaries = [
            model.summary(survey.local_randomizer, part.release.groups[0].values)
            for survey, part in zip(problem.surveys, parts, strict=False)
        ]
        values.append(np.concatenate([parts[2].numbers(), *summaries]))
    thin = model.methods["likelihood"].thin
    arrays, _ = posterior_arrays(problem, "likelihood", SamplerSettings(300, 99 * thin), values, chains=1, seed=seed)
    rng = np.random.default_rng(seed)
    found = []
    for parameter in truths[0]:
        ranks = (arrays[parameter][:, 0, ::thin] < np.array([t[parameter] for t in truths])[:, None]).sum(axis=1)
        found.append(kstest((ranks + rng.random(trials)) / 100, "uniform").pvalue)
    return np.array(found)


@pytest.mark.parametrize("name", [pytest.param("normal", marks=pytest.mark.slow), "geometric"])
def test_the_pooled_posterior_is_calibrated(name):
    """Seed 8: 200 trials, level 1e-3 over all numbers. Planted: one group's noise taken for a quarter of what it is."""
    assert pooled_p_values(name, trials=200, seed=8).min() * len(FAMILIES[name][1]) > 1e-3
    if name == "geometric":
        assert pooled_p_values(name, trials=200, seed=8, fault=4.0).min() < 1e-3


@pytest.mark.slow
def test_releases_of_the_same_rows_share_their_sums(tmp_path):
    """Seed 9: one data set released twice, with Laplace and with Gaussian noise, and then pooled with another one.

    The noise of either is as large as all else, so that both together are narrower than one, and much less so than if
    they were about different rows, which is the planted fault.
    """
    rows = FAMILIES["poisson"][0].draw_rows({"rate": 3.5}, SCHEMA, 400, np.random.default_rng(9))
    budgets = (tacit.PureDP(0.5), tacit.ZCDP(0.25))
    first, second = (
        tacit.privatize(rows, plan_of("poisson", budget), ledger=None, dataset="clinic") for budget in budgets
    )
    alone = [tacit.infer(one).draws("rate").std() for one in (first, second)]
    both = tacit.infer([first, second], same_rows=True)
    sd = both.draws("rate").std()
    assert sd < 0.97 * max(alone)
    assert sd > 1.1 * sum(s**-2 for s in alone) ** -0.5
    other = dataclasses.replace(tacit.privatize(rows, plan_of("poisson", budgets[0]), ledger=None), dataset="other")
    assert tacit.infer([first, second, other], same_rows=True, disjoint=True).draws("rate").std() < sd


# ---------------------------------------------------------------------------------------------------------------------
# Calibration


@pytest.mark.parametrize("kind", ["central", "local"])
def test_one_family_is_calibrated(kind):
    """Seed 10: 200 trials of 100 people, level 1e-3. The planted fault: a prior that is not that of the trials."""
    plan = plan_of("exponential", tacit.PureDP(1.0)) if kind == "central" else local_plan("exponential", 2.0)
    assert tacit.calibrate(plan, n=100, trials=200, seed=10).calibrated(1e-3)
    problem = Problem(plan.model, SCHEMA, tacit.GammaPrior(2.0, 60.0), *_evidence_of(plan, 100))
    simulations = [tacit.simulate(plan, n=100, seed=s) for s in range(200)]
    arrays, _ = posterior_arrays(
        problem, "likelihood", SamplerSettings(0, 99), [s.numbers() for s in simulations], chains=1, seed=1
    )
    truths = np.array([s.parameters["rate"] for s in simulations])
    ranks = (arrays["rate"][:, 0] < truths[:, None]).sum(axis=1)
    assert kstest((ranks + 0.5) / 100, "uniform").pvalue < 1e-3


def _evidence_of(plan, n):
    if isinstance(plan.mechanism, tacit.Local):
        return (), (Survey(n, plan.local_randomizer()),)
    return (Site(n, (plan.noise(),)),), ()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("kind", ["central", "local"])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_calibrated(name, kind, epsilon):
    """Seed 11: 500 trials of 100 people; level 1e-3 a case, Bonferroni over numbers. Planted faults: above."""
    plan = plan_of(name, tacit.PureDP(epsilon)) if kind == "central" else local_plan(name, epsilon)
    result = tacit.calibrate(plan, n=100, trials=500, seed=11)
    print(name, kind, epsilon, result.p_values())
    assert result.calibrated(1e-3), result.p_values()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_reports_with_gaussian_noise_are_calibrated(name):
    """Seed 12: 500 trials of 100 people with rho = 0.5; level 1e-3 a case. Planted faults: above and below."""
    plan = plan_of(name, tacit.ZCDP(0.5), tacit.Local("noisy-vector"))
    result = tacit.calibrate(plan, n=100, trials=500, seed=12)
    print(name, "gaussian", result.p_values())
    assert result.calibrated(1e-3), result.p_values()


def test_gaussian_reports_with_the_wrong_noise_are_caught():
    """Seed 13: 200 surveys of 400 people, counts up to 12 with rho = 0.5; right at level 1e-3.

    The planted fault: inference with half of the noise, which is rejected at the same level.
    """
    plan = plan_of("poisson", tacit.ZCDP(0.5), tacit.Local("noisy-vector"))
    assert tacit.calibrate(plan, n=400, trials=200, seed=13).calibrated(1e-3)
    wrong = plan_of("poisson", tacit.ZCDP(2.0), tacit.Local("noisy-vector"))
    randomizer = wrong.local_randomizer()
    simulations = [tacit.simulate(plan, n=400, seed=s) for s in range(200)]
    values = [plan.model.summary(randomizer, s.release.groups[0].values) for s in simulations]
    problem = Problem(plan.model, SCHEMA, plan.model.default_prior(SCHEMA), (), (Survey(400, randomizer),))
    arrays, _ = posterior_arrays(problem, "likelihood", SamplerSettings(0, 99), values, chains=1, seed=1)
    truths = np.array([s.parameters["rate"] for s in simulations])
    ranks = (arrays["rate"][:, 0] < truths[:, None]).sum(axis=1)
    assert kstest((ranks + 0.5) / 100, "uniform").pvalue < 1e-3


# ---------------------------------------------------------------------------------------------------------------------
# What is declared


@pytest.mark.parametrize("budget", [tacit.ApproxDP(1.0, 1e-6), tacit.ZCDP(0.5), tacit.GDP(1.0)], ids=str)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_device_meets_every_budget(name, budget):
    for protocol in (None, "noisy-vector"):
        plan = plan_of(name, budget, tacit.Local(protocol))
        assert plan.event().satisfies(budget)
        assert tacit.Plan.from_toml(plan.to_toml()) == plan
        assert len(tacit.randomize({plan.model.column: 5}, plan)) == 1


def test_default_priors_put_as_much_inside_the_bounds_as_they_say():
    """Seed 14: 200,000 prior draws of one row each; alarm at 6 standard errors (below 1e-8) of the stated share."""
    stated = {"normal": 0.87, "exponential": 8 / 9, "poisson": None, "geometric": 1 - 3.75 * 4.75 / (19.75 * 20.75)}
    rng = np.random.default_rng(14)
    for name, share in stated.items():
        model = FAMILIES[name][0]
        prior, bounds = model.default_prior(SCHEMA), SCHEMA.number(model.column)
        draws = [model.draw_parameters(prior, SCHEMA, rng) for _ in range(20_000)]
        cells = np.concatenate([model.draw_rows(one, SCHEMA, 10, rng)[model.column] for one in draws])
        inside = (cells >= bounds.low) & (cells <= bounds.high)
        error = inside.reshape(-1, 10).mean(axis=1).std() / math.sqrt(len(draws))
        if share is None:
            assert inside.mean() > 0.98 - 6 * error
        else:
            assert abs(inside.mean() - share) < 6 * error + (0.005 if name == "normal" else 0)


def test_priors_are_in_the_units_of_the_column():
    """Seed 15: with hardly any evidence a prior that was given comes back; 4,000 independent draws, alarm at 6 sd."""
    release = tacit.simulate(plan_of("exponential", tacit.PureDP(1e-4)), n=20, seed=15).release
    draws = tacit.infer(release, prior={"shape": 50.0, "rate": 1000.0}).draws("rate")
    assert abs(draws.mean() - 0.05) < 6 * 0.05 / math.sqrt(50) / math.sqrt(len(draws))
    with pytest.raises(tacit.InputError, match="one of shape, rate"):
        tacit.infer(release, prior={"scale": 1.0})


@pytest.mark.parametrize(
    ("model", "bounds", "words"),
    [
        (tacit.Exponential("x"), (1, 5), r"Expected low=1.0 of column 'x' to be 0 for an exponential model\."),
        (tacit.Poisson("x"), (1, 5), "to be 0 and a whole number from 1 to 10000 for a poisson model"),
        (tacit.Poisson("x"), (0, 2.5), "to be 0 and a whole number"),
        (tacit.Geometric("x"), (0, 20_000), "whole number from 1 to 10000 for a geometric model"),
        (tacit.Normal("x"), ["a", "b"], "to be declared with bounds, not levels"),
        (tacit.Normal("y"), (0, 1), "to be declared in the schema"),
    ],
    ids=str,
)
def test_columns_that_do_not_fit_are_refused(model, bounds, words):
    for mechanism in (tacit.AddNoise(), tacit.Local()):
        with pytest.raises(tacit.InputError, match=words):
            tacit.Plan(model, tacit.Schema(x=bounds), tacit.PureDP(1.0), mechanism)


def test_a_gamma_prior_of_the_spread_is_in_units_of_the_column():
    """Seed 3, 4,000 draws of sd against Gamma(2, 0.1), Kolmogorov-Smirnov: false alarms 1e-4. In mapped units, where
    samplers work, it is the same distribution; a rate that was not mapped, the planted fault, is another.
    """
    model = tacit.Normal("height")
    prior = model.default_prior(SCHEMA).replaced({"sd_shape": 2.0, "sd_rate": 0.1})
    rng = np.random.default_rng(3)
    drawn = np.array([model.draw_parameters(prior, SCHEMA, rng)["sd"] for _ in range(4000)])
    assert kstest(drawn, stats.gamma(2, scale=10).cdf).pvalue > 1e-4
    bounds = SCHEMA.number("height")
    half = (bounds.high - bounds.low) / 2
    mapped = model.distribution(prior, SCHEMA).gamma
    assert kstest(drawn / half, stats.gamma(mapped.shape, scale=1 / mapped.rate).cdf).pvalue > 1e-4
    assert kstest(drawn / half, stats.gamma(2, scale=10).cdf).pvalue < 1e-9


@pytest.mark.parametrize(
    ("name", "prior", "words"),
    [
        ("normal", {"mean_sd": 0}, "prior mean_sd=0 to be a positive number"),
        ("normal", {"mean": math.nan}, "prior mean=nan to be a finite number"),
        ("normal", {"mean": 1e300}, "within a million widths"),
        ("normal", {"sd_median": 1e-9}, "prior sd_median=1e-09 to be a number from 0.00035"),
        ("normal", {"sd_spread": 9}, "from 0.01 to 5"),
        ("normal", {"sd_shape": 2}, "prior sd_rate=None to be a positive number"),
        ("normal", {"sd_shape": 2, "sd_rate": 1e-12}, "prior sd_shape / sd_rate=2000000000000.0 to be a number from"),
        ("exponential", {"rate": 1e-300}, "prior rate=1e-300 to be a number from"),
        ("poisson", {"shape": 0.001}, "from 0.01 to 1e6"),
        ("geometric", {"a": -1}, "prior a=-1"),
    ],
)
def test_priors_that_make_no_sense_are_refused(name, prior, words):
    release = tacit.simulate(plan_of(name, tacit.PureDP(1.0)), n=10, seed=1).release
    with pytest.raises(tacit.InputError, match=words):
        tacit.infer(release, prior=prior)


def test_protocols_that_do_not_fit_are_refused():
    with pytest.raises(tacit.InputError, match="never pure"):
        plan_of("normal", tacit.PureDP(1.0), tacit.Local("noisy-vector"))
    with pytest.raises(tacit.InputError, match="noisy-number, noisy-vector"):
        plan_of("normal", tacit.PureDP(1.0), tacit.Local("randomized-response"))
    many = tacit.Schema(visits=(0, 5000))
    with pytest.raises(tacit.InputError, match="to be noisy-number for counts that may exceed 1000"):
        tacit.Plan(tacit.Poisson("visits"), many, tacit.ZCDP(1.0), tacit.Local("noisy-vector"))
    reports = tacit.simulate(local_plan("poisson", 1.0), n=50, seed=1).release
    with pytest.raises(tacit.InputError, match="likelihood"):
        tacit.infer(reports, method="naive")
    release = tacit.simulate(plan_of("normal", tacit.PureDP(1.0)), n=50, seed=1).release
    with pytest.raises(tacit.InputError, match="to have the model and the schema"):
        tacit.infer([release, reports], disjoint=True)
