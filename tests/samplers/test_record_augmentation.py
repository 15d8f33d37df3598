"""The record-level methods against what shares no sampling code with them: the collapsed method, and enumeration."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.stats import binom

import tacit
from tacit.infer import posterior_arrays, problem_for
from tacit.models.gram_layout import noisy_grams
from tacit.runtime.backend import float64, run
from tacit.runtime.chain import Settings

SCHEMA = tacit.Schema(y=(-1, 1), a=(-1, 1), b=(-1, 1))


@lru_cache
def _problem(n, budget, formula="y ~ a"):
    plan = tacit.Plan(tacit.LinearRegression(formula), SCHEMA, budget)
    return plan, problem_for(plan.model, plan.schema, None, n, plan.noise())


@lru_cache
def _draws(plan, problem, method, datasets, settings):
    """Draws (datasets, chains, draws, numbers): four chains each, all in one compiled call."""
    values = _values(plan, problem.n, datasets)
    return _numbers(posterior_arrays(problem, method, settings, values, chains=4, seed=1)[0])


def _values(plan, n, datasets):
    return [tacit.simulate(plan, n=n, seed=seed).release.values for seed in range(datasets)]


def _numbers(arrays):
    """The coefficients and log sigma along the last axis."""
    theta, sigma = np.asarray(arrays["theta"]), np.asarray(arrays["sigma"])
    return np.concatenate([theta, np.log(sigma)[..., None]], axis=-1)


def _square_error(draws):
    """The squared Monte Carlo standard error of one posterior mean from (chains, draws)."""
    return draws.var() / array_stats.ess(draws, method="mean")


def _square_errors(draws):
    return np.array([[_square_error(numbers) for numbers in np.moveaxis(dataset, -1, 0)] for dataset in draws])


def _apart(first, second):
    """How many standard errors the posterior means are apart: (datasets, numbers)."""
    error = np.sqrt(_square_errors(first) + _square_errors(second))
    return np.abs(first.mean(axis=(1, 2)) - second.mean(axis=(1, 2))) / error


def _louder(problem):
    """The planted fault: noise taken to be 20% wider than it was."""
    scales = tuple(round(1.2 * scale) for scale in problem.noise.scales)
    (site,) = problem.sites
    return replace(problem, sites=(replace(site, noises=(type(problem.noise)(scales),)),))


def test_the_kernel_is_exact_where_everything_can_be_enumerated():
    """Eight yes-or-no records, their probability one of nine: the posterior mean is a double sum. Seed 1.

    Alarm at 5 Monte Carlo errors (6e-7). The planted fault, noise 20% wider, must be 5 errors away.
    """
    import jax
    import jax.numpy as jnp

    from tacit.samplers.record_augmentation import Records, augmented_chain

    n, scale, released = 8, 2.0, 12.0
    grid = np.arange(1, 10) / 10

    def move(key, _, records):
        yes = jnp.sum(records)
        return {"p": jnp.asarray(grid)[jax.random.categorical(key, yes * np.log(grid) + (n - yes) * np.log(1 - grid))]}

    family = Records(
        entries=lambda record: record,
        draw_record=lambda key, parameters: jax.random.bernoulli(key, parameters["p"], (1,)) * 1.0,
        move_parameters=move,
        start=lambda _, released: ({"p": 0.5 + 0 * released[0]}, jnp.zeros((n, 1))),
    )
    chain = augmented_chain(family, lambda residual: -jnp.sum(jnp.abs(residual)) / scale, Settings(200, 10_000))
    arrays, info = run(chain, [[released]], chains=4, seed=1)
    draws = np.asarray(arrays["p"])[0]
    assert draws.shape == np.asarray(info["acceptance_rate"])[0].shape == (4, 10_000)

    def exact(scale):
        counts = np.arange(n + 1)
        weights = binom.pmf(counts, n, grid[:, None]) @ np.exp(-np.abs(released - counts) / scale)
        return grid @ weights / weights.sum()

    error = np.sqrt(_square_error(draws))
    assert abs(draws.mean() - exact(scale)) < 5 * error
    assert abs(draws.mean() - exact(1.2 * scale)) > 5 * error


def test_records_add_up_to_the_gram_matrix_they_start_from():
    """Seed 3; no chance of a false alarm: equal to rounding."""
    import jax
    import jax.numpy as jnp

    from tacit.samplers.gram_records import centred_gram, gram_records, near_release

    plan, problem = _problem(40, tacit.PureDP(1e5), "y ~ a + b")
    layout, prior = noisy_grams(problem)[0], problem.prior.numbers(plan.model.design(SCHEMA))
    released = np.array(tacit.simulate(plan, n=40, seed=3).release.values) / plan.statistic().unit
    family = gram_records(layout, prior)

    def totals(key, released):
        _, records = family.start(key, released)
        wanted = layout.entries(near_release(layout, prior, released))
        return jnp.sum(jax.vmap(family.entries)(records), axis=0), wanted, layout.entries(centred_gram(records))

    with float64():
        total, wanted, again = (np.asarray(x) for x in jax.jit(totals)(jax.random.key(3), released))
    np.testing.assert_allclose(total, wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(total, again, rtol=0, atol=1e-12)
    # With next to no noise the start is the release itself.
    assert np.max(np.abs(total - released) / layout.sds) < 1e-3
    assert np.max(np.abs(total[::-1] - released) / layout.sds) > 1e3, "power: entries in the wrong order"


@lru_cache
def _augmented(plan, problem, datasets, settings):
    """Draws as they should be, and with the planted fault, noise taken to be 20% wider: one compiled call for both."""
    import jax.numpy as jnp

    from tacit.samplers.gram_records import gram_records
    from tacit.samplers.record_augmentation import augmented_chain

    layout, prior = noisy_grams(problem)[0], problem.prior.numbers(plan.model.design(SCHEMA))

    def chain(key, row):
        scales = layout.scales * row[-1]
        noise = lambda residual: jnp.sum(layout.log_noise(residual / scales))  # noqa: E731
        return augmented_chain(gram_records(layout, prior), noise, settings)(key, row[:-1])

    released = np.array(_values(plan, problem.n, datasets)) / plan.statistic().unit
    rows = [[*row, factor] for factor in (1.0, 1.2) for row in released]
    draws = _numbers(run(chain, rows, chains=4, seed=1)[0])
    return draws[:datasets], draws[datasets:]


def test_augmentation_agrees_with_the_collapsed_posterior():
    """Seeds 0 to 4 for data, 1 for chains; n = 30. 15 means within 4 errors: false-alarm rate 1e-3.

    The planted fault, a noise scale off by 20%, must break the same rule.
    """
    plan, problem = _problem(30, tacit.PureDP(10.0))
    collapsed = _draws(plan, problem, "collapsed", 5, Settings(300, 1_500))
    right, faulty = _augmented(plan, problem, 5, Settings(300, 8_000))
    assert _apart(collapsed, right).max() < 4
    assert _apart(collapsed, faulty).max() > 4


# A release of 200 rows at epsilon 5, and its posterior means of both coefficients and log sigma with their errors, from
# 100,000 draws of the collapsed method.
LARGER = (28138961764, 16448480370, 10859633842, 3763681358, 7626935808)
LARGER_MEANS = np.array([0.053093, 0.181195, -1.855374])
LARGER_ERRORS = np.array([0.000116, 0.000780, 0.000646])


@pytest.mark.parametrize("method", ["augment", pytest.param("collapsed", marks=pytest.mark.slow)])
def test_a_larger_release_has_the_known_posterior(method):
    """Seed 1. 3 means within 4 errors: false-alarm rate 2e-4. The planted fault: the release 10% larger."""
    _, problem = _problem(200, tacit.PureDP(5.0))
    releases = [LARGER, tuple(round(1.1 * value) for value in LARGER)]
    arrays, _ = posterior_arrays(problem, method, Settings(500, 5_000), releases, chains=4, seed=1)
    draws = _numbers(arrays)
    error = np.sqrt(_square_errors(draws) + LARGER_ERRORS**2)
    apart = np.abs(draws.mean(axis=(1, 2)) - LARGER_MEANS) / error
    assert apart[0].max() < 4
    assert apart[1].max() > 4


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(30, 3.0), (200, 5.0)])
def test_augmentation_agrees_with_the_collapsed_posterior_on_many_datasets(n, epsilon):
    """Seeds 0 to 19 for data, 1 for chains. 60 means within 4.5 errors each: false-alarm rate 8e-4."""
    plan, problem = _problem(n, tacit.PureDP(epsilon))
    collapsed = _draws(plan, problem, "collapsed", 20, Settings(300, 2_000))
    right, faulty = _augmented(plan, problem, 20, Settings(300, 20_000))
    assert _apart(collapsed, right).max() < 4.5
    assert _apart(collapsed, faulty).max() > 4.5


@pytest.mark.slow
def test_records_by_gradients_agree_with_the_collapsed_posterior():
    """Seed 0 for data, 1 for chains; n = 30. 3 means within 4 errors: false-alarm rate 2e-4.

    The planted fault must break the same rule.
    """
    plan, problem = _problem(30, tacit.PureDP(10.0))
    collapsed = _draws(plan, problem, "collapsed", 1, Settings(300, 5_000))
    assert _apart(collapsed, _draws(plan, problem, "individual", 1, Settings(500, 5_000))).max() < 4
    assert _apart(collapsed, _draws(plan, _louder(problem), "individual", 1, Settings(500, 5_000))).max() > 4


@pytest.mark.slow
@pytest.mark.parametrize("method", ["augment", "individual"])
def test_two_covariates_and_normal_noise(method):
    """Seeds 0 and 1 for data, 1 for chains; n = 30. 8 means within 4 errors: false-alarm rate 5e-4."""
    plan, problem = _problem(30, tacit.ZCDP(2.0), "y ~ a + b")
    collapsed = _draws(plan, problem, "collapsed", 2, Settings(300, 3_000))
    length = 20_000 if method == "augment" else 3_000
    assert _apart(collapsed, _draws(plan, problem, method, 2, Settings(500, length))).max() < 4


@pytest.mark.parametrize(("method", "n"), [("individual", 301), ("individual", 3), ("augment", 3), ("augment", 10**6)])
def test_too_few_or_too_many_records_are_refused(method, n):
    _, problem = _problem(n, tacit.PureDP(1.0))
    with pytest.raises(tacit.InputError, match=f"^Expected n={n} to be from 4 to .* for the {method} method"):
        problem.model.methods[method].build(problem, Settings(10, 10))
