"""Exact numbers of events: checked, written as "p/q", and read back."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from tacit.errors import expected


def rational(name: str, value: object, *, zero: bool = False) -> Fraction:
    """``value`` exactly, above 0, or at least 0 where ``zero`` may be."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not _is_finite(value):
        raise expected(name, value, "to be a finite rational number")
    if value < 0 or (value == 0 and not zero):
        raise expected(name, value, "to be at least 0" if zero else "to be above 0")
    return Fraction(value)


def _is_finite(value: float | Fraction) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an exact number beyond all floats
        return False


def whole(name: str, value: object, least: int = 1) -> int:
    """``value``, a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise expected(name, value, f"to be a whole number of at least {least}")
    return value


def written(value: Fraction) -> str:
    """As it stands in a ledger."""
    return f"{value.numerator}/{value.denominator}"


def read(value: object) -> object:
    """What `written` wrote, as a fraction, also inside lists; anything else as it is."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]+/[0-9]*[1-9][0-9]*", value):
        return Fraction(value)
    return [read(v) for v in value] if isinstance(value, list) else value
