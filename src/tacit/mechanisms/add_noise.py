"""Noisy sums: the mechanism that adds integer noise to a bounded statistic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.errors import InputError, did_you_mean, expected
from tacit.mechanisms.mechanism import CalibratedMechanism, Central, NoiseParameters
from tacit.mechanisms.person import KEYS, Person, person_from_plain
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.mechanisms.request import Request
from tacit.noise.entropy import Entropy
from tacit.noise.noise import Noise
from tacit.noise.registry import NOISES, noise_for
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.accumulator import Sums
from tacit.statistics.statistic import Statistic


@dataclass(frozen=True)
class NoisySums(CalibratedMechanism):
    """The exact sums of ``statistic`` plus ``noise``; replacing one unit of privacy moves them by ``sensitivity``."""

    statistic: Statistic
    sensitivity: Sensitivity
    noise: Noise
    latent_n: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the statistic."""
        return self.statistic.columns

    @property
    def entries(self) -> tuple[str, ...]:
        """Those of the statistic."""
        return self.statistic.entries

    @property
    def public_n(self) -> bool:
        """Whether a release says n."""
        return not self.latent_n

    @property
    def row_entries(self) -> tuple[int, ...]:
        """Those of the statistic, where n is not public."""
        return () if self.public_n else self.statistic.row_entries

    @property
    def basis(self) -> Basis:
        """A proof: that of `event`."""
        return Basis.PROVED

    @property
    def unit(self) -> int:
        """That of the statistic."""
        return self.statistic.unit

    @property
    def noise_parameters(self) -> Noise:
        """The noise."""
        return self.noise

    def event(self) -> Event:
        """The event of the noise.

        Proof: what leaves is the sums plus noise that is independent of the rows. n leaves only where it is public: the
        same for all neighbours. The proof of the noise's own event says what that costs for sums that differ by no more
        than ``sensitivity``, which is for the neighbour relation of the budget (`UnitOfPrivacy.moves`). []
        """
        return self.noise.event(self.sensitivity)

    def accumulator(self) -> Sums:
        """Sums of no rows."""
        return Sums(self.statistic)

    def cross(self, collected: Any, n: int, entropy: Entropy) -> tuple[int, ...]:
        """The sums plus one draw of the noise."""
        noise = self.noise.sample(1, entropy)[0]
        return tuple(s + int(e) for s, e in zip(collected.totals, noise, strict=True))

    def check(self, values: tuple[int, ...], n: int | None) -> None:
        """A row moves an entry by at most one unit; noise beyond 65536 scales has probability below e^-65536."""
        limit = (2**53 if n is None else n) * self.unit + 2**16 * max(self.noise.scales)
        if any(abs(v) > limit for v in values):
            raise InputError("Expected values to lie within n lattice units plus 65536 noise scales of 0.")


@dataclass(frozen=True)
class AddNoise(Central):
    """The mechanism that adds integer noise to the statistic.

    ``law`` names the noise; left out, the budget decides: discrete Laplace for pure epsilon, discrete Gaussian for zCDP
    and Renyi, rounded Gaussian for Gaussian DP, and for (epsilon, delta) whichever adds less. ``unit`` says whose
    privacy is protected: left out, every row is a person of its own.
    """

    kind: ClassVar[str] = "noise"
    noise_parameters_field: ClassVar[str] = "noise"

    law: str | None = None
    unit: Person | None = None

    def __post_init__(self) -> None:
        if self.law is not None and (not isinstance(self.law, str) or self.law not in NOISES):
            raise expected("law", self.law, f"to be one of {', '.join(NOISES)}{did_you_mean(self.law, NOISES)}")
        if self.unit is not None and not isinstance(self.unit, Person):
            raise expected("unit", self.unit, "to be a Person, or nothing when every row is one")

    @property
    def person(self) -> Person | None:
        """The unit of privacy, where it is not a row."""
        return self.unit

    @property
    def takes_add_remove(self) -> bool:
        """Every statistic says how long one record's vector is (`Statistic.addition`)."""
        return True

    def calibrated_mechanism(self, request: Request, noise_parameters: NoiseParameters | None = None) -> NoisySums:
        """The model's statistic with the least noise for the budget, or with the noise that a release has."""
        model, budget = request.model, request.budget
        if not model.methods:  # a release of it could be paid for and never be inferred
            raise expected("kind", self.kind, f'of [mechanism] to be "posterior-sample" for family {model.family}')
        record = UnitOfPrivacy(budget.neighbours, self.unit, request.filtered)
        statistic = record.released(model.statistic(request.schema))
        sensitivity = record.moves(statistic)
        noise = noise_for(budget, sensitivity, self.law) if noise_parameters is None else noise_parameters
        if not isinstance(noise, Noise) or self.law not in (None, noise.kind):
            raise expected("noise", noise.kind, f"to be the plan's, {self.law}")
        if len(noise.scales) != len(statistic.entries):
            raise expected("scales", len(noise.scales), f"of the noise to be {len(statistic.entries)}, one per entry")
        return NoisySums(statistic, sensitivity, noise, latent_n=not record.n_is_public)

    def noise_parameters_from_plain(self, plain: object) -> Noise:
        """Read a release's noise."""
        if not isinstance(plain, dict) or set(plain) != {"law", "scales"} or plain["law"] not in list(NOISES):
            raise InputError(
                f"Expected the release's noise to say its law, one of {', '.join(NOISES)}, and its scales."
            )
        scales = plain["scales"]
        if not isinstance(scales, list) or not all(isinstance(s, int) and not isinstance(s, bool) for s in scales):
            raise InputError("Expected the scales of the release's noise to be whole numbers.")
        return NOISES[plain["law"]](tuple(scales))

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind}
        if self.law is not None:
            plain["law"] = self.law
        return plain if self.unit is None else {**plain, **self.unit.to_plain()}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``."""
        known = ("kind", "law", *KEYS)
        for name in table:
            if name not in known:
                raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        return cls(table.get("law"), person_from_plain(table))
