"""Prices are added exactly, rounded up; totals are read as declared; what is left is rounded down."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tacit.privacy.events import Price, rounded_up


def sum_of(prices: Iterable[Price]) -> Price:
    """The exact sum of prices, each rounded up first if it is a float; inf if one of them is."""
    total = Fraction(0)
    for price in prices:
        if price == math.inf:
            return math.inf
        total += Fraction(rounded_up(price))
    return total


def as_declared(number: float) -> Fraction:
    """A total as a rational: the float itself or the decimal that people read, whichever is larger.

    0.3 is stored as a little less than 3/10, and three releases of exactly 1/10 must fit a total that reads 0.3. The
    two differ by less than one part in 10^15, and either is what the total says.
    """
    return max(Fraction(number), Fraction(repr(number)))


def written_down(number: Price) -> str:
    """Six digits in decimal, rounded down: what is left is never overstated. A float counts as the decimal it shows."""
    return _written(_decimal(number), ROUND_FLOOR)


def written_up(number: Price) -> str:
    """Six digits in decimal, rounded up: what is spent is never understated by more than one part in 10^9."""
    return _written(_decimal(number) * (1 - Fraction(1, 10**9)), ROUND_CEILING)


def _decimal(number: Price) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


def _written(number: Fraction, rounding: str) -> str:
    context = Context(prec=6, rounding=rounding)
    value = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(context)
    return f"{value:f}" if -6 < value.adjusted() < 9 else str(float(value))
