"""Distributions of one clamped number: moments against high precision, priors, coordinates, and slopes at extremes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import beta, gamma, lognorm, norm

from tacit.errors import InputError
from tacit.likelihoods.clamped_distributions import (
    BetaCoordinate,
    ClampedCounts,
    ClampedExponential,
    ClampedNormal,
    GammaCoordinate,
    moments,
    power_moments,
)
from tacit.models.geometric import Geometric
from tacit.models.poisson import Poisson
from tacit.runtime.backend import float64

NORMAL = ClampedNormal(mean_sd=1.5, sd_median=0.4, sd_spread=0.9)
GAMMA_SD = ClampedNormal(mean_sd=1.5, sd_median=0.4, sd_spread=0.9, gamma=GammaCoordinate(2.0, 5.0))
EXPONENTIAL = ClampedExponential(shape=0.7, rate=0.2)


def clamped_poisson(most, shape, rate):
    return ClampedCounts(Poisson("y"), most, GammaCoordinate(shape, rate))


def clamped_geometric(most, a, b):
    return ClampedCounts(Geometric("y"), most, BetaCoordinate(a, b))


def normal_moment(mean, sd, k):
    mean, sd = mpmath.mpf(mean), mpmath.mpf(sd)
    cuts = sorted({mpmath.mpf(-1), mpmath.mpf(1), *(min(max(mean + j * sd, -1), 1) for j in range(-12, 13, 2))})
    inside = mpmath.quad(lambda x: x**k * mpmath.npdf(x, mean, sd), cuts)
    return (-1) ** k * mpmath.ncdf((-1 - mean) / sd) + mpmath.ncdf((mean - 1) / sd) + inside


def counts_moment(masses, most, k):
    last = 1 - mpmath.fsum(masses)
    return mpmath.fsum(m * (mpmath.mpf(j) / most) ** k for j, m in enumerate(masses)) + last


def found_moments(distribution, parameters):
    with float64():
        phi = distribution.coordinates({name: jnp.float64(value) for name, value in parameters.items()})
        values = np.asarray(moments(distribution, phi))
        slopes = np.asarray(jax.jacrev(lambda p: moments(distribution, p))(phi))
        mean, covariance = power_moments(distribution, phi, (1, 2))
        again = {name: float(value) for name, value in distribution.parameters(phi).items()}
    assert np.isfinite(slopes).all()
    for name, value in parameters.items():
        assert again[name] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(mean, values[:2], atol=1e-15)
    assert np.linalg.eigvalsh(np.asarray(covariance)).min() > -1e-17
    np.testing.assert_allclose(covariance, _covariance(values), atol=4e-16)
    return values, slopes


def _covariance(m):
    return [[m[1] - m[0] ** 2, m[2] - m[0] * m[1]], [m[2] - m[0] * m[1], m[3] - m[1] ** 2]]


@pytest.mark.parametrize("sd", [0.01, 0.3, 4.0, 200.0])
@pytest.mark.parametrize("mean", [0.0, -0.99, 1.0, 1.7, -30.0])
def test_moments_of_a_clamped_normal_number(mean, sd):
    """E[c^k] to 13 digits by 30-digit quadrature; the slope by the mean is k E[x^(k-1); inside]."""
    values, slopes = found_moments(NORMAL, {"mean": mean, "sd": sd})
    with mpmath.workdps(30):
        exact = [float(normal_moment(mean, sd, k)) for k in range(1, 5)]
        step = mpmath.mpf(10) ** -8
        by_mean = [
            float((normal_moment(mean + step, sd, k) - normal_moment(mean - step, sd, k)) / (2 * step)) for k in (1, 4)
        ]
    np.testing.assert_allclose(values, exact, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(slopes[[0, 3], 0] / NORMAL.mean_sd, by_mean, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 1.0, 30.0, 49.0, 51.0, 1e6])
def test_moments_of_a_clamped_exponential_number(rate):
    """E[c^k] = k rate^-k times the incomplete gamma function."""
    values, _ = found_moments(EXPONENTIAL, {"rate": rate})
    with mpmath.workdps(30):
        exact = [float(k * mpmath.gammainc(k, 0, rate) / mpmath.mpf(rate) ** k) for k in range(1, 5)]
    np.testing.assert_allclose(values, exact, rtol=1e-13)


@pytest.mark.parametrize(("most", "rate"), [(1, 1e-5), (1, 40.0), (20, 0.3), (20, 20.0), (20, 900.0), (500, 480.0)])
def test_moments_of_a_clamped_poisson_count(most, rate):
    values, _ = found_moments(clamped_poisson(most, shape=1.0, rate=0.1), {"rate": rate})
    with mpmath.workdps(30):
        masses = [mpmath.exp(j * mpmath.log(rate) - rate - mpmath.loggamma(j + 1)) for j in range(most)]
        exact = [float(counts_moment(masses, most, k)) for k in range(1, 5)]
    np.testing.assert_allclose(values, exact, rtol=1e-12)


@pytest.mark.parametrize(("most", "p"), [(1, 0.999), (20, 1e-6), (20, 0.2), (500, 0.01)])
def test_moments_of_a_clamped_geometric_count(most, p):
    values, _ = found_moments(clamped_geometric(most, a=1.0, b=2.0), {"p": p})
    with mpmath.workdps(30):
        masses = [mpmath.mpf(p) * (1 - mpmath.mpf(p)) ** j for j in range(most)]
        exact = [float(counts_moment(masses, most, k)) for k in range(1, 5)]
    np.testing.assert_allclose(values, exact, rtol=1e-11)


def test_the_recursion_for_truncated_normal_moments_would_lose_digits():
    """The planted fault: I_k = mean I_(k-1) + (k-1) sd^2 I_(k-2) - ... in float64, at sd = 200, is off by over 1e-9."""
    sd = 200.0
    density = norm.pdf(1, 0, sd)
    inside = [norm.cdf(1, 0, sd) - norm.cdf(-1, 0, sd), 0.0]
    for k in range(2, 5):
        inside.append((k - 1) * sd**2 * inside[k - 2] - sd**2 * density * (1 - (-1) ** (k - 1)))
    with mpmath.workdps(30):
        exact = float(mpmath.quad(lambda x: x**4 * mpmath.npdf(x, 0, sd), [-1, 1]))
    values, _ = found_moments(NORMAL, {"mean": 0.0, "sd": sd})
    assert abs(inside[4] - exact) > 1e-9
    assert values[3] - 2 * norm.cdf(-1, 0, sd) == pytest.approx(exact, abs=1e-15)


PRIORS = [
    (NORMAL, 0, "mean", norm(0, 1.5)),
    (NORMAL, 1, "sd", lognorm(0.9, scale=0.4)),
    (GAMMA_SD, 0, "mean", norm(0, 1.5)),
    (GAMMA_SD, 1, "sd", gamma(2.0, scale=0.2)),
    (EXPONENTIAL, 0, "rate", gamma(0.7, scale=5.0)),
    (clamped_poisson(12, shape=3.0, rate=0.5), 0, "rate", gamma(3.0, scale=2.0)),
    (clamped_geometric(9, a=0.5, b=2.0), 0, "p", beta(0.5, 2.0)),
]


@pytest.mark.parametrize(("distribution", "index", "name", "prior"), PRIORS, ids=lambda v: str(v)[:20])
def test_priors_are_what_they_say_and_their_coordinates_are_standard(distribution, index, name, prior):
    """The density by phi, integrated up to the quantiles of the prior, gives their probabilities, to 1e-5.

    And phi has mean 0 and standard deviation 1 (for a log-gamma and a logit-beta number too).
    """
    with float64():
        centre = jnp.zeros(distribution.size)
        grid = np.linspace(-40, 12, 26_001)
        values = np.exp(np.asarray(jax.vmap(lambda t: distribution.log_prior(centre.at[index].set(t)))(grid)))
        others = {n: jnp.float64(0.5) for n in distribution.parameters(centre)}
        places = [float(distribution.coordinates({**others, name: prior.ppf(p)})[index]) for p in (0.05, 0.5, 0.95)]
    cumulative = cumulative_trapezoid(values, grid, initial=0)
    cumulative, density = cumulative / cumulative[-1], values / cumulative[-1]
    np.testing.assert_allclose(np.interp(places, grid, cumulative), (0.05, 0.5, 0.95), atol=1e-5)
    assert np.trapezoid(density * grid, grid) == pytest.approx(0, abs=1e-5)
    assert np.trapezoid(density * grid**2, grid) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ClampedNormal(0.0, 1.0, 1.0),
        lambda: ClampedNormal(1.0, -1.0, 1.0),
        lambda: ClampedExponential(float("nan"), 1.0),
        lambda: clamped_poisson(0, 1.0, 1.0),
        lambda: clamped_poisson(10**6, 1.0, 1.0),
        lambda: clamped_geometric(True, 1.0, 1.0),
        lambda: clamped_geometric(5, 1.0, float("inf")),
    ],
)
def test_it_refuses_numbers_that_are_no_prior(make):
    with pytest.raises(InputError):
        make()


def test_far_out_everything_stays_finite():
    """A sampler may look anywhere: values and slopes at phi = +-40 and reports at both ends are numbers."""
    laws = [NORMAL, GAMMA_SD, EXPONENTIAL, clamped_poisson(20, 1.0, 0.1), clamped_geometric(20, 1.0, 1.0)]
    z = np.array([-1.0, 0.0, 0.37, 1.0])
    with float64():
        for distribution in laws:
            for signs in ([1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]):
                phi = 40 * jnp.asarray(signs[: distribution.size])
                for function in (
                    lambda p, distribution=distribution: jnp.sum(moments(distribution, p)),
                    lambda p, distribution=distribution: jnp.sum(distribution.log_report(p, z, 0.5)),
                    distribution.log_prior,
                ):
                    value, slope = jax.value_and_grad(function)(phi)
                    assert np.isfinite(value), (distribution, phi)
                    assert np.isfinite(slope).all(), (distribution, phi)
