"""The interface of additive integer noise: the object that draws it is the object that prices and scores it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import Paper
from tacit.errors import expected
from tacit.noise.entropy import Entropy
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee
from tacit.privacy.sensitivity import Sensitivity

LARGEST_SCALE = 2**120


@dataclass(frozen=True)
class Noise(ABC):
    """Independent integer noise, entry i with scale ``scales[i]`` in lattice units.

    Scales are whole numbers: the lattice is so fine that rounding a scale up costs less than one part in a million, and
    whole scales let the samplers be exact in integer arithmetic.
    """

    kind: ClassVar[str]
    papers: ClassVar[tuple[Paper, ...]] = ()
    limit: ClassVar[str]
    """The continuous law that it tends to on a fine lattice: ``laplace`` or ``normal``."""
    scales: tuple[int, ...]

    def __post_init__(self) -> None:
        scales = tuple(int(s) for s in self.scales)
        object.__setattr__(self, "scales", scales)
        if not scales or min(scales) < 1 or max(scales) > LARGEST_SCALE:
            raise expected(
                "scales",
                scales,
                "to be one or more whole numbers from 1 to 2^120; epsilon, delta, rho or mu may be too small",
            )

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a release."""
        return {"law": self.kind, "scales": list(self.scales)}

    @classmethod
    @abstractmethod
    def calibrate(cls, budget: Guarantee, sensitivity: Sensitivity) -> Self:
        """The least noise of this kind whose event satisfies ``budget``; refuse a budget it cannot meet."""

    @abstractmethod
    def event(self, sensitivity: Sensitivity) -> Event:
        """What one draw of this noise costs, from public parameters alone."""

    @abstractmethod
    def sample(self, size: int, entropy: Entropy) -> Any:
        """Return a ``(size, entries)`` integer array of independent draws, exactly from the law of `log_pmf`."""

    @abstractmethod
    def log_pmf(self, values: Any) -> Any:
        """The exact log probability of each integer of ``values``, an array of shape ``(..., entries)``."""

    @abstractmethod
    def log_density(self, values: Any, xp: Any) -> Any:
        """The log density of the continuous limit, elementwise, with array namespace ``xp`` (numpy or jax.numpy)."""

    def standard_log_density(self, values: Any, xp: Any) -> Any:
        """The continuous limit's log density at scale 1, elementwise: for residuals already divided by their scale."""
        return type(self)((1,)).log_density(values[..., None], xp)[..., 0]

    @property
    @abstractmethod
    def sd(self) -> tuple[float, ...]:
        """The standard deviation of each entry, in lattice units."""

    @abstractmethod
    def reach(self, drop: float) -> tuple[float, ...]:
        """How far from 0 each entry's log density has fallen by ``drop``."""
