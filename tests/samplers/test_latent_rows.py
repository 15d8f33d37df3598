"""The coordinates of a number of rows: whatever they are, n has the density that its noise and a flat prior say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import laplace, norm

from tacit.runtime.backend import float64
from tacit.samplers.latent_rows import laplace_rows_at, rows_around, rows_at

T = np.linspace(-9, 9, 20_001)
LEAST = 3.0


@pytest.mark.parametrize("released", [500.0, 12.0, 3.0, -20.0])
@pytest.mark.parametrize("law", ["laplace", "normal"])
def test_n_has_the_density_of_its_noise_above_the_least_number(law, released):
    """By the trapezoid rule along t, its error below 1e-3. Planted: the density without what a step of t has of n."""
    scale = 5.0
    sd = scale * (math.sqrt(2) if law == "laplace" else 1.0)
    with float64():
        around = float(rows_around(released, sd, LEAST))
        n, volume = map(np.asarray, (laplace_rows_at if law == "laplace" else rows_at)(T, around, scale, LEAST))
    noise = (laplace if law == "laplace" else norm)(released, scale)
    exact = (noise.cdf(n) - noise.cdf(LEAST)) / noise.sf(LEAST)

    def away(volume):
        heights = np.exp(volume + noise.logpdf(n) - np.max(volume + noise.logpdf(n)))
        below = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
        return np.abs(below / below[-1] - exact).max()

    assert (np.diff(n) >= 0).all()
    assert away(volume) < 1e-3
    if law == "laplace" or released < 10:
        assert away(0 * volume) > 1e-2


def test_far_above_the_least_number_the_coordinate_of_laplace_noise_is_standard_normal():
    """So that the density has no kink where n is what was released; planted: in the other coordinate it has one."""
    with float64():
        n, volume = map(np.asarray, laplace_rows_at(T, 500.0, 5.0, LEAST))
        other, own = map(np.asarray, rows_at(T, 500.0, 5.0, LEAST))
    logs = volume - np.abs(n - 500) / 5
    assert np.allclose(logs - logs[len(T) // 2], -(T**2) / 2, atol=1e-8)
    kinked = own - np.abs(other - 500) / 5
    assert np.abs(np.diff(kinked, 2)).max() > 100 * np.abs(np.diff(logs, 2)).max()
