"""Posteriors from sums and local reports: calibrated, equal to brute force, and no slower for more people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, norm

from tacit.errors import InputError
from tacit.likelihoods.clamped_distributions import (
    BetaCoordinate,
    ClampedCounts,
    ClampedExponential,
    ClampedNormal,
    GammaCoordinate,
)
from tacit.likelihoods.evidence import (
    BinnedReports,
    ExpandedReports,
    NoisyCounts,
    NoisyPowerSums,
    PatternReports,
    ResponseReports,
)
from tacit.likelihoods.report_summaries import (
    binned,
    distinct_patterns,
    grid_nodes,
    pattern_counts,
    response_counts,
    unary_expansion,
)
from tacit.models.geometric import Geometric
from tacit.models.poisson import Poisson
from tacit.runtime.backend import run
from tacit.runtime.chain import SamplerSettings
from tacit.samplers.pooled_posterior import pooled_posterior_chain, simplex_chain

DATASETS, RANKED, THIN = 300, 63, 4  # datasets, draws that are ranked, and how far apart they are
SETTINGS = SamplerSettings(warmup=300, draws=RANKED * THIN)

LAWS = {
    "normal": ClampedNormal(mean_sd=0.5, sd_median=0.4, sd_spread=0.6),
    "exponential": ClampedExponential(shape=3.0, rate=1.0),
    "poisson": ClampedCounts(Poisson("y"), 10, GammaCoordinate(shape=2.0, rate=0.5)),
    "geometric": ClampedCounts(Geometric("y"), 10, BetaCoordinate(a=2.0, b=4.0)),
}


def draw_parameters(distribution, rng):
    if isinstance(distribution, ClampedNormal):
        sd = distribution.sd_median * np.exp(distribution.sd_spread * rng.normal())
        return {"mean": distribution.mean_sd * rng.normal(), "sd": sd}
    if isinstance(distribution, ClampedCounts) and isinstance(distribution.coordinate, BetaCoordinate):
        return {"p": rng.beta(distribution.coordinate.a, distribution.coordinate.b)}
    prior = distribution if isinstance(distribution, ClampedExponential) else distribution.coordinate
    return {"rate": rng.gamma(prior.shape) / prior.rate}


def draw_values(distribution, parameters, n, rng):
    """n clamped values in mapped units, in plain numpy."""
    if isinstance(distribution, ClampedNormal):
        return np.clip(rng.normal(parameters["mean"], parameters["sd"], n), -1, 1)
    if isinstance(distribution, ClampedExponential):
        return np.minimum(rng.exponential(1 / parameters["rate"], n), 1)
    if isinstance(distribution.family, Poisson):
        return np.minimum(rng.poisson(parameters["rate"], n), distribution.most) / distribution.most
    return np.minimum(rng.geometric(parameters["p"], n) - 1, distribution.most) / distribution.most


def p_values(chain, released, truths, seed):
    """Two p-values a number for the hypothesis that the ranks of the truths are uniform.

    Ranks among thinned draws, each spread over its cell. One test is Kolmogorov and Smirnov's, the other looks at the
    mean of (place - 1/2)^2, which sees best that a posterior is too narrow or too wide.
    """
    draws, info = run(chain, np.stack(released), chains=1, seed=seed)
    assert np.mean(np.asarray(info["diverging"])) < 0.01
    rng = np.random.default_rng(seed)
    found = []
    for name, truth in truths.items():
        kept = np.asarray(draws[name])[:, 0, ::THIN].reshape(len(truth), RANKED, -1)
        ranks = (kept < truth.reshape(len(truth), 1, -1)).sum(axis=1)
        places = (ranks + rng.random(ranks.shape)) / (RANKED + 1)
        spread = np.mean((places - 0.5) ** 2, axis=0) - 1 / 12
        found += [float(kstest(column, "uniform").pvalue) for column in places.T]
        found += list(2 * norm.sf(np.abs(spread) / np.sqrt(1 / 180 / len(truth))))
    return np.array(found)


def assert_calibrated(right, wrong):
    """False-alarm rate 1e-3 (Bonferroni over tests); the planted fault must be rejected at the same level."""
    print("right", right.round(4), "planted", wrong)
    assert right.min() > 1e-3 / len(right)
    assert wrong.min() < 1e-3 / len(wrong)


def local_data(distribution, epsilons, n, seed, fault=1.0):
    """Datasets of one group an epsilon: binned reports, with noise ``fault`` times what it should be, and truths."""
    rng = np.random.default_rng(seed)
    nodes = grid_nodes(getattr(distribution, "most", None), least=101)
    truths, released = [], []
    for _ in range(DATASETS):
        truths.append(draw_parameters(distribution, rng))
        parts = []
        for epsilon in epsilons:
            noise = rng.laplace(size=n) * fault * (distribution.high - distribution.low) / epsilon
            parts.append(
                binned(
                    draw_values(distribution, truths[-1], n, rng) + noise, distribution.low, distribution.high, nodes
                )
            )
        released.append(np.concatenate(parts))
    return released, _stacked(truths)


def _stacked(truths):
    return {name: np.array([truth[name] for truth in truths]) for name in truths[0]}


def local_chain(distribution, epsilons):
    nodes = grid_nodes(getattr(distribution, "most", None), least=101)
    return pooled_posterior_chain(
        distribution, [BinnedReports(nodes, (distribution.high - distribution.low) / e) for e in epsilons], SETTINGS
    )


def central_data(distribution, powers, scale, n, seed, *, laplace, sites):
    rng = np.random.default_rng(seed)
    truths, released = [], []
    for _ in range(DATASETS):
        truths.append(draw_parameters(distribution, rng))
        values = [draw_values(distribution, truths[-1], n, rng) for _ in range(sites)]
        sums = np.array([np.sum(v**k) for v in values for k in powers])
        released.append(sums + scale * (rng.laplace if laplace else rng.normal)(size=sums.size))
    return released, _stacked(truths)


@pytest.mark.slow
def test_two_groups_of_reports_of_a_poisson_count_are_calibrated():
    """Seed 11: 300 datasets, 500 reports each with epsilon 0.5 and 2; planted: noise 40% larger than it should be."""
    distribution = LAWS["poisson"]
    chain = local_chain(distribution, (0.5, 2.0))
    right, wrong = (p_values(chain, *local_data(distribution, (0.5, 2.0), 500, 11, fault), 11) for fault in (1.0, 1.4))
    assert_calibrated(right, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", LAWS)
def test_reports_of_every_law_are_calibrated(name, epsilon):
    """Seed 12: 300 datasets of 500 reports; planted: noise 40% larger than it should be."""
    distribution = LAWS[name]
    chain = local_chain(distribution, (epsilon,))
    right, wrong = (p_values(chain, *local_data(distribution, (epsilon,), 500, 12, fault), 12) for fault in (1.0, 1.4))
    assert_calibrated(right, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("name", LAWS)
def test_noisy_sums_of_every_law_are_calibrated(name, epsilon, laplace):
    """Seed 13: 300 datasets of two sites of 250 rows; false-alarm rate 1e-3 a case (Bonferroni over tests).

    Planted: noise three times as large as it should be. It must be rejected at epsilon = 0.05, where noise is most of
    what there is; with less noise than a sum varies by itself there is nothing to see.
    """
    distribution = LAWS[name]
    powers = (1, 2) if name == "normal" else (1,)
    scale = (2.75 if name == "normal" else 1.0) / epsilon
    site = NoisyPowerSums(250, powers, (scale,) * len(powers), laplace)
    chain = pooled_posterior_chain(distribution, [site, site], SETTINGS)

    def found(fault):
        return p_values(
            chain, *central_data(distribution, powers, fault * scale, 250, 13, laplace=laplace, sites=2), 13
        )

    right = found(1.0)
    assert right.min() > 1e-3 / len(right)
    if epsilon < 0.1:
        assert_calibrated(right, found(3.0))


def simplex_data(items, n, draw_reports, seed):
    """Datasets of n reports from shares with a uniform prior."""
    rng = np.random.default_rng(seed)
    truths, released = [], []
    for _ in range(DATASETS):
        theta = rng.dirichlet(np.ones(items))
        truths.append({"log_theta": np.log(theta)})
        released.append(draw_reports(rng.choice(items, size=n, p=theta), rng))
    return released, _stacked(truths)


def responses(items, epsilon):
    """Counts of randomized responses."""

    def draw(values, rng):
        truthful = rng.random(values.size) < np.expm1(epsilon) / (np.exp(epsilon) + items - 1)
        return response_counts(np.where(truthful, values, rng.integers(items, size=values.size)), items)

    return draw


def draw_bits(values, items, epsilon, rng):
    bits = (rng.random((values.size, items)) < 1 / (1 + np.exp(epsilon))).astype(np.uint8)
    bits[np.arange(values.size), values] = rng.random(values.size) < 0.5
    return bits


def test_randomized_responses_are_calibrated():
    """Seed 21: 300 datasets of 500 reports on 4 items, epsilon 2; planted: reports made with an epsilon of 2 / 1.4."""
    chain = simplex_chain(np.ones(4), [ResponseReports(4, 2.0)], SETTINGS)
    right, wrong = (p_values(chain, *simplex_data(4, 500, responses(4, e), 21), 21) for e in (2.0, 2.0 / 1.4))
    assert_calibrated(right, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("items", [2, 6])
def test_randomized_responses_of_any_size_are_calibrated(items, epsilon):
    """Seed 22: 300 datasets of 500 reports; planted: reports made with epsilon / 1.4, of which 20,000 are needed."""
    chain = simplex_chain(np.ones(items), [ResponseReports(items, epsilon)], SETTINGS)
    right = p_values(chain, *simplex_data(items, 500, responses(items, epsilon), 22), 22)
    wrong = p_values(chain, *simplex_data(items, 20_000, responses(items, epsilon / 1.4), 22), 22)
    assert_calibrated(right, wrong)


@pytest.mark.parametrize(("epsilon", "n"), [(2.0, 500), (3.0, 5_000)])
def test_an_expansion_has_the_posterior_of_the_table(epsilon, n):
    """Seed 25, 5 items: means within a tenth of the posterior's sds, and sds within a tenth of themselves.

    About 1,000 effective draws a side: 3 standard errors are a tenth. Without `HELD` the expansion's only peak is a
    corner of the simplex, tens of sds away.
    """
    items, rng = 5, np.random.default_rng(25)
    values = rng.choice(items, n, p=[0.05, 0.1, 0.25, 0.5, 0.1])
    bits = draw_bits(values, items, epsilon, rng)
    sides = {
        PatternReports(items, epsilon): pattern_counts(bits),
        ExpandedReports(items): unary_expansion(*distinct_patterns(bits), epsilon).numbers,
    }
    settings = SamplerSettings(warmup=300, draws=1_000)
    found = [run(simplex_chain(np.ones(items), [one], settings), [x], chains=4, seed=1)[0] for one, x in sides.items()]
    table, series = (np.exp(draws["log_theta"])[0].reshape(-1, items) for draws in found)
    assert np.abs(series.mean(axis=0) - table.mean(axis=0)).max() < 0.1 * table.std(axis=0).min()
    assert np.abs(series.std(axis=0) / table.std(axis=0) - 1).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("kind", ["table", "expansion"])
def test_unary_reports_are_calibrated(kind, epsilon):
    """Seed 23: 300 datasets of 500 reports on 5 items; planted: reports made with epsilon / 1.4, 20,000 of them."""
    items = 5
    piece = PatternReports(items, epsilon) if kind == "table" else ExpandedReports(items)
    chain = simplex_chain(np.ones(items), [piece], SETTINGS)

    def found(n, true):
        def draw(values, rng):
            bits = draw_bits(values, items, true, rng)
            return (
                pattern_counts(bits) if kind == "table" else unary_expansion(*distinct_patterns(bits), epsilon).numbers
            )

        return p_values(chain, *simplex_data(items, n, draw, 23), 23)

    assert_calibrated(found(500, epsilon), found(20_000, epsilon / 1.4))


@pytest.mark.slow
@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("scale", [4.0, 100.0])
def test_noisy_counts_pooled_with_responses_are_calibrated(scale, laplace):
    """Seed 24: 300 datasets, 500 rows with noise on their counts and 100 responses with epsilon 1.

    False-alarm rate 1e-3 (Bonferroni over tests). Planted: noise ten times as large as it should be, which must be
    rejected where its scale is 100.
    """
    items = 4
    central = NoisyCounts(500, tuple(range(items)), (scale,) * items, laplace)
    chain = simplex_chain(np.ones(items), [central, ResponseReports(items, 1.0)], SETTINGS)
    response = responses(items, 1.0)

    def found(fault):
        def both(values, rng):
            noise = fault * scale * (rng.laplace if laplace else rng.normal)(size=items)
            return np.concatenate([response_counts(values[:500], items) + noise, response(values[500:], rng)])

        return p_values(chain, *simplex_data(items, 600, both, 24), 24)

    right = found(1.0)
    assert right.min() > 1e-3 / len(right)
    if scale > 50:
        assert_calibrated(right, found(10.0))


@pytest.mark.slow
def test_more_people_cost_no_more_gradients():
    """Seed 31: with 10,000 times as many reports and rows a trajectory is at most half as long again; R-hat < 1.02."""
    from arviz_stats.base import array_stats

    rng = np.random.default_rng(31)
    distribution, settings, steps = LAWS["normal"], SamplerSettings(400, 500), {}
    for n in (1000, 10_000_000):
        values = draw_values(distribution, {"mean": 0.3, "sd": 0.4}, n, rng)
        reports = binned(values + rng.laplace(size=n) * 2, -1.0, 1.0, 1025)
        sums = np.array([values.sum(), (values**2).sum()]) + 5 * rng.laplace(size=2)
        evidence = [BinnedReports(1025, 2.0), NoisyPowerSums(n, (1, 2), (5.0, 5.0), laplace=True)]
        draws, info = run(
            pooled_posterior_chain(distribution, evidence, settings), np.append(reports, sums)[None], chains=4, seed=31
        )
        steps[n] = float(np.mean(np.asarray(info["n_steps"])))
        for name in ("mean", "sd"):
            kept = np.asarray(draws[name])[0]
            assert array_stats.rhat(kept) < 1.02
            assert array_stats.ess(kept, method="bulk") > 600
    assert steps[10_000_000] < 1.5 * steps[1000]


def test_no_evidence_and_no_items_are_refused():
    with pytest.raises(InputError):
        pooled_posterior_chain(LAWS["poisson"], [], SETTINGS)
    with pytest.raises(InputError):
        simplex_chain([1.0], [ResponseReports(1, 1.0)], SETTINGS)
    with pytest.raises(InputError):
        simplex_chain([1.0, 0.0], [ResponseReports(2, 1.0)], SETTINGS)
