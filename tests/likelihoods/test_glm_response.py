"""The response of a generalised linear model: its chances and slopes against scipy, its draws against its chances."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from tacit.likelihoods.glm_response import Response, log_from
from tacit.likelihoods.link_moments import Link
from tacit.runtime.backend import float64

SEED, DRAWS, LEVEL = 20211, 40_000, 1e-7


@pytest.mark.parametrize("most", [1, 2, 8, 12, 40, 41])
def test_the_chance_of_a_clamped_count(most):
    """Value and two slopes, on both sides of the place where the sum changes."""
    rates = np.concatenate([np.geomspace(0.05, 300, 200), [most + 1, np.nextafter(most + 1, 99)]])
    want = stats.poisson.logsf(most - 1, rates)
    slope = np.exp(stats.poisson.logpmf(most - 1, rates) - want)
    with float64():
        given = jnp.asarray(rates)
        first = jax.grad(lambda rate: log_from(most, rate))
        found = [
            np.asarray(f(given)) for f in (lambda r: log_from(most, r), jax.vmap(first), jax.vmap(jax.grad(first)))
        ]
    np.testing.assert_allclose(found[0], want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1], slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[2], slope * ((most - 1) / rates - 1 - slope), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("kind", ["softplus", "log"])
@pytest.mark.parametrize("most", [1, 5, 60])
def test_all_chances_add_up_to_one(kind, most):
    response = Response(Link(kind, clamp=most, unit=most))
    with float64():
        u, y = jnp.linspace(-6, 5, 40)[:, None], jnp.arange(most + 1.0)
        total = np.asarray(jnp.exp(response.log_likelihood(u, y)).sum(axis=1))
    np.testing.assert_allclose(total, 1, atol=1e-12)


def _p_value(response, u, draws):
    """Of the draws, against the chances; cells with fewer than five expected are joined."""
    with float64():
        chances = np.asarray(
            jnp.exp(response.log_likelihood(jnp.full(response.most + 1, u), jnp.arange(response.most + 1.0)))
        )
    expected, seen = chances * len(draws), np.bincount(draws.astype(int), minlength=len(chances))
    rare = expected < 5
    expected, seen = (np.append(a[~rare], a[rare].sum()) for a in (expected, seen))
    kept = expected > 0.5
    return stats.chi2.sf(np.sum((seen - expected)[kept] ** 2 / expected[kept]), kept.sum() - 1)


@pytest.mark.parametrize("kind", ["softplus", "log"])
@pytest.mark.parametrize(("most", "u"), [(1, -1.0), (5, 1.5), (12, 2.0), (60, 2.5)])
def test_draws_follow_the_chances(kind, most, u):
    """False alarms: 8 tests of 1e-7. The planted fault, a predictor that is 0.2 too large, is always seen."""
    response = Response(Link(kind, clamp=most, unit=most))
    with float64():
        draws, wrong = (
            np.asarray(response.draw(jax.random.key(SEED), jnp.full(DRAWS, u + fault))) for fault in (0.0, 0.2)
        )
    assert draws.max() <= most
    assert _p_value(response, u, draws) > LEVEL
    assert _p_value(response, u, wrong) < LEVEL
