"""Reports of scores: every device releases its own row's score, and its information, at its cohort's public point.

The sum of a cohort's reports is the sum of scores and information that a central round has (`ScoreSums`), plus the sum
of everybody's noise. No distribution of the covariates is assumed anywhere. People of different cohorts differ, so each
of them sends one report, and nobody pays twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.models.cohort import Cohort
from tacit.noise.registry import noise_for
from tacit.privacy.guarantees import ApproxDP, Guarantee, PureDP
from tacit.protocols.local_randomizer import Encoder, LocalRandomizer
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.schema import Schema
from tacit.statistics.score_sums import ScoreSums

SCORES = "scores"


@dataclass(frozen=True)
class RowScore(Encoder):
    """What each row alone adds to ``sums``: its own score and information at the point of the sums."""

    sums: ScoreSums

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the covariates and the response."""
        return self.sums.columns

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """Whole numbers, each a function of its own row and of the public point."""
        return self.sums.each_row(columns)


@lru_cache(maxsize=64)
def score_client(sums: ScoreSums, schema: Schema, budget: Guarantee, cohort: Cohort) -> LocalRandomizer:
    """A device that adds noise to its row's score and information at the point of ``cohort``.

    Proof: of the report's price, whatever the point is, for neighbours that are any two records of one person. The
    sensitivity is that of `ScoreSums` at this very point, computed here from the point, which is public, and from the
    design; for sums over n rows under replace-one it bounds the distance of two rows' vectors, so for n = 1 that of any
    two records. The noise is the least whose event for this sensitivity meets ``budget``, and the event is asked. So
    whoever writes another point into a form changes what is measured and how much noise it gets, and never the price:
    a point that is no lattice point, or too large for the tables, makes no client at all. []
    """
    if not sums.region.constant:
        raise expected("protocol", SCORES, "to meet a formula with an intercept: leave out - 1 or + 0")
    share, point = Fraction(cohort.share), cohort.lattice_point(len(sums.design))
    at = replace(sums.at(point, matrix=share > 0), share=share or Fraction(1, 2))
    kinds = (True, False) if isinstance(budget, ApproxDP) else (isinstance(budget, PureDP),)
    found: list[LocalRandomizer] = []
    for laplace in kinds:  # relative scales that suit either noise; pure epsilon-DP is (epsilon, delta)-DP as well
        own = replace(at, laplace=laplace)
        moves = own.sensitivity()
        protocol = NoisyStatistic(own.unit, moves, noise_for(budget, moves, None), own.largest)
        found.append(LocalRandomizer(schema, RowScore(own), protocol))
    return min(found, key=_spread)


def _spread(randomizer: LocalRandomizer) -> float:
    """The total variance of a report's noise: the smaller the better."""
    assert isinstance(randomizer.protocol, NoisyStatistic)
    return sum(sd**2 for sd in randomizer.protocol.noise.sd)


def of_scores(randomizer: LocalRandomizer) -> bool:
    """Whether a device reports scores."""
    return isinstance(randomizer.encoder, RowScore)
