"""Two unknowns by weighting: the density of two noisy sums, agreement with NUTS, and weights that stay even."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from tacit.errors import InputError
from tacit.likelihoods.clamped_laws import ClampedNormal
from tacit.likelihoods.evidence import BinnedReports, Sums
from tacit.likelihoods.noisy_sums import two_normal_laplace
from tacit.likelihoods.report_summaries import binned
from tacit.runtime.backend import float64, run
from tacit.runtime.chain import Settings
from tacit.samplers.importance_chain import importance_chain
from tacit.samplers.pooled_posterior import evidence_chain

LAW = ClampedNormal(mean_sd=0.5, sd_median=0.3, sd_spread=0.7)


@pytest.mark.parametrize(
    ("covariance", "scales"),
    [
        ([[4.0, 1.0], [1.0, 2.0]], (1.0, 0.6)),
        ([[0.01, 0.0], [0.0, 0.02]], (5.0, 3.0)),
        ([[900.0, 500.0], [500.0, 400.0]], (1.4, 0.9)),
        ([[1.0, 1.8], [1.8, 3.2401]], (0.5, 0.3)),
    ],
)
@pytest.mark.parametrize("residual", [(0.0, 0.0), (2.0, -1.0), (-9.0, 6.0)])
def test_the_density_of_two_noisy_sums(residual, covariance, scales):
    """Against 20-digit quadrature, to 2e-3 of the density, the worst where the sums are nearly dependent.

    The planted fault, hardly any noise on the second sum, is off by more where that noise is not small beside the sum.
    """
    (v11, v12), (_, v22) = covariance
    slope, rest = v12 / v11, math.sqrt(v22 - v12**2 / v11)
    s1, (b1, b2), (r1, r2) = math.sqrt(v11), scales, residual
    with mpmath.workdps(20):

        def second(e):
            r, s, b = mpmath.mpf(r2 - slope * e), mpmath.mpf(rest), mpmath.mpf(b2)
            up = mpmath.exp(-r / b) * mpmath.ncdf(r / s - s / b)
            down = mpmath.exp(r / b) * mpmath.ncdf(-r / s - s / b)
            return mpmath.exp(s**2 / (2 * b**2)) * (up + down) / (2 * b)

        def part(e):
            return mpmath.npdf(e, 0, s1) * mpmath.exp(-abs(r1 - e) / b1) / (2 * b1) * second(e)

        low, high = max(-12 * s1, r1 - 60 * b1), min(12 * s1, r1 + 60 * b1)
        marks = [r1, *([r2 / slope] if slope else []), *np.linspace(low, high, 25)]
        cuts = sorted({min(max(float(c), low), high) for c in marks})
        value = float(mpmath.log(mpmath.quad(part, cuts)))
    with float64():
        found = float(two_normal_laplace(np.array(residual), np.array(covariance), scales))
        alone = float(two_normal_laplace(np.array(residual), np.array(covariance), (b1, 1e-3)))
    assert abs(found - value) < 2e-3
    assert abs(alone - value) > 4e-3 or b2 < rest


def evidence(n, epsilon, seed):
    """Reports and noisy sums of n rows each, with their pieces."""
    rng = np.random.default_rng(seed)
    values = np.clip(rng.normal(0.3, 0.4, (2, n)), -1, 1)
    reports = binned(values[0] + rng.laplace(size=n) * 2 / epsilon, -1.0, 1.0, 513)
    sums = np.array([values[1].sum(), (values[1] ** 2).sum()]) + rng.laplace(size=2) * np.array([2.8, 1.7]) / epsilon
    return [BinnedReports(513, 2 / epsilon), Sums(n, (1, 2), (2.8 / epsilon, 1.7 / epsilon), True)], reports, sums


@pytest.mark.slow
@pytest.mark.parametrize("which", ["reports", "sums", "both"])
def test_it_agrees_with_nuts(which):
    """Seed 3: 200 people, epsilon 1. 4,000 draws each; alarm at 6 standard errors (below 1e-8).

    The planted fault, noise taken for a third of what it is, moves a mean by more.
    """
    pieces, reports, sums = evidence(200, 1.0, 3)
    chosen = {"reports": slice(0, 1), "sums": slice(1, 2), "both": slice(0, 2)}[which]
    released = np.concatenate([reports, sums][chosen])[None]
    wrong = [BinnedReports(513, 2 / 3), Sums(200, (1, 2), (2.8 / 3, 1.7 / 3), True)]

    def found(make, own, settings):
        draws, _ = run(make(LAW, own[chosen], settings), released, chains=4, seed=3)
        return {name: np.asarray(values).ravel() for name, values in draws.items()}

    weighted = found(importance_chain, pieces, Settings(0, 1000))
    nuts = found(evidence_chain, pieces, Settings(400, 1000))
    fault = found(importance_chain, wrong, Settings(0, 1000))
    off = []
    for name, draws in weighted.items():
        error = draws.std() * math.sqrt(1 / 2000 + 1 / 1000)  # at least 2,000 and 1,000 of them are effective
        assert abs(draws.mean() - nuts[name].mean()) < 6 * error, name
        assert abs(draws.std() - nuts[name].std()) < 6 * error, name
        off += [abs(fault[name].mean() - nuts[name].mean()) / error, abs(fault[name].std() - nuts[name].std()) / error]
    assert max(off) > 6


@pytest.mark.slow
def test_weights_stay_even_for_few_and_many_people():
    """Seed 4: 30 people or three million, epsilon 0.1 or 5: a tenth of the places count at least, and R-hat is near 1.

    The truth, mean 0.3 and sd 0.4, lies within 6 posterior standard deviations (false alarms below 1e-8).
    """
    for n, epsilon in ((30, 0.1), (3_000_000, 5.0)):
        pieces, reports, sums = evidence(n, epsilon, 4)
        chain = importance_chain(LAW, pieces, Settings(0, 400))
        draws, info = run(chain, np.concatenate([reports, sums])[None], chains=2, seed=4)
        assert np.asarray(info["efficiency"]).min() > 0.1
        for name, truth in (("mean", 0.3), ("sd", 0.4)):
            values = np.asarray(draws[name])[0]
            assert abs(values.mean() - truth) < 6 * values.std()
            assert abs(values[0].mean() - values[1].mean()) < 6 * values.std() * math.sqrt(2 / 200)


def test_no_evidence_is_refused():
    with pytest.raises(InputError):
        importance_chain(LAW, [], Settings(0, 10))
