"""The ranges of the beta-divergence loss in floats are never below their value in 40 digits."""

import math

import mpmath as mp
import pytest

from tacit.errors import InputError
from tacit.privacy import beta_divergence as ranges

BETAS = [1 + 2.0**-40, 1.0001, 1.3, 2.0, 7.7, 400.0, 2500.0, 30_000.3, 999_999.0]


def smoothed(least, classes, b):
    most = 1 - (classes - 1) * mp.mpf(least)
    return (most**b - mp.mpf(least) ** b) / b


CASES = [
    (ranges.Probabilities(), lambda b: 1 / b),
    (ranges.LocationScale(1.01), lambda b: mp.mpf(1.01) ** b / b),
    (ranges.LocationScale(0.9), lambda b: mp.mpf(0.9) ** b / b),
    (ranges.gaussian(0.41), lambda b: (mp.sqrt(2 * mp.pi) * mp.mpf(0.41)) ** -b / b),
    (ranges.gaussian(0.37, 3), lambda b: (mp.sqrt(2 * mp.pi) * mp.mpf(0.37)) ** (-3 * b) / b),
    (ranges.gaussian(0.1), lambda b: (mp.sqrt(2 * mp.pi) * mp.mpf(0.1)) ** -b / b),
    (ranges.AnyDensity(1.001), lambda b: mp.mpf(1.001) ** b * (1 / b + 1 / (1 + b))),
    (ranges.SmoothedProbabilities(0.01, 3), lambda b: smoothed(0.01, 3, b)),
    (ranges.SmoothedProbabilities(math.nextafter(0.25, 0), 4), lambda b: smoothed(math.nextafter(0.25, 0), 4, b)),
]


@pytest.mark.parametrize(("loss_range", "exact"), CASES)
def test_a_range_is_rounded_up_whatever_beta_is(loss_range, exact):
    mp.mp.dps = 60
    for beta in BETAS:
        found, true = loss_range.at(beta), exact(mp.mpf(beta) - 1)
        assert found >= true
        if 1e-290 < true < 1e290:
            b = beta - 1
            unavoidable = 1e-11 + 1e-14 * b * 10
            if isinstance(loss_range, ranges.SmoothedProbabilities) and loss_range.classes == 4:
                unavoidable = 100  # three roundings apart from equal classes
            assert found <= true * (1 + unavoidable)


def test_the_planted_faults():
    """What one part in 10^12 alone would have left below: large powers, and smoothed probabilities at beta near 1."""
    mp.mp.dps = 60
    scale, beta = 0.41, 30_000.3
    true = (mp.sqrt(2 * mp.pi) * mp.mpf(scale)) ** -(mp.mpf(beta) - 1) / (mp.mpf(beta) - 1)
    value = ranges.gaussian(scale)._at(beta)
    assert abs(value / true - 1) > 1e-12
    least, beta = 0.01, 1 + 2.0**-40
    b = beta - 1
    most = 1 - 2 * least
    assert abs((most**b - least**b) / b / smoothed(least, 3, mp.mpf(b)) - 1) > 1e-6


def test_a_range_beyond_floats_is_infinite_and_no_weight_makes_it_good():
    assert ranges.gaussian(0.01).at(900_000.0) == math.inf
    with pytest.raises(InputError, match="beta"):
        ranges.weight_for(ranges.gaussian(0.01), 900_000.0, 1.0)
    tiny = ranges.gaussian(10.0).at(900_000.0)  # 0 as a float
    assert tiny > 0
    assert ranges.weight_for(ranges.gaussian(10.0), 900_000.0, 1.0) > 0
