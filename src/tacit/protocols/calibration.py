"""From a budget to the least noise of a protocol: the price of the very protocol is asked, never a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.errors import expected
from tacit.privacy.events import PureEvent
from tacit.privacy.guarantees import Guarantee, PureDP
from tacit.protocols.parameters import LARGEST_EPSILON


def largest_epsilon(budget: Guarantee) -> Fraction:
    """The largest float epsilon up to 10^6, as an exact rational, whose pure event satisfies ``budget``.

    For a pure budget it is the budget's own epsilon. Every other price of a pure event grows with epsilon, so the rest
    is bisection, down to neighbouring floats; the lower one is returned, for which the event was asked.
    """
    if isinstance(budget, PureDP):
        return min(Fraction(budget.epsilon), Fraction(LARGEST_EPSILON))

    def meets(epsilon: float) -> bool:
        return PureEvent(epsilon).satisfies(budget)

    low, high = 1.0, float(LARGEST_EPSILON)
    if meets(high):
        return Fraction(high)
    while not meets(low):
        low, high = low / 2, low
        if low < 1e-300:
            raise expected("budget", budget, "to allow some pure epsilon above 1e-300")
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if meets(middle) else (low, middle)
    return Fraction(low)


def least_whole(meets: Callable[[int], bool], most: int) -> int | None:
    """The least whole number from 1 to ``most`` that ``meets`` holds for, if it holds from there on; None: none does.

    ``meets`` was asked about the number that is returned.
    """
    too_few, enough = 0, 1
    while not meets(enough):
        if enough == most:
            return None
        too_few, enough = enough, min(2 * enough, most)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if meets(middle) else (middle, enough)
    return enough


def root_above(square: Fraction) -> int:
    """The least whole number s >= 1 with s^2 >= ``square`` > 0."""
    return math.isqrt(math.ceil(square) - 1) + 1
