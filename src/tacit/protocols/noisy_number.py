"""A noisy number: one bounded whole number plus discrete Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.errors import expected
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.entropy import Entropy
from tacit.noise.noise import LARGEST_SCALE
from tacit.privacy.events import LaplaceEvent
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.additive import add_noise, check_sizes, noise_log_pmf, noisy_domain
from tacit.protocols.calibration import least_whole
from tacit.protocols.domain import Domain, box
from tacit.protocols.parameters import read_table, read_whole, whole, written_whole
from tacit.protocols.protocol import Protocol


@dataclass(frozen=True)
class NoisyNumber(Protocol):
    """Report x + e, with x a whole number from ``low`` to ``high`` and e discrete Laplace noise.

    P(e) = tanh(1 / (2 s)) exp(-|e| / s), s = ``scale``. x is usually a real number rounded to a lattice that is fine
    against the noise. For (epsilon, delta) and Gaussian definitions of privacy a `NoisyVector` of one entry needs less
    noise; this one is for pure epsilon.

    Proof: of local DP with epsilon = (high - low) / scale, where neighbours are any two numbers in the range
    (replace-one on a data set of one record). For every report z the log ratio of the two probabilities is
    (|z - x'| - |z - x|) / s <= |x - x'| / s <= (high - low) / s, by the triangle inequality. It is reached at x = low,
    x' = high, z = low. The other prices are those of `LaplaceEvent`, with the grain s. []
    """

    kind: ClassVar[str] = "noisy-number"
    low: int
    high: int
    scale: int

    def __post_init__(self) -> None:
        check_sizes(self.inputs)
        whole("scale", self.scale, 1, LARGEST_SCALE)

    @classmethod
    def calibrate(cls, low: int, high: int, budget: Guarantee) -> Self:
        """With the least scale whose event satisfies ``budget``: ceil((high - low) / epsilon) if it is pure.

        Every price falls with the scale, so it is found by bisection.
        """
        scale = least_whole(lambda s: cls(low, high, s).event().satisfies(budget), LARGEST_SCALE)
        if scale is None:
            raise expected("budget", budget, "to be one that a scale of at most 2^120 can meet")
        return cls(low, high, scale)

    @property
    def inputs(self) -> Domain:
        return box((self.low,), (self.high,))

    @property
    def reports(self) -> Domain:
        """One whole number, up to 65536 scales beyond the range."""
        return noisy_domain(self.inputs, self.noise)

    @property
    def noise(self) -> DiscreteLaplace:
        """What is added."""
        return DiscreteLaplace((self.scale,))

    def event(self) -> LaplaceEvent:
        """What one report costs."""
        return LaplaceEvent(Fraction(self.high - self.low, self.scale), self.scale)

    def _randomize(self, inputs: Any, entropy: Entropy) -> Any:
        return add_noise(inputs, self.noise, entropy)

    def log_pmf(self, reports: Any, inputs: Any) -> Any:
        """log tanh(1 / (2 s)) - |z - x| / s."""
        return noise_log_pmf(self.noise, reports, inputs)

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a public header."""
        numbers = {name: written_whole(getattr(self, name)) for name in ("low", "high", "scale")}
        return {"kind": self.kind, **numbers}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read what `to_plain` wrote."""
        plain = read_table("protocol", table, ("kind", "low", "high", "scale"))
        return cls(*(read_whole(name, plain[name]) for name in ("low", "high", "scale")))
