"""Prices are added exactly, rounded up; totals are read as declared; what is left is rounded down."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tacit.privacy.events import Price, rounded_up

_FINEST = 1024  # bits of the largest denominator


def sum_of(prices: Iterable[Price]) -> Price:
    """The sum of prices in their order, by `plus`."""
    total: Price = Fraction(0)
    for price in prices:
        total = plus(total, price)
    return total


def plus(total: Price, price: Price) -> Price:
    """``total`` and one price more, which is rounded up first if it is a float; inf if either is.

    The sum is exact while its denominator is at most 2^1024. Past that it is rounded up to a multiple of 2^-1024, so
    that it takes the same room and time however many prices it holds.

    Proof: rounding is upwards, so a sum is never below the sum of what it holds, and nothing is admitted that the exact
    sum would refuse. What is refused in its place costs less than 2^-1024 for each price. []
    """
    if math.inf in (total, price):
        return math.inf
    exact = Fraction(total) + Fraction(rounded_up(price))
    if exact.denominator <= 2**_FINEST:
        return exact
    return Fraction(-((-exact.numerator << _FINEST) // exact.denominator), 2**_FINEST)


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
