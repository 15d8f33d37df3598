"""How far one record more moves a sum of monomials: norms of one record's own vector, over levels, boxes and balls.

Under add-remove two neighbours differ by one record, and their sums by that record's vector v. Its entries are products
of mapped numbers, none above 1 in size, where some levels hold, and 0 elsewhere. All is in units here.

In a box. With the levels given, sum |v_i| / w_i is at most the sum of 1 / w_i over the entries whose levels hold, and
sum (v_i / w_i)^2 at most that of 1 / w_i^2. Proof: no entry exceeds 1. Attained where every number is at the end of its
range that is 1 in size. The worst levels are found by enumeration, up to 1,000 combinations; beyond that, of entries
about the same columns and the same factors the largest is taken, since at most one of them holds. []

In a ball |x| <= R, d numbers. The entries that are a monomial x^e of degree k times a fixed power of a response, which
is at most 1 in size, are one group. With m the multiplicity k! / (e_1! e_2! ...),

    sum_e (x^e)^2 / w_e^2 <= max_e (1 / (m_e w_e^2)) R^(2k)
    sum_e |x^e| / w_e     <= max_e (1 / (m_e w_e)) (d R^2)^(k/2)

Proof: sum_e m_e x^(2e) = (sum x_j^2)^k <= R^(2k), and sum_e m_e |x^e| = (sum |x_j|)^k <= (sqrt(d) R)^k by Cauchy and
Schwarz. In L1, where all squares have one scale s and all other products of degree 2 one scale c, it is
1 / (2c) (sum |x_j|)^2 + (1 / s - 1 / (2c)) sum x_j^2, of which the second term counts where it is positive; that is
taken instead. The box's bound of the group holds as well. The least of the bounds is taken, and groups are added up;
L1 is at most the root of the number of entries times the root of the squared L2 norm. []
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.design import Product
from tacit.statistics.noise_allocation import with_root_bound

_MOST_COMBINATIONS = 1_000
_FINE = 2**40

Monomial = tuple[int, tuple[int, ...]]
"""The power of the response, and the factors among the numbers, as positions."""


def addition_in_box(products: Sequence[Product], scales: Sequence[Fraction], unit: int) -> Sensitivity:
    """The claim for the sums of ``products``. Proof: in the head of this file. []"""
    weights = [(dict(one.levels), 1 / scale) for one, scale in zip(products, scales, strict=True)]
    codes: dict[str, set[int]] = {}
    for levels, _ in weights:
        for column, code in levels.items():
            codes.setdefault(column, {-1}).add(code)  # -1 stands for all levels that no entry names
    if math.prod(len(own) for own in codes.values()) <= _MOST_COMBINATIONS:
        found = [
            [weight for levels, weight in weights if all(at[column] == code for column, code in levels.items())]
            for at in (dict(zip(codes, choice, strict=True)) for choice in product(*codes.values()))
        ]
    else:
        largest: dict[object, Fraction] = {}
        for one, (levels, weight) in zip(products, weights, strict=True):
            key = tuple(levels), one.numbers, one.signs
            largest[key] = max(weight, largest.get(key, Fraction(0)))
        found = [list(largest.values())]
    l1 = max(sum(own, Fraction(0)) for own in found)
    l2_squared = max(sum((weight**2 for weight in own), Fraction(0)) for own in found)
    return Sensitivity(l1 * unit, l2_squared * Fraction(unit) ** 2, tuple(scales))


def addition_in_ball(
    monomials: Sequence[Monomial], scales: Sequence[Fraction], square: Fraction, unit: int
) -> Sensitivity:
    """The claim for ``monomials`` of numbers with sum of squares ``square`` at most. Proof: in the head of this file.
    []
    """
    numbers = len({factor for _, factors in monomials for factor in factors})
    groups: dict[tuple[int, int], list[tuple[tuple[int, ...], Fraction]]] = {}
    for (power, factors), scale in zip(monomials, scales, strict=True):
        groups.setdefault((power, len(factors)), []).append((factors, 1 / scale))
    l1, l2_squared = Fraction(0), Fraction(0)
    for (_, degree), group in groups.items():
        shared = [(weight / _multiplicity(factors), weight**2 / _multiplicity(factors)) for factors, weight in group]
        root = _root_above((numbers * square) ** degree)
        bounds = [sum((weight for _, weight in group), Fraction(0)), max(one for one, _ in shared) * root]
        own, other = ({w for f, w in group if (len(set(f)) == 1) is same} for same in (True, False))
        if degree == 2 and len(own) == len(other) == 1:
            (of_square,), (of_product,) = own, other
            half = of_product / 2
            bounds.append(half * numbers * square + max(of_square - half, Fraction(0)) * square)
        l1 += min(bounds)
        l2_squared += min(
            sum((weight**2 for _, weight in group), Fraction(0)), max(one for _, one in shared) * square**degree
        )
    return with_root_bound(l1 * unit, l2_squared * Fraction(unit) ** 2, scales)


def _multiplicity(factors: Sequence[int]) -> int:
    return math.factorial(len(factors)) // math.prod(math.factorial(times) for times in Counter(factors).values())


def _root_above(value: Fraction) -> Fraction:
    """A rational a little above the root."""
    return Fraction(math.isqrt(math.ceil(value * _FINE * _FINE)) + 1, _FINE)
