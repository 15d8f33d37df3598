"""How far one person can move a statistic: the number that every noise scale is derived from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import expected


@dataclass(frozen=True)
class Sensitivity:
    """Upper bounds on what one record does to an integer statistic, in lattice units, under a neighbour relation.

    Write D for the difference of the statistics of two records, entry by entry, and w for ``relative_scales``: entry i
    is to get noise of scale (base * w_i). Then over all pairs of records

        l1 >= sum_i |D_i| / w_i          l2_squared >= sum_i (D_i / w_i)^2

    Both are exact rationals, so nothing is lost between the proof and the noise. Where nothing else is said, the
    neighbour relation is replace-one; under add-remove D is the vector of the one record that is there or not.
    """

    l1: Fraction
    l2_squared: Fraction
    relative_scales: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.relative_scales or min(self.relative_scales) <= 0:
            raise expected("relative_scales", self.relative_scales, "to be one or more positive rationals")
        if self.l1 <= 0 or self.l2_squared <= 0:
            raise expected("sensitivity", (self.l1, self.l2_squared), "to be positive")

    def times(self, records: int) -> Sensitivity:
        """The bounds when up to ``records`` records are replaced at once.

        Proof: replace them one after the other. The differences add up, and by the triangle inequality both norms of
        the sum are at most ``records`` times the bound for one (so the squared L2 norm is at most ``records``^2 times).
        It is attained when every replaced pair is the worst one. []
        """
        return Sensitivity(self.l1 * records, self.l2_squared * records**2, self.relative_scales)

    def either(self, other: Sensitivity) -> Sensitivity:
        """The bounds for whatever one of the two is about.

        Proof: both claims have the same scales, and each bound is the larger one. []
        """
        if self.relative_scales != other.relative_scales:
            raise expected("relative_scales", len(other.relative_scales), "to be those of the other claim")
        return Sensitivity(max(self.l1, other.l1), max(self.l2_squared, other.l2_squared), self.relative_scales)

    @property
    def entries(self) -> int:
        """How many numbers the statistic has."""
        return len(self.relative_scales)
