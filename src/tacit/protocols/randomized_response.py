"""Randomized response: one person's category, reported truthfully or not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.bibliography import WARNER_1965, Paper
from tacit.noise.entropy import Entropy
from tacit.privacy.events import PureEvent
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.calibration import largest_epsilon
from tacit.protocols.domain import Domain, box
from tacit.protocols.parameters import rational_epsilon, read_rational, read_table, read_whole, whole, written_rational
from tacit.protocols.protocol import Protocol


@dataclass(frozen=True)
class RandomizedResponse(Protocol):
    """Report one of ``levels`` categories: the truth with probability e^epsilon / (e^epsilon + levels - 1).

    Each of the other categories has probability 1 / (e^epsilon + levels - 1). A record and a report are one code from 0
    to ``levels`` - 1. ``epsilon`` is an exact rational; a float is converted exactly.

    Proof: of local epsilon-DP, where neighbours are any two values of one person's category (replace-one on a data set
    of one record). The two probabilities of a report have the same denominator for every truth and numerators
    e^epsilon or 1, so for any report and any two truths their ratio is at most e^epsilon. []
    """

    kind: ClassVar[str] = "randomized-response"
    papers: ClassVar[tuple[Paper, ...]] = (WARNER_1965,)
    levels: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        whole("levels", self.levels, 2, 2**31)
        object.__setattr__(self, "epsilon", rational_epsilon("epsilon", self.epsilon))

    @classmethod
    def calibrate(cls, levels: int, budget: Guarantee) -> Self:
        """With the largest epsilon whose event satisfies ``budget``."""
        return cls(levels, largest_epsilon(budget))

    @property
    def inputs(self) -> Domain:
        """One code."""
        return box((0,), (self.levels - 1,))

    @property
    def reports(self) -> Domain:
        """One code."""
        return self.inputs

    def event(self) -> PureEvent:
        """What one report costs: epsilon."""
        return PureEvent(self.epsilon)

    def _randomize(self, inputs: Any, entropy: Entropy) -> Any:
        """A coin decides whether to tell the truth; a lie is uniform among the other categories.

        It is drawn in any case, so that the work done does not tell which it was.
        """
        import numpy as np

        from tacit.noise.coins import uniform_below
        from tacit.protocols.logistic_coin import truthful

        others = self.levels - 1
        truth = truthful(others, self.epsilon, len(inputs), entropy)
        lies = uniform_below(np.full(len(inputs), others, dtype=np.uint64), entropy).astype(np.int64)[:, None]
        return np.where(truth[:, None], inputs, lies + (lies >= inputs))

    def log_pmf(self, reports: Any, inputs: Any) -> Any:
        """-log(1 + (levels - 1) exp(-epsilon)) for the truth and less by epsilon for any other category."""
        import numpy as np

        normaliser = math.log1p((self.levels - 1) * math.exp(-self.epsilon))
        return np.where(np.equal(reports, inputs)[..., 0], 0.0, -float(self.epsilon)) - normaliser

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a public header."""
        return {"kind": self.kind, "levels": self.levels, "epsilon": written_rational(self.epsilon)}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read what `to_plain` wrote."""
        plain = read_table("protocol", table, ("kind", "levels", "epsilon"))
        return cls(read_whole("levels", plain["levels"]), read_rational("epsilon", plain["epsilon"]))
