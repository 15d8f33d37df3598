"""The exact methods of logistic and Poisson regression against enumeration, against each other, and calibrated."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.special import gammaln
from scipy.stats import kstest

import tacit
from tacit.infer import posterior_arrays, problem_for, problem_of
from tacit.models.model import Site
from tacit.runtime.chain import SamplerSettings

SCHEMA = tacit.Schema(ill=["no", "yes"], sex=["f", "m"], age=(-1, 1), visits=(0, 8))
LEVELS = tacit.LogisticRegression("ill ~ sex")
# Noise of about 4 rows, of 20: neither the release nor the prior says all.
LAPLACE, NORMAL = tacit.PureDP(1.5), tacit.ZCDP(0.3)


# Enumeration shares nothing with the samplers: every table of counts of (sex, ill), theta on a grid, pi in closed form.
GRID = np.linspace(-11, 11, 89)


@lru_cache
def _tables(n):
    """All (no and f, yes and f, no and m, yes and m) with sum n, and the log of n! B(N_f + 1, N_m + 1) / prod N!."""
    found = np.array([c for c in product(range(n + 1), repeat=4) if sum(c) == n], float)
    totals = found.reshape(-1, 2, 2).sum(axis=2)
    return found, gammaln(n + 1) + gammaln(totals + 1).sum(axis=1) - gammaln(n + 2) - gammaln(found + 1).sum(axis=1)


def _site_evidence(n, noise, unit, values, louder):
    """p(z, table | theta) over the grid of theta, (tables, grid, grid); ``louder`` multiplies the scales of noise."""
    tables, log_masses = _tables(n)
    entries = np.stack(
        [
            tables[:, 2] + tables[:, 3],
            tables[:, 1] - tables[:, 0] + tables[:, 3] - tables[:, 2],
            tables[:, 3] - tables[:, 2],
        ],
        axis=1,
    )
    residuals = (np.array(values) / unit - entries) / (louder * np.array(noise.scales) / unit)
    log_noise = noise.standard_log_density(residuals, np).sum(axis=1)
    first, second = np.meshgrid(GRID, GRID, indexing="ij")
    log_p = [-np.logaddexp(0, u) for u in (first, -first, first + second, -first - second)]
    logs = (log_masses + log_noise)[:, None, None] + np.tensordot(tables, np.array(log_p), axes=(1, 0))
    return np.exp(logs - logs.max())


def _enumerated(n, noise, unit, releases, louder=1.0):
    """Posterior means of both coefficients and of their squares, and of the probability of m at the first site."""
    first, second = np.meshgrid(GRID, GRID, indexing="ij")
    weights = np.exp(-(first**2 + second**2) / 8)
    sites = [_site_evidence(n, noise, unit, values, louder) for values in releases]
    for site in sites:
        weights = weights * site.sum(axis=0)
    weights = weights / weights.sum()
    tables = _tables(n)[0]
    share = (tables[:, 2] + tables[:, 3] + 1) / (n + 2)
    probability = np.tensordot(share, sites[0], axes=1) / sites[0].sum(axis=0)
    return np.array([(weights * f).sum() for f in (first, second, first**2, second**2, probability)])


def _numbers(arrays):
    """The same five numbers of every draw, along the last axis; pi of the first site."""
    theta, pi = np.asarray(arrays["theta"]), np.asarray(arrays["pi"])
    pi = pi if pi.ndim == theta.ndim else pi[..., 0, :]
    return np.concatenate([theta, theta**2, pi[..., 1:2]], axis=-1)


def _errors(draws):
    """Monte Carlo standard errors of the means of (datasets, chains, draws, numbers)."""
    squares = [[x.var() / array_stats.ess(x, method="mean") for x in np.moveaxis(one, -1, 0)] for one in draws]
    return np.sqrt(np.array(squares))


def _apart(draws, means):
    return np.abs(draws.mean(axis=(1, 2)) - means) / _errors(draws)


ROWS, TRIALS = 20, 200
FAULT = 4  # how many times wider than it is taken to be the planted noise is


@lru_cache
def _studied(method, warmup, thin):
    """All that is learnt of ``method`` in one compiled call.

    The plan; four releases, and for each ten chains (4, 10, draws, numbers); the ranks of the truth, from 0 to 49, in
    200 trials (trials, numbers); and again in the first 100 of them with the planted fault.
    """
    plan = tacit.Plan(LEVELS, SCHEMA, LAPLACE)
    problem = problem_of(plan, None, ROWS)
    known = [tacit.simulate(plan, n=ROWS, seed=seed).release.values for seed in range(4)]
    trials = [tacit.simulate(plan, n=ROWS, seed=1_000 + trial) for trial in range(TRIALS)]
    faulty = [_louder(trial) for trial in trials[: TRIALS // 2]]
    values = [row for row in known for _ in range(10)] + [trial.release.values for trial in trials] + faulty
    arrays, _ = posterior_arrays(problem, method, SamplerSettings(warmup, 49 * thin), values, chains=1, seed=1)
    draws = _numbers(arrays)[:, 0]
    truth = np.array([[*trial.parameters["theta"], trial.parameters["pi"][1]] for trial in trials])
    truth = np.concatenate([truth, truth[: TRIALS // 2]])
    ranks = (draws[40:, ::thin][..., [0, 1, 4]] < truth[:, None]).sum(axis=1)
    return plan, known, draws[:40].reshape(4, 10, *draws.shape[1:]), ranks[:TRIALS], ranks[TRIALS:]


def _louder(simulation):
    """The released numbers with more noise."""
    return [
        exact + FAULT * (value - exact) for exact, value in zip(simulation.exact, simulation.numbers(), strict=True)
    ]


def _least_p(ranks):
    """The smallest p-value, times the number of tests. Seed 0 spreads ranks over their cells.

    Uniform are also the distances from the middle, which show best that a posterior is too narrow.
    """
    places = (ranks + np.random.default_rng(0).random(ranks.shape)) / 50
    columns = [*places.T, *np.abs(2 * places - 1).T]
    return len(columns) * min(kstest(column, "uniform").pvalue for column in columns)


# The length of the warm-up, and how far apart draws are when they are ranked.
PACES = [("exact-cells", 100, 3), pytest.param("augment", 200, 10, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("method", "warmup", "thin"), PACES)
def test_all_tables_of_counts(method, warmup, thin):
    """Seeds 0 to 3 for data, 1 for chains. 20 means within 4 Monte Carlo errors: false-alarm rate 1e-3.

    The planted fault, an enumeration with noise half as wide, must break the same rule.
    """
    plan, known, draws, *_ = _studied(method, warmup, thin)
    assert plan.statistic().entries == ("Intercept*sex[m]", "Intercept*ill", "sex[m]*ill")
    unit, noise = plan.statistic().unit, plan.noise()
    right = np.array([_enumerated(ROWS, noise, unit, [row]) for row in known])
    wrong = np.array([_enumerated(ROWS, noise, unit, [row], louder=0.5) for row in known])
    assert _apart(draws, right).max() < 4
    assert _apart(draws, wrong).max() > 4


@pytest.mark.parametrize(("method", "warmup", "thin"), PACES)
def test_ranks_of_twenty_rows_are_uniform(method, warmup, thin):
    """Seeds 1000 to 1199 for data, 1 for chains: false-alarm rate 1e-3. The planted fault must be caught at 1e-3."""
    *_, ranks, faulty = _studied(method, warmup, thin)
    assert _least_p(ranks) > 1e-3
    assert _least_p(faulty) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact-cells", "augment"])
def test_normal_noise(method):
    """Seeds 0 to 3 for data, 1 for chains; as in `test_all_tables_of_counts`: false-alarm rate 1e-3."""
    plan = tacit.Plan(LEVELS, SCHEMA, NORMAL)
    unit, noise = plan.statistic().unit, plan.noise()
    values = [tacit.simulate(plan, n=ROWS, seed=seed).release.values for seed in range(4)]
    problem = problem_of(plan, None, ROWS)
    draws = _numbers(posterior_arrays(problem, method, SamplerSettings(500, 4_000), values, chains=4, seed=1)[0])
    assert _apart(draws, np.array([_enumerated(ROWS, noise, unit, [row]) for row in values])).max() < 4
    assert _apart(draws, np.array([_enumerated(ROWS, noise, unit, [row], louder=0.5) for row in values])).max() > 4


MOST = 45  # rows that enumeration looks at; what lies beyond has probability below 1e-12


def _enumerated_rows(noise, unit, values):
    """Posterior means with n flat on 0, 1, 2, ...: of both coefficients, of n and n^2, of the probability of m."""
    tables = np.array(
        [
            (a, b, c, d)
            for a in range(MOST)
            for b in range(MOST - a)
            for c in range(MOST - a - b)
            for d in range(MOST - a - b - c)
        ],
        float,
    )
    totals, n = tables.reshape(-1, 2, 2).sum(axis=2), tables.sum(axis=1)
    masses = gammaln(n + 1) + gammaln(totals + 1).sum(axis=1) - gammaln(n + 2) - gammaln(tables + 1).sum(axis=1)
    of_f, of_m = tables[:, 1] - tables[:, 0], tables[:, 3] - tables[:, 2]
    entries = np.stack([totals[:, 1], of_f + of_m, of_m, n], axis=1)
    away = (np.array(values) / unit - entries) / (np.array(noise.scales) / unit)
    logs = masses + noise.standard_log_density(away, np).sum(axis=1)
    kept = logs > logs.max() - 14
    grid = np.linspace(-9, 9, 37)
    first, second = (one.ravel() for one in np.meshgrid(grid, grid, indexing="ij"))
    p = np.array([-np.logaddexp(0, u) for u in (first, -first, first + second, -first - second)])
    weights = np.exp(logs[kept][:, None] - logs.max() + tables[kept] @ p) * np.exp(-(first**2 + second**2) / 8)
    by_theta, by_table = weights.sum(axis=0), weights.sum(axis=1)
    n, share = n[kept], (totals[kept][:, 1] + 1) / (n[kept] + 2)
    found = [by_theta @ first, by_theta @ second, by_table @ n, by_table @ n**2, by_table @ share]
    return np.array(found) / weights.sum()


@pytest.mark.slow
def test_counts_of_cells_of_unknown_n():
    """Seeds 0 to 3 for data, 1 for chains: 20 means within 4 Monte Carlo errors of enumeration, false-alarm rate 1e-3.

    The planted fault, an enumeration with less noise on all numbers, must break the same rule.
    """
    plan = tacit.Plan(LEVELS, SCHEMA, tacit.PureDP(4.0, neighbours="add-remove"))
    unit, noise = plan.statistic().unit, plan.noise()
    values = [tacit.simulate(plan, n=12, seed=seed).release.values for seed in range(4)]
    problem = problem_of(plan, None, 12)
    arrays = posterior_arrays(problem, "exact-cells", SamplerSettings(300, 3_000), values, chains=4, seed=1)[0]
    n = np.asarray(arrays["n"])
    numbers = [*np.moveaxis(np.asarray(arrays["theta"]), -1, 0), n, n**2, np.asarray(arrays["pi"])[..., 1]]
    draws = np.stack(numbers, axis=-1)
    assert _apart(draws, np.array([_enumerated_rows(noise, unit, row) for row in values])).max() < 4
    quiet = replace(noise, scales=tuple(scale // 2 for scale in noise.scales))
    assert _apart(draws, np.array([_enumerated_rows(quiet, unit, row) for row in values])).max() > 4


@pytest.mark.slow
def test_cells_pools_sites():
    """Seeds 0 to 7 for four pairs of sites, 1 for chains. 20 means within 4 errors: false-alarm rate 1e-3.

    The planted fault, the second site's release in the place of the first, must break the same rule.
    """
    plan = tacit.Plan(LEVELS, SCHEMA, LAPLACE)
    unit, noise = plan.statistic().unit, plan.noise()
    one = problem_of(plan, None, ROWS)
    problem = replace(one, sites=(Site(ROWS, (noise,)), Site(ROWS, (noise,))))
    values = [tacit.simulate(plan, n=ROWS, seed=seed).release.values for seed in range(8)]
    pairs = list(zip(values[::2], values[1::2], strict=True))
    both = [[*first, *second] for first, second in pairs]
    draws = _numbers(posterior_arrays(problem, "exact-cells", SamplerSettings(500, 2_000), both, chains=4, seed=1)[0])
    assert _apart(draws, np.array([_enumerated(ROWS, noise, unit, pair) for pair in pairs])).max() < 4
    assert _apart(draws, np.array([_enumerated(ROWS, noise, unit, pair[::-1]) for pair in pairs])).max() > 4


NARROW = {"mean_sd": 0.15, "scale": 0.15, "theta_sd": 1.0}
COVARIATE = {
    "logistic": tacit.LogisticRegression("ill ~ age"),
    "poisson-regression": tacit.PoissonRegression("visits ~ age"),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", ["logistic"])
def test_records_agree_with_the_central_limit_theorem(family):
    """n = 200, epsilon = 2, seeds 0 to 3 for data and 1 for chains: means within 0.15 posterior sds and 4 errors.

    0.15 sds are what the theorem may be off. The false-alarm rate is 1e-3. The planted fault is the release of another
    seed.
    """
    plan = tacit.Plan(COVARIATE[family], SCHEMA, tacit.PureDP(2.0), tacit.AddNoise())
    problem = problem_of(plan, NARROW, 200)
    values = [tacit.simulate(plan, n=200, seed=seed, prior=NARROW).release.values for seed in range(4)]
    exact = posterior_arrays(problem, "augment", SamplerSettings(2_000, 20_000), values, chains=4, seed=1)[0]
    limit = posterior_arrays(problem, "gaussian-covariates", SamplerSettings(500, 2_000), values, chains=4, seed=1)[0]
    exact, limit = (np.concatenate([a["theta"], a["mu_x"], a["Sigma_x"][..., 0]], axis=-1) for a in (exact, limit))
    sds = limit.std(axis=(1, 2))
    allowed = 0.15 * sds + 4 * np.sqrt(_errors(exact) ** 2 + _errors(limit) ** 2)
    means = exact.mean(axis=(1, 2)), limit.mean(axis=(1, 2))
    assert np.all(np.abs(means[0] - means[1]) < allowed)
    assert not np.all(np.abs(means[0] - means[1][::-1]) < allowed)


@pytest.mark.slow
@pytest.mark.parametrize("family", COVARIATE)
def test_records_are_calibrated_clamped_rows_included(family):
    """n = 30, epsilon = 3, a prior with 15% of the rows clamped. Seed 2; 200 trials: false-alarm rate 1e-3.

    The planted fault, noise four times as wide as it is taken to be, must be caught at 1e-3.
    """
    plan = tacit.Plan(COVARIATE[family], SCHEMA, tacit.PureDP(3.0), tacit.AddNoise())
    problem, rng = problem_of(plan, {"mean_sd": 0.5, "scale": 0.5, "theta_sd": 1.0}, 30), np.random.default_rng(2)
    trials = [tacit.simulate(plan, n=30, seed=int(rng.integers(2**31)), prior=problem.prior) for _ in range(TRIALS)]
    values = [trial.release.values for trial in trials] + [_louder(trial) for trial in trials]
    arrays = posterior_arrays(problem, "augment", SamplerSettings(500, 49 * 40), values, chains=1, seed=1)[0]
    draws = np.concatenate([arrays["theta"], arrays["mu_x"], arrays["Sigma_x"][..., 0]], axis=-1)[:, 0, ::40]
    truth = np.array([[*t.parameters["theta"], *t.parameters["mu_x"], t.parameters["Sigma_x"][0, 0]] for t in trials])
    ranks = (draws < np.concatenate([truth, truth])[:, None]).sum(axis=1)
    assert _least_p(ranks[:TRIALS]) > 1e-3
    assert _least_p(ranks[TRIALS:]) < 1e-3


def test_levels_alone_have_cells_for_default():
    assert LEVELS.default_method(SCHEMA) == "exact-cells"
    assert COVARIATE["logistic"].default_method(SCHEMA) == "gaussian-covariates"
    assert COVARIATE["poisson-regression"].default_method(SCHEMA) == "gaussian-covariates"


def test_what_the_exact_methods_cannot_do_is_refused():
    def build(model, method, n):
        plan = tacit.Plan(model, SCHEMA, LAPLACE, tacit.AddNoise())
        return model.methods[method].build(problem_for(model, SCHEMA, None, n, plan.noise()), SamplerSettings(10, 10))

    with pytest.raises(
        tacit.InputError, match=r"^Expected formula='ill ~ age' to have levels and no numbers for the cel"
    ):
        build(COVARIATE["logistic"], "exact-cells", 100)
    for family, n in (("logistic", 2), ("logistic", 1_001), ("poisson-regression", 10**6)):
        with pytest.raises(tacit.InputError, match=f"^Expected n={n} to be from 3 to 1000 for the augment method"):
            build(COVARIATE[family], "augment", n)
    plan = tacit.Plan(COVARIATE["poisson-regression"], SCHEMA, LAPLACE, tacit.AddNoise())
    release = tacit.simulate(plan, n=10, seed=0).release
    with pytest.raises(
        tacit.InputError,
        match=r"^Expected method='exact-cells' to be one of gaussian-covariates, taylor, naive, augment",
    ):
        tacit.infer(release, method="exact-cells")
