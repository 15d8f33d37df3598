"""A noisy statistic: what one person's record adds to a sum, released with noise for how far two records are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.errors import expected
from tacit.noise.entropy import Entropy
from tacit.noise.noise import Noise
from tacit.noise.registry import NOISES, noise_for
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee
from tacit.privacy.sensitivity import Sensitivity
from tacit.protocols.additive import add_noise, check_sizes, noise_log_pmf, noisy_domain
from tacit.protocols.domain import Domain, box
from tacit.protocols.parameters import (
    read_rational,
    read_table,
    read_whole,
    read_wholes,
    whole,
    written_rational,
    written_whole,
)
from tacit.protocols.protocol import Protocol


@dataclass(frozen=True)
class NoisyStatistic(Protocol):
    """Report v + e: v what a record adds to a bounded statistic, e the ``noise``, which may be Laplace or Gaussian.

    v is a vector of whole numbers from -``largest`` to ``largest``, which is ``unit``, the integer that stands for a
    real 1, unless it is said. Its entries depend on each other: they are products of the same few cells. So any two
    records are closer together than two corners of the box, and ``sensitivity`` says how close: with D the difference
    of their vectors and w its relative scales, sum_i |D_i| / w_i <= l1 and sum_i (D_i / w_i)^2 <= l2_squared. It is
    what `Statistic.sensitivity` proves for sums over many rows under replace-one, of which one record is the case of
    n = 1.

    Proof: of the price, where neighbours are any two records (replace-one on a data set of one record). The report is a
    statistic of that data set plus noise that is independent of it, and replacing the record moves the statistic by no
    more than ``sensitivity``. The proofs of `DiscreteLaplace`, `DiscreteGaussian` and `RoundedGaussian` say what that
    costs, in the weighted L1 norm for the first and the weighted L2 norm for the others. That the vectors come from
    records, and not from anywhere in the box, is the encoder's part: it computes them. []
    """

    kind: ClassVar[str] = "noisy-statistic"
    unit: int
    sensitivity: Sensitivity
    noise: Noise
    largest: int | None = None

    def __post_init__(self) -> None:
        whole("unit", self.unit, 1)
        if self.largest is not None:
            whole("largest", self.largest, 1)
        if not isinstance(self.sensitivity, Sensitivity):
            raise expected("sensitivity", self.sensitivity, "to be a Sensitivity")
        if not isinstance(self.noise, Noise) or type(self.noise) not in NOISES.values():
            raise expected("noise", self.noise, f"to be one of {', '.join(NOISES)}")
        if len(self.noise.scales) != self.sensitivity.entries:
            raise expected("scales", self.noise.scales, f"to have {self.sensitivity.entries} entries, one per entry")
        check_sizes(self.inputs)

    @classmethod
    def calibrate(cls, unit: int, sensitivity: Sensitivity, budget: Guarantee) -> Self:
        """With the least noise for ``budget``, of the distribution that suits it best, as in a central release."""
        return cls(unit, sensitivity, noise_for(budget, sensitivity, None))

    @property
    def inputs(self) -> Domain:
        """One whole number an entry."""
        entries, most = self.sensitivity.entries, self.unit if self.largest is None else self.largest
        return box((-most,) * entries, (most,) * entries)

    @property
    def reports(self) -> Domain:
        """As many whole numbers, up to 65536 scales beyond the box."""
        return noisy_domain(self.inputs, self.noise)

    def event(self) -> Event:
        """What one report costs: the price of the noise for this sensitivity."""
        return self.noise.event(self.sensitivity)

    def answers(self, asked: Protocol) -> bool:
        """Its price is that of its sensitivity, so that must be the one that was proved for the statistic."""
        if not isinstance(asked, NoisyStatistic):
            return False
        own, other = ((one.unit, one.largest, one.sensitivity) for one in (self, asked))
        return own == other

    def _randomize(self, inputs: Any, entropy: Entropy) -> Any:
        return add_noise(inputs, self.noise, entropy)

    def log_pmf(self, reports: Any, inputs: Any) -> Any:
        """The sum over the entries of the noise's own log probability at z_i - v_i."""
        return noise_log_pmf(self.noise, reports, inputs)

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a public header."""
        return {
            "kind": self.kind,
            "unit": written_whole(self.unit),
            **({} if self.largest is None else {"largest": written_whole(self.largest)}),
            "l1": written_rational(self.sensitivity.l1),
            "l2_squared": written_rational(self.sensitivity.l2_squared),
            "relative_scales": [written_rational(weight) for weight in self.sensitivity.relative_scales],
            "law": self.noise.kind,
            "scales": [written_whole(scale) for scale in self.noise.scales],
        }

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read what `to_plain` wrote."""
        names = ("kind", "unit", "l1", "l2_squared", "relative_scales", "law", "scales")
        plain = read_table("protocol", table, names, ("largest",))
        weights = plain["relative_scales"]
        if not isinstance(weights, list | tuple):
            raise expected("relative_scales", weights, 'to be a list of strings "a/b"')
        if not isinstance(plain["law"], str) or plain["law"] not in NOISES:
            raise expected("law", plain["law"], f"to be one of {', '.join(NOISES)}")
        l1, l2_squared = (read_rational(name, plain[name]) for name in ("l1", "l2_squared"))
        relative: tuple[Fraction, ...] = tuple(read_rational("relative_scales", weight) for weight in weights)
        return cls(
            read_whole("unit", plain["unit"]),
            Sensitivity(l1, l2_squared, relative),
            NOISES[plain["law"]](read_wholes("scales", plain["scales"])),
            read_whole("largest", plain["largest"]) if "largest" in plain else None,
        )
