"""A varying intercept: what is refused, what the chain knows, and that partial pooling is calibrated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import tacit
from tacit.infer import posterior_arrays, problem_of
from tacit.runtime.chain import SamplerSettings

LEVELS = [f"c{i}" for i in range(20)]
SCHEMA = tacit.Schema(
    cost=(0, 100), age=(18, 90), clinic=LEVELS, near=(0, 1), two=["a", "b"], many=[str(i) for i in range(13)]
)
NARROW = {"level": 0.2, "spread": 0.12, "sigma": 0.15}


def plan(budget, schema=SCHEMA):
    return tacit.Plan(tacit.VaryingRegression("cost ~ (1 | clinic)"), schema, budget)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("cost ~ age", "of the family 'linear'"),
        ("cost ~ offset(near) + (1 | clinic)", "in a linear regression declare the difference as the response"),
        ("cost ~ C(many) + (1 | clinic)", "at most 12 columns beside those of the groups"),
        ("cost ~ (1 | two)", "3 to 1000 levels"),
        ("cost ~ (1 | age)", "a column with levels behind"),
        ("cost ~ (age | clinic)", "as a term of its own, too"),
        ("cost ~ clinic + (1 | clinic)", "behind | alone"),
        ("cost ~ (1 | clinic) + (1 | two)", "one term with | at most"),
        ("cost ~ (1 | clinic) - 1", "an intercept beside"),
        ("cost ~ (age + two | clinic)", "1 or one column in front"),
        ("cost ~ (1 | clinic:two)", "one column with levels behind"),
        ("cost ~ age | clinic", "only between brackets"),
    ],
)
def test_what_is_not_built_is_refused_in_one_sentence(formula, said):
    with pytest.raises(tacit.InputError) as refused:
        tacit.Plan(tacit.VaryingRegression(formula), SCHEMA, tacit.PureDP(1.0))
    assert said in str(refused.value)
    assert str(refused.value).startswith("Expected formula=")


@pytest.mark.parametrize("model", [tacit.LinearRegression, tacit.PoissonRegression])
def test_other_families_name_the_one_that_takes_it(model):
    with pytest.raises(tacit.InputError, match=r"tacit\.VaryingRegression"):
        tacit.Plan(model("cost ~ (1 | clinic)"), SCHEMA, tacit.PureDP(1.0))


def exact_posterior(cells, y, sigma, spread):
    """Mean and sd of each level's mean given sigma and the spread, with a N(0, 1) intercept, by least squares."""
    size = len(LEVELS)
    n, total = np.bincount(cells, minlength=size), np.bincount(cells, weights=y, minlength=size)
    prior = spread**2 * np.eye(size) + np.ones((size, size))
    precision = np.linalg.inv(prior) + np.diag(n / sigma**2)
    covariance = np.linalg.inv(precision)
    return covariance @ (total / sigma**2), np.sqrt(np.diagonal(covariance))


@pytest.mark.slow
def test_with_hardly_any_noise_it_is_the_rows_own_posterior(tmp_path):
    """Seed 3, 2,000 rows, epsilon 1e4. Means of levels within 0.15 of their sds of the normal posterior at the sigma
    and
    spread that were found, and their sds within 10%: spread and sigma are known to 15% and 2%, which moves both by
    less.
    Planted fault: without pooling the smallest levels are further away.
    """
    rng = np.random.default_rng(3)
    cells = rng.choice(20, 2000, p=rng.dirichlet(np.ones(20)))
    cost = np.clip(50 + 5 * rng.standard_normal(20)[cells] + 8 * rng.standard_normal(2000), 0, 100)
    release = tacit.privatize(
        {"cost": cost, "clinic": np.array(LEVELS)[cells]}, plan(tacit.PureDP(1e4)), ledger=None, dataset="rows"
    )
    posterior = tacit.infer(release, seed=0, chains=2)
    rows = {row.name: row for row in posterior.coefficients()}
    sigma, spread = rows["sigma"].mean / 50, rows["spread"].mean / 50
    mean, sd = exact_posterior(cells, (cost - 50) / 50, sigma, spread)
    draws = (posterior.draws("group_mean") - 50) / 50
    assert np.abs((draws.mean(axis=0) - mean) / sd).max() < 0.15
    assert np.abs(draws.std(axis=0) / sd - 1).max() < 0.1
    assert abs(sigma * 50 - 8) < 0.5
    n = np.bincount(cells, minlength=20)
    alone = np.bincount(cells, weights=(cost - 50) / 50, minlength=20) / np.maximum(n, 1)
    assert np.abs((alone - mean) / sd).max() > 0.15
    np.testing.assert_allclose(posterior.draws("count").mean(axis=0), n, atol=1.0)
    again = tacit.Posterior.load(posterior.save(tmp_path / "p.nc"))
    assert again.ranking() == posterior.ranking()
    assert again.predict({"clinic": ["c1", "c2"]}).mean.shape == (2,)


@pytest.mark.slow
def test_partial_pooling_is_calibrated():
    """Seeds 1000 to 1199: 200 releases of 20 levels and 4,000 rows at epsilon 0.5 whose parameters come from the prior.

    90% intervals hold the levels' means 88 to 92 times in 100 (4,000 means; the standard error within a release is
    correlated, so 0.007 is about it), and the spread in 84 to 96 of 100. The planted fault, intervals of the released
    numbers by themselves taken for exact, holds less than 60.
    """
    strict = plan(tacit.PureDP(0.5))
    made = [tacit.simulate(strict, n=4000, seed=1000 + i, prior=NARROW) for i in range(200)]
    found, _ = posterior_arrays(
        *(problem_of(strict, NARROW, 4000), "by-group", SamplerSettings(300, 200)),
        [list(one.release.values) for one in made],
        chains=1,
        seed=0,
    )

    def held(name, number):
        low, high = np.quantile(found[name][:, 0], [0.05, 0.95], axis=1)
        truth = np.array([one.parameters[number] for one in made])
        return ((truth >= low) & (truth <= high)).mean()

    assert 0.88 < held("group_mean", "group_mean") < 0.92
    assert 0.84 < held("spread", "spread") < 0.96
    unit, exact = strict.statistic().unit, []
    for one in made:
        parts = np.array(one.release.values[:-1], float).reshape(-1, 2) / unit
        n = np.maximum(parts.sum(axis=1), 1)
        mean = np.clip((parts[:, 1] - parts[:, 0]) / n, -1, 1)
        wide = norm.ppf(0.95) * float(one.parameters["sigma"]) / np.sqrt(n)
        truth = np.asarray(one.parameters["theta"])[0] + np.asarray(one.parameters["effect"])
        exact.append(np.abs(truth - mean) < wide)
    assert np.mean(exact) < 0.6


def test_groups_that_no_row_is_in_keep_the_prior():
    """Seed 5: one level of 20 has no row. Its mean is as unknown as the spread says, and its size is small.

    Draws are 400; the alarm is far beyond what they vary. It also covers an unknown number of rows: sizes add up to n.
    """
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 19, 4000)
    cost = np.clip(50 + 6 * rng.standard_normal(20)[cells] + 8 * rng.standard_normal(4000), 0, 100)
    budget = replace(tacit.PureDP(2.0), neighbours="add-remove")
    rows = {"cost": cost, "clinic": np.array(LEVELS)[cells]}
    posterior = tacit.infer(
        tacit.privatize(rows, plan(budget), ledger=None, dataset="rows"),
        seed=0,
        chains=2,
        draws=200,
        warmup=300,
        anyway=True,
    )
    sds = posterior.draws("group_mean").std(axis=0)
    assert sds[19] > 2 * np.median(sds)
    assert posterior.draws("count")[:, 19].mean() < 10
    np.testing.assert_allclose(posterior.draws("count").sum(axis=1), posterior.draws("n"))
    assert abs(posterior.draws("n").mean() - 4000) < 60
    assert posterior.ranking()[0].best <= 1
    assert posterior.contrast("group_mean[c1] - group_mean[c0]").name == "group_mean[c1] - group_mean[c0]"
    assert posterior.effects()[0].name == "sd by clinic"
