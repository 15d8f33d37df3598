"""What is summed over the rows of a plan, and how far one unit of privacy moves it: by relation, and by person.

A record is a row, or a person with up to ``max_rows`` rows that count (`tacit.sources.people`). n is the number of
rows, or of people where each counts once. It is public under replace-one if no person may have fewer rows than another,
or if people are what is counted; otherwise the statistic has it beside the sums, or its entries add up to it, and it
gets noise like them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.errors import expected
from tacit.mechanisms.person import PERSON, ROW, Person
from tacit.privacy.neighbours import ADD_REMOVE
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.statistic import Statistic

_FINE = 2**20


def n_is_public(neighbours: str, person: Person | None) -> bool:
    """Whether a release says n."""
    if neighbours == ADD_REMOVE and person is not None and person.weight is None and person.max_rows > 1:
        raise expected("weight", None, f'of [mechanism] to be "{ROW}" or "{PERSON}" where neighbours is "{ADD_REMOVE}"')
    return neighbours != ADD_REMOVE and (person is None or person.weight != ROW)


def released_statistic(statistic: Statistic, neighbours: str, person: Person | None) -> Statistic:
    """The statistic as it is released: with the number of rows where that is not public."""
    return statistic if n_is_public(neighbours, person) else statistic.of_unknown_n()


def record_moves(statistic: Statistic, neighbours: str, person: Person | None) -> Sensitivity:
    """How far one record moves the sums of ``statistic``, in both norms.

    Proof: write v for the vector of a row. A pair of rows is at most `Statistic.sensitivity` apart, one row and none at
    most `Statistic.addition`. Rows: replace-one is the first, add-remove the second.
    People whose rows count each, k <= m of them: under add-remove the sums differ by k vectors, at most m times the
    second. Under replace-one they differ by the k rows of one person less the k' rows of another. Pair them off, and
    what is left over with none: at most m steps, each of which is the first or the second (`Sensitivity.either`). Where
    stand-ins fill up k and k' to m, each is the first.
    People who count once: the sums hold the mean of a person's k vectors, rounded as `_rounded_means` says. Means of
    vectors are convex combinations, so two of them are at most as far apart as some pair of rows, and one of them is no
    longer than the longest row. []
    """
    pair, single = statistic.sensitivity, statistic.addition
    if person is None:
        return single() if neighbours == ADD_REMOVE else pair()
    if person.weight == PERSON:
        return _rounded_means(single() if neighbours == ADD_REMOVE else pair())
    if neighbours == ADD_REMOVE:
        return single().times(person.max_rows)
    return (pair().either(single()) if person.weight == ROW else pair()).times(person.max_rows)


def _rounded_means(exact: Sensitivity) -> Sensitivity:
    """The claim for sums over people of means of their vectors, of which the part of people with k rows is rounded.

    Proof: the sums are the sum over k of floor(T_k / k), T_k the exact sum over the rows of people with k rows. One
    record changes T_k for at most two k, and floor(T_k / k) by what T_k / k changes, but for less than 1. So each entry
    moves by less than 2 lattice units more than its exact part: with s^2 the sum of 1 / w_i^2 the L1 norm is at most
    that of the exact part plus 2 sum 1 / w_i, and by the triangle inequality the L2 norm that of it plus 2 s. []
    """
    inverse = [1 / scale for scale in exact.relative_scales]
    length, extra = _root_above(exact.l2_squared), _root_above(sum((one**2 for one in inverse), Fraction(0)))
    return Sensitivity(exact.l1 + 2 * sum(inverse, Fraction(0)), (length + 2 * extra) ** 2, exact.relative_scales)


def _root_above(value: Fraction) -> Fraction:
    return Fraction(math.isqrt(math.ceil(value * _FINE * _FINE)) + 1, _FINE)
