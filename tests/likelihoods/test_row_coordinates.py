"""Coordinates in which a Gram matrix is straight: the same prior, and what is not released does not move it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tacit.likelihoods.row_coordinates import ScatterCoordinates
from tacit.likelihoods.row_distributions import RowDistributionCoordinates, RowDistributionPrior
from tacit.runtime.backend import float64

INDICATORS = np.array([[1, f, g == 1, g == 2] for f in (0, 1) for g in (0, 1, 2)], float)
CELLS, D = len(INDICATORS), 2
PRIOR = RowDistributionPrior(
    mean=np.tile([0.1, -0.2], (CELLS, 1)),
    mean_sd=np.tile([0.5, 0.4], (CELLS, 1)),
    scale=np.array([0.5, 0.4]),
    shape=2.0,
    alpha=np.ones(CELLS),
)


def plain(coordinates, t):
    """Log-ratios of shares, means and covariance as one vector, whatever the coordinates."""
    rows = coordinates.distribution(t)
    logs = jnp.log(rows.probabilities)
    covariance = rows.root @ rows.root.T
    return jnp.concatenate([logs[1:] - logs[0], rows.means.ravel(), covariance[np.tril_indices(D)]])


def log_density(coordinates, t):
    """Of the prior with respect to what `plain` gives."""
    return coordinates.log_prior(t) - jnp.linalg.slogdet(jax.jacfwd(lambda t: plain(coordinates, t))(t))[1]


def same_place(old, rows):
    """The vector of the other coordinates."""
    logs = np.log(np.asarray(rows.probabilities))
    ratios = np.linalg.lstsq(old.spread * old.contrasts, logs - logs.mean(), rcond=None)[0]
    root = np.asarray(rows.root)
    covariance = root @ root.T
    sds = np.sqrt(np.diag(covariance))
    partial = np.arctanh(covariance[1, 0] / sds.prod()) / old.widths
    return np.concatenate(
        [
            ratios,
            np.ravel((np.asarray(rows.means) - PRIOR.mean) / PRIOR.mean_sd),
            np.log(np.expm1(sds / PRIOR.scale)),
            partial,
        ]
    )


def gram(coordinates, t):
    """Shares and sums of products of indicators and two numbers."""
    rows = coordinates.distribution(t)
    w = jnp.concatenate([INDICATORS, rows.means], axis=1)
    within = jnp.zeros((6, 6)).at[4:, 4:].set(rows.root @ rows.root.T)
    return jnp.einsum("k,kp,kq->pq", rows.probabilities, w, w) + within


def everything(coordinates):
    """A program for the rows, `plain`, the log density, and how the Gram matrix moves, at one place."""

    def found(t):
        slopes = jax.jacfwd(lambda t: gram(coordinates, t))(t)
        return coordinates.distribution(t), plain(coordinates, t), log_density(coordinates, t), slopes

    return jax.jit(found)


def test_the_prior_is_the_same_and_what_the_gram_matrix_does_not_say_does_not_move_it():
    """Seed 1, three places; densities of the same distribution differ by a constant, to rounding: no false alarm.

    Planted faults: the volume left out, which differs by more than 1 from place to place; the other coordinates, each
    of whose means moves the Gram matrix.
    """
    new, old = ScatterCoordinates(PRIOR, INDICATORS), RowDistributionCoordinates(PRIOR)
    rng, apart, volumes = np.random.default_rng(1), [], []
    free = new.lengths[3]
    assert free == 2 * 2
    with float64():
        here, there, volume = everything(new), everything(old), jax.jit(lambda t: new._all(t)[1])
        for _ in range(3):
            t = rng.normal(size=new.size)
            rows, place, density, slopes = here(t)
            _, other_place, other_density, others = there(same_place(old, rows))
            np.testing.assert_allclose(other_place, place, atol=1e-12)
            apart.append(float(density - other_density))
            volumes.append(float(volume(t)))
            assert np.abs(slopes[..., -free:]).max() < 1e-12
            assert np.abs(others[..., CELLS - 1 : CELLS - 1 + CELLS * D]).max(axis=(0, 1)).min() > 1e-3
    assert np.ptp(apart) < 1e-9
    assert np.ptp(volumes) > 1
