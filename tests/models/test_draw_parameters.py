"""What a draw says to an analyst: exact distributions of the draws, posteriors by brute force, calibration, public
rows.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

import tacit
from tacit.noise.continuous import log_gamma_number, normal, shares, uniform
from tacit.noise.entropy import OSEntropy

YES_NO = tacit.Schema(x=["no", "yes"])
LEVEL = 1e-6  # the false-alarm rate of every test of a distribution below


def beta_plan(budget=None, **said):
    budget = budget or tacit.RenyiDP(order=4, epsilon=1.0)
    return tacit.Plan(
        tacit.Bernoulli("x"), YES_NO, budget, tacit.PosteriorSample(**{"prior": {"a": 3, "b": 5}, **said})
    )


def test_numbers_from_fresh_bytes_have_their_laws():
    """Fresh entropy; 4,000 numbers each, Kolmogorov-Smirnov at 1e-6. Planted fault: a shape off by 15% is caught."""
    source = OSEntropy()
    assert stats.kstest([uniform(source) for _ in range(4000)], "uniform").pvalue > LEVEL
    assert stats.kstest([normal(source) for _ in range(4000)], "norm").pvalue > LEVEL
    for shape in (0.05, 0.7, 1.0, 3.3, 400.0):
        logs = [log_gamma_number(shape, source) for _ in range(4000)]
        assert stats.kstest(logs, stats.loggamma(shape).cdf).pvalue > LEVEL
        assert stats.kstest(logs, stats.loggamma(shape * 1.15).cdf).pvalue < LEVEL
    first = [shares([2.0, 0.5, 3.0], source)[0] for _ in range(4000)]
    assert stats.kstest(first, stats.beta(2.0, 3.5).cdf).pvalue > LEVEL


DRAWN = {
    "share": (
        beta_plan(tacit.RenyiDP(order=3, epsilon=9000.0), tempering="direct", draws=3000, n=40),
        {"x": ["yes"] * 10 + ["no"] * 30},
        stats.beta(3 + 10, 5 + 30).cdf,
        stats.beta(3 + 11.5, 5 + 28.5).cdf,
    ),
    "counts": (
        tacit.Plan(
            tacit.Poisson("v"),
            tacit.Schema(v=(0, 4)),
            tacit.RenyiDP(order=1.2, epsilon=9000.0),
            tacit.PosteriorSample(tempering="direct", draws=3000, prior={"shape": 3.0, "rate": 2.0}),
        ),
        {"v": [0, 1, 2, 9] * 5},  # 9 is clamped to 4: a sum of 35
        stats.gamma(3 + 35, scale=1 / (2 + 20)).cdf,
        stats.gamma(3 + 60, scale=1 / (2 + 20)).cdf,
    ),
    "waits": (
        tacit.Plan(
            tacit.Exponential("v"),
            tacit.Schema(v=(0, 10)),
            tacit.RenyiDP(order=1.2, epsilon=90000.0),
            tacit.PosteriorSample(tempering="direct", draws=3000, n=20, prior={"shape": 3.0, "rate": 20.0}),
        ),
        {"v": [0.5, 1.5, 2.0, 40.0] * 5},  # a sum of 70 after clamping, 7 in mapped units
        stats.gamma(3 + 20, scale=1 / (2 + 7)).cdf,
        stats.gamma(3 + 20, scale=1 / (2 + 22)).cdf,
    ),
    "mean": (
        tacit.Plan(
            tacit.NormalMean("v", 2.0),
            tacit.Schema(v=(-5, 5)),
            tacit.GDP(3000.0),
            tacit.PosteriorSample(tempering="direct", draws=3000, n=4, prior={"mean": 0.0, "mean_sd": 5.0}),
        ),
        {"v": [1.0, 2.0, 3.0, 99.0]},  # a sum of 11 after clamping: mapped 2.2, known sd 0.4, prior precision 1
        stats.norm(2.2 / 0.16 / 26, 26**-0.5).cdf,
        stats.norm(2.2 / 0.16 / 26, 26**-0.5 * 1.4).cdf,
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_draws_come_from_the_posterior_of_the_clamped_rows(name):
    """Fresh entropy; 3,000 draws through the boundary, Kolmogorov-Smirnov at 1e-6; another posterior is rejected."""
    plan, rows, right, wrong = DRAWN[name]
    values = tacit.released_draws(tacit.privatize(rows, plan, ledger=None)).values[:, 0]
    assert stats.kstest(values, right).pvalue > LEVEL
    assert stats.kstest(values, wrong).pvalue < LEVEL


def test_tempering_scales_the_data_or_the_prior():
    """Fresh entropy; diffused draws are Beta(prior + r counts), concentrated ones Beta(prior / m + counts)."""
    rows = {"x": ["yes"] * 30 + ["no"] * 10}
    for tempering in ("diffused", "concentrated"):
        plan = beta_plan(tacit.RenyiDP(order=4, epsilon=900.0), draws=3000, tempering=tempering, n=40)
        noise_parameters = plan.calibrated_mechanism().noise_parameters
        r, m = noise_parameters.number("weight"), noise_parameters.number("scale")
        assert (r < 1) == (tempering == "diffused")
        values = tacit.released_draws(tacit.privatize(rows, plan, ledger=None)).values[:, 0]
        assert stats.kstest(values, stats.beta(3 / m + 30 * r, 5 / m + 10 * r).cdf).pvalue > LEVEL
        assert stats.kstest(values, stats.beta(3 + 30, 5 + 10).cdf).pvalue < LEVEL


def brute_share(values, noise_parameters, n, a, b):
    """P(count | draws) by summing over every count, in numpy."""
    counts = np.arange(n + 1)
    first, second = noise_parameters.coordinates
    r = noise_parameters.number("weight")
    logs = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1) + betaln(a + counts, b + n - counts)
    for w in values:
        one, two = first + r * (n - counts), second + r * counts
        logs = logs + (two - 1) * np.log(w) + (one - 1) * np.log1p(-w) - betaln(one, two)
    return np.exp(logs - logsumexp(logs))


@pytest.mark.parametrize("draws", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_share_by_brute_force(draws):
    """Seed 1; 20,000 draws of the count against its exact probabilities, chi-square at 1e-6; the analyst's prior is
    not the mechanism's. Planted fault: reading the draw with the mechanism's prior as the analyst's is rejected.
    """
    plan = beta_plan(draws=draws, n=12)
    release = tacit.simulate(plan, n=12, seed=1, prior={"a": 1, "b": 1}).release
    posterior = tacit.infer(release, prior={"a": 1.0, "b": 2.0}, draws=5000, seed=2)
    counts = np.bincount(posterior.draws("count").astype(int), minlength=13)
    values = [v / release.unit for v in release.values]
    exact = brute_share(values, release.noise_parameters, 12, 1.0, 2.0)
    assert stats.chisquare(counts, exact * counts.sum()).pvalue > LEVEL
    wrong = brute_share(values, release.noise_parameters, 12, 3.0, 5.0)
    assert stats.chisquare(counts, wrong * counts.sum()).pvalue < LEVEL


@pytest.mark.slow
def test_levels_by_brute_force():
    """Seed 3; 8,000 thinned draws of three counts with sum 5 against all 21 of them, chi-square at 1e-6."""
    plan = tacit.Plan(
        tacit.Categorical("x"),
        tacit.Schema(x=["a", "b", "c"]),
        tacit.RenyiDP(order=3, epsilon=2.0),
        tacit.PosteriorSample(prior={"concentration": [2, 3, 4]}),
    )
    release = tacit.simulate(plan, n=5, seed=3).release
    posterior = tacit.infer(release, prior={"concentration": [1.0, 0.5, 2.0]}, draws=20_000, chains=4, seed=4)
    found = posterior.draws("count")[::10].astype(int)
    w, noise_parameters = np.array(release.values) / release.unit, release.noise_parameters
    cells = [c for c in itertools.product(range(6), repeat=3) if sum(c) == 5]
    logs = []
    for c in cells:
        counts, alpha = (
            np.array(c),
            np.array(noise_parameters.coordinates) + noise_parameters.number("weight") * np.array(c),
        )
        prior = np.sum(gammaln(np.array([1.0, 0.5, 2.0]) + counts) - gammaln(counts + 1))
        logs.append(prior + gammaln(alpha.sum()) - gammaln(alpha).sum() + np.sum((alpha - 1) * np.log(w)))
    exact = np.exp(np.array(logs) - logsumexp(logs))
    seen = np.array([np.sum(np.all(found == c, axis=1)) for c in cells])
    large = exact * len(found) >= 5
    observed, expected = np.append(seen[large], seen[~large].sum()), np.append(exact[large], exact[~large].sum())
    keep = expected > 0
    assert stats.chisquare(observed[keep], expected[keep] * len(found)).pvalue > LEVEL


def test_a_normal_mean_in_closed_form():
    """Seed 5; bounds so wide that nothing is clamped: the posterior is normal, Kolmogorov-Smirnov at 1e-6.

    Planted fault: the draw taken for the exact mean of the rows is rejected.
    """
    plan = tacit.Plan(
        tacit.NormalMean("v", 1.0),
        tacit.Schema(v=(-30, 30)),
        tacit.GDP(2.0),
        tacit.PosteriorSample(n=25, prior={"mean": 1.0, "mean_sd": 0.5}, draws=2, grid=2**30),
    )
    release = tacit.simulate(plan, n=25, seed=5, prior={"mean": 0.0, "mean_sd": 2.0}).release
    posterior = tacit.infer(release, prior={"mean": 0.0, "mean_sd": 2.0}, seed=6)
    noise_parameters, half = release.noise_parameters, 30.0
    r = noise_parameters.number("weight")
    precision = noise_parameters.coordinates[1] / half**2 + r * 25  # in the units of the data
    slope, shift = r * 25 / precision, noise_parameters.coordinates[1] / half**2 * 1.0 / precision
    w = np.mean([half * v / release.unit for v in release.values])
    noise = 1 / (2 * precision) + slope**2 / 25  # of the average of two draws, given the mean
    total = 0.25 + slope**2 / noise
    exact = stats.norm(slope * (w - shift) / noise / total, total**-0.5)
    found = posterior.draws("mean")
    assert stats.kstest(found, exact.cdf).pvalue > LEVEL
    naive = stats.norm(25 * (w - shift) / slope / 25.25, 25.25**-0.5)
    assert stats.kstest(found, naive.cdf).pvalue < LEVEL


@pytest.mark.parametrize("family", ["counts", pytest.param("waits", marks=pytest.mark.slow)])
def test_a_rate_by_quadrature(family):
    """Seed 7: a rate of counts, or of waiting times; the posterior's mean and sd against a table of rate and sum.

    4,000 independent draws: alarm at 6 standard errors of a mean (1e-9), and 6 of an sd.
    """
    model, schema, prior = {
        "counts": (tacit.Poisson("v"), tacit.Schema(v=(0, 12)), {"shape": 3.0, "rate": 1.5}),
        "waits": (tacit.Exponential("v"), tacit.Schema(v=(0, 30)), {"shape": 3.0, "rate": 12.0}),
    }[family]
    n = 60
    budget = tacit.RenyiDP(order=2, epsilon=0.5)
    plan = tacit.Plan(model, schema, budget, tacit.PosteriorSample(n=n, prior=prior, draws=2))
    release = tacit.simulate(plan, n=n, seed=7).release
    found = tacit.infer(release, seed=8).draws("rate")
    noise_parameters, r = release.noise_parameters, release.noise_parameters.number("weight")
    w = np.array(release.values) / release.unit
    default = model.default_prior(schema)
    rates = np.linspace(1e-3, 8.0, 1500) if isinstance(model, tacit.Poisson) else np.linspace(1e-4, 1.2, 1500)
    sums = np.linspace(0, n, 3001)
    high = schema.number("v").high
    if isinstance(model, tacit.Poisson):
        k = np.arange(0, 60)
        pmf = stats.poisson.pmf(k[None, :], rates[:, None])
        c = np.minimum(k, high) / high
        shape, rate = noise_parameters.coordinates[0] + r * high * sums, noise_parameters.coordinates[1] + r * n
    else:
        points = (np.arange(4000) + 0.5) / 4000 * high
        pmf = rates[:, None] * np.exp(-rates[:, None] * points) * high / 4000
        pmf = np.concatenate([pmf, np.exp(-rates * high)[:, None]], axis=1)
        c = np.append(points, high) / high
        shape, rate = noise_parameters.coordinates[0] + r * n + 0 * sums, noise_parameters.coordinates[1] + r * sums
    mean = pmf @ c
    sd = np.sqrt(n * (pmf @ c**2 - mean**2))
    log_draws = sum(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(v) - rate * v for v in w)
    log_sum = -(((sums[None, :] - n * mean[:, None]) / sd[:, None]) ** 2) / 2 - np.log(sd)[:, None]
    log_post = logsumexp(log_sum + log_draws, axis=1) + stats.gamma.logpdf(rates, default.shape, scale=1 / default.rate)
    weights = np.exp(log_post - log_post.max())
    weights /= weights.sum()
    centre = weights @ rates
    spread = math.sqrt(weights @ (rates - centre) ** 2)
    assert abs(found.mean() - centre) < 6 * spread / math.sqrt(4000)
    assert (
        abs(found.std() / spread - 1) < 6 * math.sqrt(1 / 8000) * 1.5
    )  # the distribution is a little longer-tailed than normal


def test_a_query_is_about_the_rows_themselves():
    """Seed 9; p(mean | draw) ~ Beta density at the draw, tabled in numpy; Kolmogorov-Smirnov at 1e-6."""
    plan = tacit.Plan(
        tacit.StatisticalQuery("v"), tacit.Schema(v=(10, 20)), tacit.ApproxDP(2.0, 1e-3), tacit.PosteriorSample(n=80)
    )
    release = tacit.simulate(plan, n=80, seed=9).release
    found = (tacit.infer(release, seed=1).draws("mean") - 10) / 10
    noise_parameters, w = release.noise_parameters, release.values[0] / release.unit
    grid = (np.arange(20_000) + 0.5) / 20_000
    sums = noise_parameters.number("weight") * 80 * grid
    logs = stats.beta.logpdf(
        w,
        noise_parameters.coordinates[1] + sums,
        noise_parameters.coordinates[0] + noise_parameters.number("weight") * 80 - sums,
    )
    cdf = np.cumsum(np.exp(logs - logs.max()))
    assert stats.kstest(found, lambda x: np.interp(x, grid, cdf / cdf[-1])).pvalue > LEVEL


def test_public_rows_are_counted_once():
    """Seed 10. A plan with 50 public rows, 20 of them yes, is a plan with the prior that they make; an analyst who
    reads its release gets them once. Planted fault: counted twice is rejected by chi-square at 1e-6.
    """
    said = {"n": 12, "prior": {"a": 1, "b": 1}, "public": {"n": 50, "count": 20}}
    plan = beta_plan(**said)
    same = beta_plan(n=12, prior={"a": 21, "b": 31})
    assert plan.event() == same.event()
    release = tacit.simulate(plan, n=12, seed=10).release
    posterior = tacit.infer(release, draws=5000, seed=11)
    counts = np.bincount(posterior.draws("count").astype(int), minlength=13)
    values = [v / release.unit for v in release.values]
    once, twice = (brute_share(values, release.noise_parameters, 12, 1.0 + 20 * k, 1.0 + 30 * k) for k in (1, 2))
    large = once * counts.sum() >= 5
    seen = np.append(counts[large], counts[~large].sum() + 1e-9)
    assert stats.chisquare(seen, np.append(once[large], once[~large].sum()) * seen.sum()).pvalue > LEVEL
    assert stats.chisquare(seen, np.append(twice[large], twice[~large].sum()) * seen.sum()).pvalue < LEVEL


def test_what_public_rows_buy():
    """With the uniform prior order 15 allows a weight below 1/14 (lambda* = 1 + 1/r); 30 public rows lift it to 1."""
    budget = tacit.RenyiDP(order=15, epsilon=1.0)
    weights = [
        beta_plan(budget, n=100, prior={"a": 1, "b": 1}, public={"n": n, "count": n / 2})
        .calibrated_mechanism()
        .noise_parameters.number("weight")
        for n in (0, 10, 30, 100)
    ]
    assert weights[0] < 1 / 14
    assert weights == sorted(weights)
    assert weights[-1] == 1.0


@pytest.mark.parametrize(
    ("public", "prior"),
    [
        ((tacit.Categorical("x"), {"counts": [3, 4, 5]}), {"concentration": [4.0, 5.0, 6.0]}),
        ((tacit.Poisson("v"), {"n": 10, "sum": 30}), {"shape": 2 + 30, "rate": 8 / 12 + 10}),
        ((tacit.Exponential("v"), {"n": 10, "sum": 30}), {"shape": 12.0, "rate": 6.0 + 30}),
        (
            (tacit.NormalMean("v", 3.0), {"n": 9, "mean": 8.0}),
            {"mean": (6 / 9 + 8) / (1 / 9 + 1), "mean_sd": (10 / 9) ** -0.5},
        ),
    ],
)
def test_public_rows_make_a_prior(public, prior):
    model, rows = public
    schema = tacit.Schema(x=["a", "b", "c"], v=(0, 12))
    found = model.with_public(model.default_prior(schema), rows, schema).to_plain()
    assert found == {name: pytest.approx(value) for name, value in prior.items()}


CALIBRATED = {
    "share": (tacit.Bernoulli("x"), YES_NO, {"n": 50, "draws": 2}, None),
    "levels": (tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c", "d"]), {}, None),
    "counts": (tacit.Poisson("v"), tacit.Schema(v=(0, 12)), {}, None),
    "waits": (tacit.Exponential("v"), tacit.Schema(v=(0, 30)), {"n": 50}, None),
    "mean": (tacit.NormalMean("v", 4.0), tacit.Schema(v=(40, 80)), {"draws": 2}, None),
    "query": (tacit.StatisticalQuery("v"), tacit.Schema(v=(0, 9)), {"n": 50}, None),
    "public": (tacit.Bernoulli("x"), YES_NO, {"n": 50, "public": {"n": 8, "count": 2}}, None),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ("share", "mean") else pytest.mark.slow) for name in CALIBRATED]
)
def test_posteriors_from_draws_are_calibrated(name):
    """Seed 12; 400 trials through the whole path at n = 50; Kolmogorov-Smirnov on ranks at 1e-3 over all numbers."""
    model, schema, said, prior = CALIBRATED[name]
    plan = tacit.Plan(model, schema, tacit.RenyiDP(order=2, epsilon=0.5), tacit.PosteriorSample(**said))
    result = tacit.calibrate(plan, n=50, trials=400, seed=12, prior=prior, warmup=50)
    assert result.calibrated(1e-3), result.p_values()


def test_a_wrong_weight_in_inference_is_caught(monkeypatch):
    """Power: the draws read as if the data had four times the weight, seed 13, rejected at 1e-6."""
    from tacit.infer import problem_of

    def wrong(*arguments):
        problem = problem_of(*arguments)
        noise_parameters = problem.sample
        numbers = tuple((k, v * (4 if k == "weight" else 1)) for k, v in noise_parameters.numbers)
        (site,) = problem.sites
        return dataclasses.replace(
            problem, sites=(dataclasses.replace(site, sample=dataclasses.replace(noise_parameters, numbers=numbers)),)
        )

    monkeypatch.setattr(sys.modules[tacit.calibrate.__module__], "problem_of", wrong)
    plan = beta_plan(tacit.RenyiDP(order=2, epsilon=0.05), n=200)
    assert not tacit.calibrate(plan, n=200, trials=400, seed=13).calibrated(1e-6)


def test_what_posterior_draws_are_not_for():
    release = tacit.simulate(beta_plan(n=20), n=20, seed=1).release
    with pytest.raises(tacit.InputError, match="not pooled"):
        tacit.infer([release, dataclasses.replace(release, dataset="b", id="b")], disjoint=True)
    with pytest.raises(tacit.InputError, match="posterior draws: exact"):
        tacit.infer(release, method="naive")
    with pytest.raises(tacit.InputError, match="posterior-sample"):
        tacit.released_draws(
            tacit.simulate(tacit.Plan(tacit.Bernoulli("x"), YES_NO, tacit.PureDP(1.0)), n=9, seed=1).release
        )
    schema = tacit.Schema(y=["no", "yes"], x=(0, 1))
    plan = tacit.Plan(tacit.LogisticRegression("y ~ x"), schema, tacit.GDP(1.0), tacit.PosteriorSample())
    with pytest.raises(tacit.InputError, match="tacit draws"):
        tacit.infer(tacit.Release(plan=plan, n=3, values=(1, 2), dataset="d", id="i"))


def test_a_posterior_from_draws_is_saved_and_says_what_it_assumes(tmp_path):
    posterior = tacit.infer(tacit.simulate(beta_plan(n=20), n=20, seed=1).release, draws=100)
    assert "exact draw, ideal arithmetic" in posterior.assumes
    assert tacit.Posterior.load(posterior.save(tmp_path / "p.nc")).assumes == posterior.assumes
