"""The density of a Gram matrix as a function of its number of rows, which is what a latent n is weighed by."""

from __future__ import annotations

from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import invwishart

import tacit
from tacit.infer import problem_of
from tacit.likelihoods.conjugate_gram import Centred, GramPriorParameters, log_density
from tacit.likelihoods.response import log_of_rows
from tacit.models.gram_layout import noisy_grams
from tacit.runtime.backend import float64, run
from tacit.runtime.chain import SamplerSettings
from tacit.samplers import counted_gram
from tacit.samplers.counted_gram import log_of_covariate_rows

D, DRAWS = 2, 20_000


def prior():
    return GramPriorParameters(np.zeros(D), 3.0, D + 8.0, np.eye(D), np.zeros(D + 1), np.eye(D + 1), 6.0, 2.0)


def matrices(n, seed):
    """Sums of (x, y) and Cholesky factors of their centred scatter, for ``DRAWS`` tables of n rows of the model."""
    own, rng = prior(), np.random.default_rng(seed)
    sums, factors = np.empty((DRAWS, D + 1)), np.empty((DRAWS, D + 1, D + 1))
    for i in range(DRAWS):
        spread = np.linalg.cholesky(invwishart.rvs(own.nu0, own.psi0, random_state=rng))
        middle = own.m0 + spread @ rng.standard_normal(D) / np.sqrt(own.kappa0)
        sigma = np.sqrt(own.b0 / rng.gamma(own.a0))
        theta = sigma * rng.standard_normal(D + 1)
        x = middle + rng.standard_normal((n, D)) @ spread.T
        y = theta[0] + x @ theta[1:] + sigma * rng.standard_normal(n)
        w = np.column_stack([x, y])
        sums[i] = w.sum(axis=0)
        factors[i] = np.linalg.cholesky(w.T @ w - np.outer(sums[i], sums[i]) / n)
    return sums, factors


def ratio(n, other, terms, seed=1):
    """The mean of p(B | other) / p(B | n) over matrices of n rows, and its standard error: 1 for two densities."""
    sums, factors = matrices(n, seed)
    own = prior()
    with float64():

        def log_ratio(s, f):
            centred = [
                Centred(s, jnp.linalg.cholesky(f @ f.T + jnp.outer(s, s) / n - jnp.outer(s, s) / rows))
                for rows in (float(n), float(other))
            ]
            both = [log_density(one, rows, own) for one, rows in zip(centred, (float(n), float(other)), strict=True)]
            return both[1] - both[0]

        logs = np.asarray(jax.jit(jax.vmap(log_ratio))(jnp.asarray(sums), jnp.asarray(factors)))
        logs = logs + float(terms(jnp.asarray(other * 1.0)) - terms(jnp.asarray(n * 1.0)))
    values = np.where(np.isfinite(logs), np.exp(logs), 0.0)
    return values.mean(), values.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize(("n", "other"), [(20, 21), (20, 19), (60, 62)])
def test_the_density_integrates_to_the_same_whatever_n(n, other):
    """Seed 1, within 4.5 standard errors: a false alarm of 1 in 100,000. Planted: without the terms it is far off."""

    def terms(rows):
        return log_of_covariate_rows(rows, D, prior()) + log_of_rows(rows, D + 1, prior().response)

    found, error = ratio(n, other, terms)
    assert abs(found - 1) < 4.5 * error
    assert error < 0.05
    without, slight = ratio(n, other, lambda rows: 0.0 * rows)
    assert abs(without - 1) > 10 * slight


@pytest.mark.slow
def test_fresh_noise_and_trajectories_draw_the_same():
    """Seed 4: y ~ a, 5,000 rows, epsilon = 1, where fresh noise suits; at epsilon = 0.01 it does not.

    2,000 draws each: means within 0.2 standard deviations (each has an error of about 0.03), widths within 15%.
    Planted: without what depends on n alone, n is drawn elsewhere, by far.
    """
    schema = tacit.Schema(y=(-10, 10), a=(-1, 1))
    prior = {"a0": 20.0, "b0": 0.5, "nu0": 20.0, "kappa0": 20.0}
    found = {}
    for epsilon in (1.0, 0.01):
        budget = tacit.PureDP(epsilon, neighbours="add-remove")
        plan = tacit.Plan(tacit.LinearRegression("y ~ a"), schema, budget)
        release = tacit.simulate(plan, n=5000, seed=4, prior=prior).release
        problem = problem_of(plan, prior, 5000)
        layout, numbers = noisy_grams(problem)[0], problem.prior.numbers(plan.model.design(schema))
        numbers_of = np.array([release.values], float) / release.unit
        assert list(counted_gram.suits(layout, numbers, numbers_of)) == [epsilon == 1]
        found[epsilon] = layout, numbers, numbers_of
    layout, numbers, released = found[1.0]
    settings = SamplerSettings(300, 500)

    def drawn(build):
        draws, _ = run(build(settings), released, chains=4, seed=2)
        return {name: np.asarray(draws[name]).reshape(2000, -1) for name in ("theta", "n")}

    fresh = drawn(lambda s: counted_gram.fresh_noise_chain(layout, numbers, s))
    nuts = drawn(lambda s: counted_gram.counted_nuts_chain([layout], numbers, s))
    for name, draws in nuts.items():
        sd = draws.std(axis=0)
        assert np.all(abs(fresh[name].mean(axis=0) - draws.mean(axis=0)) < 0.2 * sd)
        assert np.all(abs(fresh[name].std(axis=0) / sd - 1) < 0.15)
    with mock.patch.object(counted_gram, "log_of_rows", return_value=0.0):
        planted = drawn(lambda s: counted_gram.fresh_noise_chain(layout, numbers, s))
    assert abs(planted["n"].mean() - nuts["n"].mean()) > 0.5 * nuts["n"].std()
