"""What is summed over the rows of a plan, and how far one unit of privacy moves it: by relation, and by person.

A record is a row, or a person with up to ``max_rows`` rows that count (`tacit.sources.people`). n is the number of
rows, or of people where each counts once. It is public under replace-one if every row counts and no person may have
fewer rows than another, or if people are what is counted; otherwise the statistic has it beside the sums, or its
entries add up to it, and it gets noise like them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import expected
from tacit.mechanisms.person import PERSON, ROW, Person
from tacit.privacy.neighbours import ADD_REMOVE
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.statistic import Statistic

_FINE = 2**20


@dataclass(frozen=True)
class UnitOfPrivacy:
    """What two neighbours differ by, under the relation ``neighbours``: a row, or the rows of a ``person``.

    ``filtered`` says that rows count only where they meet a condition: then any of them may add nothing.
    """

    neighbours: str
    person: Person | None = None
    filtered: bool = False

    def __post_init__(self) -> None:
        person = self.person
        hidden = self.filtered or self.neighbours == ADD_REMOVE
        if hidden and person is not None and person.weight is None and person.max_rows > 1:
            what = f'neighbours is "{ADD_REMOVE}"' if self.neighbours == ADD_REMOVE else "[where] leaves rows out"
            raise expected("weight", None, f'of [mechanism] to be "{ROW}" or "{PERSON}" where {what}')

    @property
    def n_is_public(self) -> bool:
        """Whether a release says n."""
        counted = self.person is None or self.person.weight != ROW
        return counted and not self.filtered and self.neighbours != ADD_REMOVE

    def released(self, statistic: Statistic) -> Statistic:
        """The statistic as it is released: with the number of rows where that is not public."""
        return statistic if self.n_is_public else statistic.of_unknown_n()

    def moves(self, statistic: Statistic) -> Sensitivity:
        """How far one record moves the sums of ``statistic``, in both norms.

        Proof: write v for the vector of a row. A pair of rows is at most `Statistic.sensitivity` apart, one row and
        none at most `Statistic.addition`. Rows: replace-one is the first, add-remove the second. Where rows count only
        under a condition, a row that does not meet it adds the zero vector, as no row would, and whether a row meets it
        depends on that row alone. So a replaced row is a pair of rows, one row and none, or none and none: at most the
        larger of the two (`Sensitivity.either`); a row that is added or removed is one row and none, or nothing.
        People whose rows count each, k <= m of them: under add-remove the sums differ by k vectors, at most m times the
        second. Under replace-one they differ by the k rows of one person less the k' rows of another. Pair them off,
        and what is left over with none: at most m steps, each of which is the first or the second. Rows that do not
        meet a condition are taken out first, so k and k' are numbers of those that do. Where stand-ins fill up k and k'
        to m, each step is the first.
        People who count once: the sums hold the mean of a person's k vectors, rounded as `_rounded_means` says. Means
        of vectors are convex combinations, so two of them are at most as far apart as some pair of rows, and one of
        them is no longer than the longest row. Under a condition a person may have none. []
        """
        added, person = self.neighbours == ADD_REMOVE, self.person
        times = 1 if person is None or person.weight == PERSON else person.max_rows
        if added:
            found = statistic.addition()
        elif self.filtered or (person is not None and person.weight == ROW):
            found = statistic.sensitivity().either(statistic.addition())
        else:
            found = statistic.sensitivity()
        return _rounded_means(found) if person is not None and person.weight == PERSON else found.times(times)


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
