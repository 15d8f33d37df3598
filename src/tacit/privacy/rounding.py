"""Floats on the safe side of a rational number."""

from __future__ import annotations

import math
import sys
from fractions import Fraction


def float_below(number: Fraction | float) -> float:
    """The largest float that is not above ``number``."""
    try:
        nearest = float(number)
    except OverflowError:  # an exact number beyond all floats
        return sys.float_info.max if number > 0 else -math.inf
    if math.isinf(nearest):
        return nearest
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > number else nearest


def float_above(number: Fraction | float) -> float:
    """The smallest float that is not below ``number``."""
    return 0.0 - float_below(-number)  # not -0.0
