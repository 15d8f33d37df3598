"""The logarithm against many digits. Seed 3; mpmath's value is the reference."""

import math

import mpmath
import numpy as np
import pytest

from tacit.expressions.logarithm import logarithm


def numbers():
    rng = np.random.default_rng(3)
    wide = 2.0 ** rng.uniform(-1000, 1023, 2000)
    near = 1 + rng.uniform(-1e-3, 1e-3, 1000)
    ends = np.array([1.0, 2.0**-1000, 1.7976931348623157e308, math.nextafter(1, 0), math.nextafter(1, 2), math.sqrt(2)])
    return np.concatenate([wide, near, rng.uniform(0, 100, 1000), ends])


def units_off(found, values):
    with mpmath.workprec(200):
        return [
            abs(float((mpmath.mpf(float(one)) - mpmath.log(mpmath.mpf(float(value)))) / math.ulp(one)))
            for one, value in zip(found, values, strict=True)
        ]


def test_it_is_within_a_unit_in_the_last_place():
    values = numbers()
    assert max(units_off(logarithm(values), values)) < 1


def test_a_coefficient_that_is_wrong_in_its_tenth_digit_is_found():
    values = numbers()
    assert max(units_off(logarithm(values) * (1 + 1e-10), values)) > 1


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_it_is_none_where_there_is_none(value):
    assert np.isnan(logarithm(np.array([value]))[0])


def test_exact_powers_of_two_and_one():
    assert logarithm(np.array([1.0]))[0] == 0
    assert logarithm(np.array([2.0]))[0] == math.log(2)
