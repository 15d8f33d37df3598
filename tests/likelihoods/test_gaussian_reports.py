"""Densities of reports with Gaussian noise: against high precision, with total mass 1, slopes at extremes finite."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from tacit.likelihoods.report_densities import (
    exponential_gaussian_report,
    lattice_gaussian_report,
    normal_gaussian_report,
)
from tacit.runtime.backend import float64

PLACES = np.array([-3.0, -1.0, -0.2, 0.4, 1.0, 1.7])


def reference(density, low, high, cuts, noise, lowest, highest):
    """log p at every place that lies within 8 noises of the bounds, by 30-digit quadrature."""
    found = []
    with mpmath.workdps(30):
        for place in PLACES:
            z, s = mpmath.mpf(float(place)), mpmath.mpf(noise)
            own = sorted(
                {low, high, *(min(max(c, low), high) for c in (*cuts, *(z + k * s for k in (-9, -2, 0, 2, 9))))}
            )
            inside = mpmath.quad(lambda x, z=z, s=s: density(x) * mpmath.npdf(z, x, s), own)
            found.append(inside + lowest * mpmath.npdf(z, low, s) + highest * mpmath.npdf(z, high, s))
        return np.array([float(mpmath.log(p)) if p > 1e-290 else -np.inf for p in found])


@pytest.mark.parametrize("noise", [0.3, 2.0, 50.0])
@pytest.mark.parametrize(("mean", "sd"), [(0.1, 0.02), (-1.2, 0.3), (0.0, 1.0), (2.0, 5.0), (0.3, 200.0)])
def test_normal(mean, sd, noise):
    """12 digits; the slopes against differences of fourth order."""
    m, s = mpmath.mpf(mean), mpmath.mpf(sd)
    ends = mpmath.ncdf((-1 - m) / s), mpmath.ncdf((m - 1) / s)
    value = reference(
        lambda x: mpmath.npdf(x, m, s),
        mpmath.mpf(-1),
        mpmath.mpf(1),
        [m + k * s for k in range(-9, 10, 3)],
        noise,
        *ends,
    )

    def log_p(v, z=PLACES):
        return normal_gaussian_report(z, v[0], v[1], low=-1.0, high=1.0, noise=noise)

    check(log_p, np.array([mean, sd]), value)


@pytest.mark.parametrize("noise", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("rate", [1e-3, 0.5, 4.0, 300.0])
def test_exponential(rate, noise):
    """12 digits; the slope against differences of fourth order."""
    r = mpmath.mpf(rate)
    cuts = [mpmath.mpf(k) / r for k in (1, 5, 20, 60)]
    value = reference(
        lambda x: r * mpmath.exp(-r * x), mpmath.mpf(0), mpmath.mpf(1), cuts, noise, mpmath.mpf(0), mpmath.exp(-r)
    )
    check(lambda v: exponential_gaussian_report(PLACES, v[0], high=1.0, noise=noise), np.array([rate]), value)


def check(log_p, at, value):
    with float64():
        found = np.asarray(log_p(jnp.asarray(at)))
        slopes = np.asarray(jax.jacfwd(log_p)(jnp.asarray(at)))
        seen = np.isfinite(value)
        np.testing.assert_allclose(found[seen], value[seen], rtol=1e-12, atol=1e-12)
        assert np.isfinite(found).all()
        assert np.isfinite(slopes).all()
        for i in range(len(at)):
            step = 2e-3 * at[-1]  # of the sd or the rate
            move = np.zeros(len(at))
            move[i] = step
            near = (np.asarray(log_p(jnp.asarray(at + move))) - np.asarray(log_p(jnp.asarray(at - move)))) / (2 * step)
            far = (np.asarray(log_p(jnp.asarray(at + 2 * move))) - np.asarray(log_p(jnp.asarray(at - 2 * move)))) / (
                4 * step
            )
            np.testing.assert_allclose(slopes[seen, i], ((4 * near - far) / 3)[seen], rtol=2e-6, atol=1e-9)


def test_counts_are_summed_over_the_lattice():
    """By the definition, 14 digits; the total mass is 1, and the planted fault, another noise, is not the same."""
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(8))
    points = np.arange(8) / 7
    kernel = np.exp(-(((PLACES[:, None] - points) / 0.4) ** 2) / 2) / (0.4 * np.sqrt(2 * np.pi))
    grid = np.linspace(-5, 6, 20_001)
    with float64():
        found = np.asarray(lattice_gaussian_report(PLACES, jnp.asarray(weights), high=1.0, noise=0.4))
        whole = np.asarray(lattice_gaussian_report(grid, jnp.asarray(weights), high=1.0, noise=0.4))
        other = np.asarray(lattice_gaussian_report(PLACES, jnp.asarray(weights), high=1.0, noise=0.41))
    np.testing.assert_allclose(found, np.log(kernel @ weights), rtol=1e-13)
    assert np.trapezoid(np.exp(whole), grid) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(found - other).max() > 1e-2


def test_without_privacy_left_it_stays_finite():
    """Noise of a hundredth of the bounds, past any privacy: logarithms and slopes are numbers."""
    z = np.linspace(-1.1, 1.1, 23)
    with float64():
        for slopes in (
            jax.jacfwd(lambda v: normal_gaussian_report(z, v[0], v[1], low=-1.0, high=1.0, noise=0.01))(
                jnp.array([0.0, 0.001])
            ),
            jax.jacfwd(lambda v: exponential_gaussian_report(z, v, high=1.0, noise=0.01))(jnp.asarray(1e3)),
        ):
            assert np.isfinite(np.asarray(slopes)).all()
