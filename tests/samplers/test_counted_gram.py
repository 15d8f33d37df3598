"""The density of a Gram matrix as a function of its number of rows, which is what a latent n is weighed by."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import invwishart

from tacit.likelihoods.conjugate_gram import Centred, GramPriorParameters, log_density
from tacit.likelihoods.response import log_of_rows
from tacit.runtime.backend import float64
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
