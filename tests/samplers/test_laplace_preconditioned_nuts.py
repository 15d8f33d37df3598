"""The chain in coordinates whitened at the peak: a posterior by quadrature, with little noise and with much."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from tacit.errors import InputError
from tacit.runtime.backend import float64, run
from tacit.runtime.chain import SamplerSettings
from tacit.samplers.laplace_preconditioned_nuts import Geometry, climb, laplace_preconditioned_nuts

LEVEL = 1e-4  # of false alarms, of each comparison


@dataclass(frozen=True, eq=False)
class Measured:
    """Two numbers about t, a line and its exponential, each with sampling spread and noise."""

    scales: np.ndarray
    laplace: bool
    size: int = 2


def moments(piece, t):
    return jnp.stack([3 * t[0], jnp.exp(t[0])]), 0.01 * jnp.eye(2)


def geometry(piece):
    """t ~ N(0, 1); what is measured is normal around `moments` given the variances of its noise."""

    def target(t, parts, variances):
        mean, covariance = moments(piece, t)
        spread = jnp.diagonal(covariance) + variances[0]
        return -(t @ t) / 2 - jnp.sum((parts[0] - mean) ** 2 / spread + jnp.log(spread)) / 2

    def information(t, parts, variances):
        jacobian = jax.jacfwd(lambda t: moments(piece, t)[0])(t)
        return jnp.eye(1) + jacobian.T @ (jacobian / (0.01 + variances[0])[:, None])

    return Geometry(target, information, lambda parts, variances: jnp.zeros(1), 1.0, moments)


def by_quadrature(released, piece):
    """The distribution function of t on a grid."""
    t = np.linspace(-5, 5, 4001)
    residuals = np.asarray(released)[:, None] - np.stack([3 * t, np.exp(t)])
    logs = -(t**2) / 2
    for residual, scale in zip(residuals, piece.scales, strict=True):
        if piece.laplace:  # normal spread of sd 0.1 beside Laplace noise
            e = np.linspace(-0.6, 0.6, 241)
            density = np.exp(-(e**2) / 0.02) @ np.exp(-np.abs(residual[None, :] - e[:, None]) / scale)
            logs = logs + np.log(np.maximum(density, 1e-300))
        else:
            logs = logs - residual**2 / (0.01 + scale**2) / 2
    weights = np.exp(logs - logs.max())
    return lambda x: np.interp(x, t, np.cumsum(weights) / weights.sum())


def drawn(piece, released, own=None):
    settings = SamplerSettings(warmup=300, draws=2000)
    chain = laplace_preconditioned_nuts([piece], own or geometry(piece), lambda t: {"t": t[0]}, settings)
    draws, info = run(chain, [released], chains=2, seed=5)
    return np.asarray(draws["t"]).reshape(-1)[::10], info


@pytest.mark.parametrize(("scale", "laplace"), [(0.02, True), (0.5, False), (20.0, True)])
def test_draws_follow_the_posterior(scale, laplace):
    """Seed 5; the p-value of 400 draws, thinned by 10. The planted fault takes noise for twice as wide."""
    piece = Measured(np.full(2, scale), laplace)
    released = [1.5, 1.9]
    right = by_quadrature(released, piece)
    found, _ = drawn(piece, released)
    assert kstest(found, right).pvalue > LEVEL
    if not laplace:
        wider = geometry(Measured(np.full(2, 2.0), laplace=False))
        wrong = Geometry(
            lambda t, parts, variances: wider.target(t, parts, [4 * v for v in variances]),
            wider.information,
            wider.start,
            1.0,
            moments,
        )
        assert kstest(drawn(piece, released, wrong)[0], right).pvalue < LEVEL


def test_steps_that_do_not_rise_are_not_taken():
    """The peak of a density whose curvature is told ten times too small is found all the same."""

    def target(t):
        return -jnp.sum((t - 3) ** 4) - jnp.sum(t**2)

    with float64():
        peak, information = climb(target, lambda t: 0.2 * (1 + t[0]) * jnp.eye(2), jnp.zeros(2), steps=200)
        assert np.allclose(np.asarray(information), 0.2 * (1 + float(peak[0])) * np.eye(2))
        assert np.allclose(np.asarray(jax.grad(target)(peak)), 0, atol=1e-3)


def test_there_must_be_something_to_infer_from():
    with pytest.raises(InputError, match="at least one piece"):
        laplace_preconditioned_nuts([], geometry(None), lambda t: {"t": t[0]}, SamplerSettings(10, 10))
