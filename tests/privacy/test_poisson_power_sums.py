import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from tacit.errors import InputError
from tacit.privacy import poisson_power_sums as sums
from tacit.privacy.poisson_range import CountsRange, PoissonLossRange


def exactly(mu, beta, digits=40):
    """I(mu), to 40 digits."""
    mp.mp.dps = digits
    mean, beta = mp.mpf(mu), mp.mpf(beta)
    reach = 15 * math.sqrt(mu) + 90
    counts = range(max(0, math.floor(mu - reach)), math.ceil(mu + reach))
    return mp.fsum(mp.exp(beta * (k * mp.log(mean) - mean - mp.loggamma(k + 1))) for k in counts)


def interpolated(v, beta):
    """I^ as a model computes it, at a logarithm of the mean, in numpy."""
    table = sums.power_sum_table(beta)
    place = (v - sums.LOG_MEANS[0]) / sums.STEP
    knot = min(int(place), sums.KNOTS - 2)
    t = place - knot
    a, b = table.values[knot : knot + 2]
    c, d = table.derivatives[knot : knot + 2]
    ends = a * (1 + 2 * t) * (1 - t) ** 2 + b * (3 - 2 * t) * t**2
    return math.exp(ends + sums.STEP * (c * t * (1 - t) ** 2 - d * (1 - t) * t**2))


@pytest.mark.parametrize("beta", [1.001, 1.5, 3.0, 20.0])
def test_sums_agree_with_40_digits(beta):
    for mu in (1e-8, 0.3, 4.7, 33.3, 500.0, 8000.0):
        assert abs(float(sums.power_sum(mu, beta) / exactly(mu, beta) - 1)) < 1e-13


def test_bessels_function():
    """I(mu) = e^{-2 mu} I_0(2 mu) at beta = 2."""
    mp.mp.dps = 40
    for mu in (0.01, 1.0, 77.0):
        reference = mp.exp(-2 * mp.mpf(mu)) * mp.besseli(0, 2 * mp.mpf(mu))
        assert abs(float(sums.power_sum(mu, 2.0) / reference - 1)) < 1e-14


@pytest.mark.parametrize("beta", [1.05, 1.5, 2.0, 6.0])
def test_between_knots_the_table_is_as_near_as_is_proved(beta):
    """Seed 3: 25 places of 25 cells on each side of the limit."""
    rng = np.random.default_rng(3)
    limit = sums.power_sum_table(beta).limit
    assert limit >= 40
    worst = 0.0
    for v in rng.uniform(-3, math.log(limit), 25):
        off = abs(interpolated(v, beta) - float(exactly(math.exp(v), beta, 25)))
        worst = max(worst, off)
        assert off <= sums.ERROR
    assert worst > 1e-18
    for v in rng.uniform(math.log(limit), 9 - 2 * sums.STEP, 25):
        falling = [interpolated(v + i * sums.STEP / 7, beta) for i in range(15)]
        assert all(high > low for high, low in itertools.pairwise(falling))
        again = sums.interpolated(np.exp(v + np.arange(15) * sums.STEP / 7), beta)
        assert np.allclose(falling, again, rtol=1e-11, atol=0)


def test_the_bound_on_the_fourth_derivative_holds():
    """Against central differences of G to 40 digits."""
    for beta in (1.5, 3.0):
        for mu in (0.2, 3.0, 30.0):
            bound = float(sums._fourth_derivative(np.array([mu]), beta)[0])
            v, step = math.log(mu), 1e-3
            g = [mp.log(exactly(math.exp(v + i * step), beta)) for i in (-2, -1, 0, 1, 2)]
            found = abs(float((g[0] - 4 * g[1] + 6 * g[2] - 4 * g[3] + g[4]) / step**4))
            assert found <= bound


def test_a_coarser_table_would_not_do():
    """The planted fault: with knots 32 times as far apart the error exceeds what is charged."""
    beta, step = 6.0, 32 * sums.STEP
    worst = 0.0
    for v in np.arange(-2.0, 1.0, step):
        g = [float(mp.log(exactly(math.exp(x), beta, 25))) for x in (v, v + step / 2, v + step)]
        near = [[float(mp.log(exactly(math.exp(x + i), beta, 25))) for i in (-1e-6, 1e-6)] for x in (v, v + step)]
        bends = [(high - low) / 2e-6 for low, high in near]
        middle = (g[0] + g[2]) / 2 + step * (bends[0] - bends[1]) / 8
        worst = max(worst, abs(math.exp(middle) - math.exp(g[1])))
    assert worst > sums.ERROR


@pytest.mark.parametrize("beta", [1.05, 1.5, 2.0, 5.0])
def test_the_range_with_the_table(beta):
    """What is charged is no more than with exact sums and what the table may be off by, as it was before, and no mean
    and no count exceeds it.

    Seed 4: 3,000 pairs of means, counts up to 12, the table's own loss.
    """
    charged = CountsRange().at(beta)
    b = beta - 1
    assert charged <= (PoissonLossRange().at(beta) + 2 * sums.ERROR / beta) * (1 + 1e-9)
    rng = np.random.default_rng(4)
    means = np.concatenate([rng.uniform(-20, 9, 1500), rng.uniform(-3, 5, 1500)])
    integrals = np.array([interpolated(v, beta) for v in means])
    reached = 0.0
    for y in range(13):
        logs = y * means - np.exp(means) - math.lgamma(y + 1)
        losses = -np.exp(b * logs) / b + integrals / beta
        reached = max(reached, float(np.ptp(losses)))
        assert np.ptp(losses) <= charged
    assert reached > 0.98 * charged


def test_a_power_that_no_table_holds_is_refused():
    with pytest.raises(InputError, match="beta"):
        sums.power_sum_table(200.0)
    with pytest.raises(InputError, match="mu"):
        sums.power_sum(2e6, 2.0)
