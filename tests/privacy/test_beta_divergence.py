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


OF_ENDS = (1.01, 1.5, 2.0, 3.0, 40.0)


def losses_to_40_digits(beta, shape, scale):
    """Losses -f^b/b + I/beta of one record: two classes at all probabilities, or normal densities of scale and more."""
    beta = mp.mpf(beta)
    if shape == "classes":
        for f in (0, mp.mpf("1e-60"), mp.mpf("1e-9"), 0.3, 0.5, 0.9, 1 - mp.mpf("1e-30"), 1):
            yield -(mp.mpf(f) ** (beta - 1)) / (beta - 1) + (mp.mpf(f) ** beta + (1 - mp.mpf(f)) ** beta) / beta
        return
    for sigma in (mp.mpf(scale), mp.mpf(scale) * mp.mpf("1.5"), mp.mpf(scale) * 1000):
        peak = (mp.sqrt(2 * mp.pi) * sigma) ** (1 - beta)
        for away in (0, 0.1, 1, 5, 60):
            yield peak * (beta ** mp.mpf(-0.5) / beta - mp.exp(-(beta - 1) * mp.mpf(away) ** 2 / 2) / (beta - 1))


@pytest.mark.parametrize("beta", OF_ENDS)
@pytest.mark.parametrize(("shape", "scale"), [("classes", 1.0), ("normal", 0.02), ("normal", 0.4), ("normal", 3.0)])
def test_every_loss_lies_between_the_ends_and_comes_near_both(beta, shape, scale):
    """Rejection from the prior rests on the ends. Planted: ends that are a thousandth of their distance too near."""
    found = ranges.Probabilities() if shape == "classes" else ranges.gaussian(scale)
    low, high = found.ends(beta)
    with mp.workdps(40):
        losses = list(losses_to_40_digits(beta, shape, scale))
        room = mp.mpf(1e-12) * (mp.mpf(high) - mp.mpf(low))
        assert low - room <= min(losses)
        assert max(losses) <= high + room
        near = (mp.mpf(high) - mp.mpf(low)) / 1000
        assert min(losses) < low + near, "the planted lower end is passed"
        assert max(losses) > high - near, "the planted upper end is passed"
