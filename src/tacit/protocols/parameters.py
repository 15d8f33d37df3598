"""The public numbers of a protocol: checked, written into a plain table, and read from one.

A plain table holds whole numbers and strings alone, so that any language can read it without loss: a rational is the
string "a/b", and a whole number of 2^53 or more, which JSON in a browser would round, is a string of its digits.
"""

from __future__ import annotations

import re
from fractions import Fraction

from tacit._support.reading import read_table as read_table
from tacit._support.reading import whole as whole
from tacit.errors import expected

LARGEST_EPSILON = 10**6  # past any meaning of privacy, and exact all the same

_EXACT = 2**53  # a float64 holds every whole number below


def rational_epsilon(name: str, value: object) -> Fraction:
    """``value`` as an exact rational, if it lies above 0 and is no larger than 10^6; a float is converted exactly."""
    if isinstance(value, bool) or not isinstance(value, Fraction | int | float) or not 0 < value <= LARGEST_EPSILON:
        raise expected(name, value, "to be a positive number of at most 1000000")
    return Fraction(value)


def written_whole(value: int) -> int | str:
    """As it stands in a plain table."""
    return value if abs(value) < _EXACT else str(value)


def written_rational(value: Fraction) -> str:
    """As it stands in a plain table."""
    return f"{value.numerator}/{value.denominator}"


def read_whole(name: str, value: object) -> int:
    """Read what `written_whole` wrote."""
    if isinstance(value, str) and re.fullmatch(r"-?[1-9][0-9]{15,99}", value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise expected(name, value, "to be a whole number, or from 2^53 on a string of its digits")
    return value


def read_wholes(name: str, value: object) -> tuple[int, ...]:
    """Read a list of what `written_whole` wrote."""
    if not isinstance(value, list | tuple):
        raise expected(name, value, "to be a list of whole numbers")
    return tuple(read_whole(name, item) for item in value)


def read_rational(name: str, value: object) -> Fraction:
    """Read what `written_rational` wrote."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,400}/0*[1-9][0-9]{0,399}", value):
        raise expected(name, value, 'to be a string "a/b" of two whole numbers')
    return Fraction(value)
