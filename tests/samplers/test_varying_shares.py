"""Shares that vary by group: the likelihood of a group against sums over all counts, and its integral over a table."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from tacit.samplers.varying_shares import GroupCounts, _pieces, _table, _truncated


@pytest.mark.parametrize(("laplace", "rate"), [(True, None), (False, None), (True, 0.03)])
@pytest.mark.parametrize(
    ("z", "scale"), [((70.3, 24.6), 3.0), ((1.2, -2.0), 4.0), ((40.0, 0.0), 0.05), ((90.0, 30.0), 25.0)]
)
def test_a_group_has_the_likelihood_of_all_its_counts(z, scale, laplace, rate):
    """Every size to 700 and every number of yes, with the weight of a size among 20 groups and 4,000 rows; or, where n
    is not known, with weights that fall by a factor of 1 + r for one row more, as those of m by exp(-r). The largest
    difference of two log likelihoods is within 0.02 (0.06 where the Poisson distribution is taken for normal) wherever
    they are within 6 of the largest; without the noise, the planted fault, it is not.
    """
    with jax.enable_x64(True):
        problem = GroupCounts(4000.0 if rate is None else None, np.full((20, 2), scale), laplace)

        def log_sizes(m):
            return (18 * jnp.log1p(-jnp.minimum(m / 4000, 0.99)) if rate is None else -rate * m)[None]

        etas, (found,) = map(np.asarray, _table(problem, jnp.array(z), jnp.full(2, scale), log_sizes)[:2])

    def expected(width):
        n = np.arange(701)[:, None]
        b = np.arange(701)[None, :]
        residual = (np.array(z)[:, None, None] - np.stack([n - b + 0 * b, b + 0 * n])) / width
        noise = (-np.abs(residual) if laplace else -(residual**2) / 2).sum(axis=0)
        noise = noise + (18 * np.log1p(-n / 4000) if rate is None else -n * np.log1p(rate))
        kept = (b <= n) & (noise > noise.max() - 60)
        n, b, noise = (n + 0 * b)[kept], (b + 0 * n)[kept], noise[kept]
        whole = noise + gammaln(n + 1) - gammaln(b + 1) - gammaln(n - b + 1)
        logs = [logsumexp(whole + b * eta - n * np.logaddexp(0, eta)) for eta in etas[::8]]
        return np.array(logs) - max(logs)

    true, mine = expected(scale), found[::8]
    near = true > -6
    mine = mine - mine[true.argmax()]
    assert near.sum() >= 3
    assert np.abs(mine - true)[near].max() < (0.06 if scale > 10 else 0.02)
    if scale > 1:
        assert np.abs(mine - expected(0.3 * scale))[near].max() > 0.1


def test_a_table_times_a_normal_density_is_integrated_exactly():
    """A table that is linear: its integral is the mean of the line, for any spread, and nothing is lost far out."""
    with jax.enable_x64(True):
        places = jnp.linspace(-12, 12, 128)[None]
        for alpha, spread in ((0.3, 1.0), (2.0, 0.01), (-3.0, 1e-6)):
            held, _ = _pieces(places, 13.0 + places, alpha, spread)
            assert np.isclose(float(held.sum()), 13 + alpha)
        far, _ = _pieces(places, jnp.ones_like(places), -40.0, 1.0)
        assert float(far.sum()) < 1e-100


def test_normal_numbers_between_two_ends_have_their_distribution():
    """Quantiles of truncated normal numbers by the normal distribution function, and far out between the ends."""
    with jax.enable_x64(True):
        for low, high in ((-1.0, 0.5), (2.0, 4.0), (-9.0, -8.0)):
            x = float(_truncated(jnp.array(low), jnp.array(high), jnp.array(0.3)))
            ends = norm.cdf([low, high]) if low < 0 else 1 - norm.sf([low, high])
            share = (norm.cdf(x) - ends[0]) / (ends[1] - ends[0])
            assert np.isclose(share, 0.3 if low < 0 else 0.7, atol=1e-6) or np.isclose(share, 0.3, atol=1e-6)
        assert 50.0 <= float(_truncated(jnp.array(50.0), jnp.array(51.0), jnp.array(0.3))) <= 51.0
