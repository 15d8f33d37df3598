"""One unknown along a line: the right density of a noisy sum, draws of the right distribution, and agreement with
NUTS.
"""

from __future__ import annotations

import math

import jax
import mpmath
import numpy as np
import pytest
from scipy.stats import gamma, kstest

from tacit.errors import InputError
from tacit.likelihoods.clamped_distributions import ClampedCounts, ClampedExponential, GammaCoordinate
from tacit.likelihoods.evidence import BinnedReports, NoisyPowerSums
from tacit.likelihoods.noisy_sums import closed, normal_laplace
from tacit.likelihoods.report_summaries import binned
from tacit.models.poisson import Poisson
from tacit.runtime.backend import float64, run
from tacit.runtime.chain import SamplerSettings
from tacit.samplers.grid_1d import _along_rows, _piecewise_linear, grid_1d_chain
from tacit.samplers.pooled_posterior import pooled_posterior_chain

EXPONENTIAL = ClampedExponential(shape=2.0, rate=0.5)


@pytest.mark.parametrize(("sd", "scale"), [(1.0, 1.0), (3.0, 0.2), (0.01, 5.0), (40.0, 0.04)])
@pytest.mark.parametrize("residual", [0.0, 0.3, -4.0, 30.0])
def test_the_density_of_normal_plus_laplace(residual, sd, scale):
    """Against 30-digit quadrature, to 8 digits of the density: JAX's log Phi has an error of 4e-9 just below -20."""
    with mpmath.workdps(30):
        s, b, r = mpmath.mpf(sd), mpmath.mpf(scale), mpmath.mpf(residual)

        def part(x):
            return mpmath.npdf(x, 0, s) * mpmath.exp(-abs(r - x) / b) / (2 * b)

        cuts = sorted({-14 * s, -3 * s, mpmath.mpf(0), 3 * s, 14 * s, *(r + k * b for k in (-60, -6, 0, 6, 60))})
        value = float(mpmath.log(mpmath.quad(part, cuts)))
    with float64():
        found = float(normal_laplace(residual, sd, scale))
    assert found == pytest.approx(value, abs=1e-8)


def test_draws_follow_the_piecewise_linear_density():
    """Seed 1: 20,000 draws, Kolmogorov-Smirnov at 1e-6. Planted: draws that are uniform within their cell."""
    places, heights = np.linspace(0.0, 3.0, 4), np.array([0.0, 2.0, 0.0, 1.0])
    area = 0.5 * 2 + 0.5 * 2 + 0.5

    def cdf(x):
        x = np.asarray(x)
        first, second, third = np.clip(x, 0, 1), np.clip(x - 1, 0, 1), np.clip(x - 2, 0, 1)
        return (first**2 + 2 * second - second**2 + third**2 / 2) / area

    with float64():
        drawn = np.asarray(_piecewise_linear(jax.random.key(1), places, heights, 20_000))
    assert kstest(drawn, cdf).pvalue > 1e-6
    rng = np.random.default_rng(1)
    assert kstest(np.floor(drawn) + rng.random(len(drawn)), cdf).pvalue < 1e-6
    rows, uniform = np.arange(20_000) % 2, rng.random(20_000)
    with float64():
        both = np.asarray(_along_rows(uniform, places, np.stack([heights[::-1], heights]), rows))
    assert kstest(both[rows == 1], cdf).pvalue > 1e-6
    assert kstest(3 - both[rows == 0], cdf).pvalue > 1e-6


@pytest.mark.parametrize("n", [0, 10**3, 10**12])
def test_without_clamping_and_noise_it_is_the_textbook_posterior(n):
    """Seed 2: no evidence gives the prior, n rows far inside the bounds Gamma(2 + n, 0.5 + their sum), about.

    8,000 draws; Kolmogorov-Smirnov at 1e-6 for the prior, else means within 6 standard errors and what the normal limit
    of a sum may be off by, 3 / n. A posterior that is 10^6 times narrower than the prior is found as well.
    """
    rate = 40.0
    piece = NoisyPowerSums(max(n, 1), (1,), (1e12 if n == 0 else 1e-3,), laplace=True)
    chain = grid_1d_chain(EXPONENTIAL, [piece], SamplerSettings(0, 8000))
    draws = np.asarray(run(chain, np.array([[n / rate]]), chains=1, seed=2)[0]["rate"])[0, 0]
    if n == 0:
        assert kstest(draws, gamma(2.0, scale=2.0).cdf).pvalue > 1e-6
        return
    mean, spread = (2 + n) / (0.5 + n / rate), rate / math.sqrt(n)
    assert abs(draws.mean() - mean) < 6 * spread / math.sqrt(len(draws)) + 3 * rate / n
    assert draws.std() == pytest.approx(spread, rel=6 / math.sqrt(2 * len(draws)) + 10 / math.sqrt(n))


@pytest.mark.slow
def test_it_agrees_with_nuts():
    """Seed 3: counts from two groups of reports and a noisy sum; 4,000 draws each, alarm at 6 standard errors.

    The planted fault, a noise that is taken for half as large, moves the spread by more.
    """
    rng = np.random.default_rng(3)
    distribution = ClampedCounts(Poisson("y"), 10, GammaCoordinate(shape=2.0, rate=0.5))
    values = np.minimum(rng.poisson(3.0, 1300), 10) / 10
    parts = [binned(values[:900] + rng.laplace(size=900) * 2, 0, 1, 101)]
    parts += [binned(values[900:1000] + rng.normal(size=100), -8, 9, 301)]
    released = np.concatenate([[values[1000:].sum() + 12.0], *parts])[None]

    def found(chain):
        return np.asarray(run(chain, released, chains=4, seed=3)[0]["rate"]).ravel()

    def pieces(scale):
        return [
            NoisyPowerSums(300, (1,), (scale,), True),
            BinnedReports(101, 2.0),
            BinnedReports(301, 1.0, True, (-8.0, 9.0)),
        ]

    line = found(grid_1d_chain(distribution, pieces(20.0), SamplerSettings(0, 1000)))
    nuts = found(pooled_posterior_chain(distribution, pieces(20.0), SamplerSettings(300, 1000)))
    wrong = found(grid_1d_chain(distribution, pieces(5.0), SamplerSettings(0, 1000)))
    error = line.std() * math.sqrt(1 / 4000 + 1 / 1000)  # at least 1,000 of NUTS's 4,000 are effective
    assert abs(line.mean() - nuts.mean()) < 6 * error
    assert abs(line.std() - nuts.std()) < 6 * error
    assert abs(wrong.mean() - nuts.mean()) > 6 * error


def test_what_has_no_closed_form():
    assert closed(NoisyPowerSums(10, (1,), (1.0,), laplace=True))
    assert closed(BinnedReports(11, 1.0))
    assert not closed(NoisyPowerSums(10, (1,), (1.0, 2.0), laplace=True))
    assert not closed(NoisyPowerSums(10, (1, 2), (1.0, 2.0), laplace=(True, False)))
    with pytest.raises(InputError):
        grid_1d_chain(EXPONENTIAL, [], SamplerSettings(0, 10))
