"""Floats on the safe side of a rational number."""

from __future__ import annotations

import math
from fractions import Fraction


def float_below(number: Fraction | float) -> float:
    """The largest float that is not above ``number``."""
    nearest = float(number)
    if math.isinf(nearest):
        return nearest
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > number else nearest


def float_above(number: Fraction | float) -> float:
    """The smallest float that is not below ``number``."""
    return -float_below(-number)
