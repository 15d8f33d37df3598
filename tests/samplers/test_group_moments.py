"""Sums by group and their products over all rows, against those of made-up rows."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tacit.likelihoods.group_products import product_moments
from tacit.samplers.varying_effects import _by_group, _whitened

SIZES, MIDDLE, AWAY = (6, 15, 40), [[0.4, 0.2], [-0.3, 0.1]], [[0.2, 0.1], [0.1, 0.3]]
SCATTER, ALPHA, BETA = [[0.3, 0.1], [0.1, 0.2]], [0.3, -0.5], [0.4, -0.2]
SPREAD, SIGMA, TABLES = [0.25, 0.4], 0.3, 4000


def _of_rows(rng, q):
    """By group the sums of z z', and in every table those of (r, y) z; z is the same in all tables."""
    blocks, sums = [], []
    for size in SIZES:
        z = np.stack([np.ones(size), rng.uniform(-1, 1, size)])[:q]
        lines = np.array(MIDDLE)[:, :q] + np.array(AWAY)[:, :q] * rng.standard_normal((TABLES, 2, q))
        r = lines @ z + np.linalg.cholesky(SCATTER) @ rng.standard_normal((TABLES, 2, size))
        own = np.array(ALPHA)[:q] + np.array(SPREAD)[:q] * rng.standard_normal((TABLES, q))
        y = own @ z + np.einsum("k,tkn->tn", BETA, r) + SIGMA * rng.standard_normal((TABLES, size))
        blocks.append(z @ z.T)
        sums.append(np.concatenate([r, y[:, None]], axis=1) @ z.T)
    return np.array(blocks), np.stack(sums, axis=1)


def _largest(found, mean, covariance):
    """How many standard errors moments of ``found`` (tables, numbers) are from these, at most."""
    away = found - found.mean(axis=0)
    at_most = np.abs((found.mean(axis=0) - mean) / (found.std(axis=0) / np.sqrt(TABLES))).max()
    crossed = away[:, :, None] * away[:, None, :]
    error = crossed.std(axis=0) / np.sqrt(TABLES)
    return max(at_most, np.abs((crossed.mean(axis=0) - covariance) / error).max())


@pytest.mark.parametrize("q", [1, 2])
def test_their_moments_are_those_of_rows(q):
    """Seed 0, 4,000 tables of three groups. Of all means and covariances none is 5 standard errors away (one alarm in a
    thousand); the planted fault, a spread that is 10% too large, is.
    """
    blocks, sums = _of_rows(np.random.default_rng(0), q)
    root = np.linalg.cholesky(blocks)
    h = np.einsum("gab,tgib->tgia", np.linalg.inv(root), sums)
    ones = np.broadcast_to(root[:, 0][:, None], (TABLES, len(SIZES), 1, q))
    h = np.concatenate([ones, h], axis=2)
    products = np.einsum("tgia,tgja->tij", h, h).reshape(TABLES, -1)
    places = np.array([1, 2, 3, 5, 6, 7, 10, 11, 15])  # but for that of ones with themselves, which is known

    def largest(spread):
        given = (np.array(one)[:, :q] for one in (MIDDLE, AWAY))
        rest = (np.array(SCATTER), np.array(ALPHA)[:q], np.array(BETA), spread[:q], SIGMA)
        mean, covariance = _by_group(blocks, *given, *rest)
        by_group = max(
            _largest(sums[:, g].reshape(TABLES, -1), np.asarray(mean[g]), np.asarray(covariance[g]))
            for g in range(len(SIZES))
        )
        found, wide = product_moments(*_whitened(root, mean, covariance, 3, q))
        wide = np.asarray(wide).reshape(16, 16)[np.ix_(places, places)]
        return by_group, _largest(products[:, places], np.asarray(found).reshape(-1)[places], wide)

    with jax.enable_x64(True):
        assert max(largest(np.array(SPREAD))) < 5
        assert min(largest(1.1 * np.array(SPREAD))) > 5
