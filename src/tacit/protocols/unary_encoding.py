"""Optimal unary encoding: one person's category as a row of bits, each of them noisy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.noise.entropy import Entropy
from tacit.privacy.events import PureEvent
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.calibration import largest_epsilon
from tacit.protocols.domain import Domain, box
from tacit.protocols.parameters import rational_epsilon, read_rational, read_table, read_whole, whole, written_rational
from tacit.protocols.protocol import Protocol


@dataclass(frozen=True)
class UnaryEncoding(Protocol):
    """Report ``levels`` bits: bit k of one's own category k is 1 with probability 1/2, every other bit with q.

    q = 1 / (1 + e^epsilon). A record is one code from 0 to ``levels`` - 1. ``epsilon`` is an exact rational; a float is
    converted exactly. (Wang, Blocki, Li and Jha 2017; Kulkarni et al. 2022, section 3.2.2, whose p is 1 - q.)

    From N reports with a share z_k of ones in bit k, (z_k - q) / (1/2 - q) estimates the share f_k of category k
    without bias, with variance r (1 - r) / (N (1/2 - q)^2), r = q + (1/2 - q) f_k. (The printed estimator has both
    probabilities exchanged and the mean f_k - 1.) It does not use all that the reports say; `log_pmf` does.

    Proof: of local epsilon-DP, where neighbours are any two values of one person's category (replace-one on a data set
    of one record). For truths k and l only the bits k and l have different distributions. A one is more likely from a
    true bit than from another by (1/2) / q, a zero by (1/2) / (1 - q), and (1 - q) / q = e^epsilon. So the ratio of
    the two probabilities of a report z is e^(epsilon (z_k - z_l)), at most e^epsilon. []
    """

    kind: ClassVar[str] = "unary-encoding"
    levels: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        whole("levels", self.levels, 2, 2**16)
        object.__setattr__(self, "epsilon", rational_epsilon("epsilon", self.epsilon))

    @classmethod
    def calibrate(cls, levels: int, budget: Guarantee) -> Self:
        """With the largest epsilon whose event satisfies ``budget``."""
        return cls(levels, largest_epsilon(budget))

    @property
    def inputs(self) -> Domain:
        return box((0,), (self.levels - 1,))

    @property
    def reports(self) -> Domain:
        """One bit a category."""
        return box((0,) * self.levels, (1,) * self.levels)

    def event(self) -> PureEvent:
        """What one report costs: epsilon."""
        return PureEvent(self.epsilon)

    def _randomize(self, inputs: Any, entropy: Entropy) -> Any:
        """Every bit is drawn as if it were another category's; then one's own is replaced by a fair coin."""
        import numpy as np

        from tacit.noise.coins import fair
        from tacit.protocols.logistic_coin import truthful

        stays_zero = truthful(1, self.epsilon, len(inputs) * self.levels, entropy)
        bits = (~stays_zero).reshape(len(inputs), self.levels).astype(np.int8)
        np.put_along_axis(bits, inputs, fair(len(inputs), entropy)[:, None], axis=1)
        return bits

    def log_pmf(self, reports: Any, inputs: Any) -> Any:
        """-log 2 - (levels - 1) log(1 + exp(-epsilon)) - epsilon * (ones among the other categories)."""
        import numpy as np

        others = np.where(np.arange(self.levels) == inputs, 0, reports).sum(axis=-1)
        normaliser = math.log(2) + (self.levels - 1) * math.log1p(math.exp(-self.epsilon))
        return -float(self.epsilon) * others - normaliser

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a public header."""
        return {"kind": self.kind, "levels": self.levels, "epsilon": written_rational(self.epsilon)}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read what `to_plain` wrote."""
        plain = read_table("protocol", table, ("kind", "levels", "epsilon"))
        return cls(read_whole("levels", plain["levels"]), read_rational("epsilon", plain["epsilon"]))
