"""The prior of a number between bounds: where its mean lies, and how much of the possible spread it has."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import expected
from tacit.models.model import Prior


@dataclass(frozen=True)
class BoundedPrior(Prior):
    """The mean's place between the bounds ~ Beta(``mean_a``, ``mean_b``); the sd over the largest one that the mean
    allows, sqrt((high - mean)(mean - low)), ~ Beta(``ratio_a``, ``ratio_b``). The default is uniform in both.
    """

    mean_a: float = 1.0
    mean_b: float = 1.0
    ratio_a: float = 1.0
    ratio_b: float = 1.0

    def __post_init__(self) -> None:
        for name in ("mean_a", "mean_b", "ratio_a", "ratio_b"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 1e6:
                raise expected(f"prior {name}", value, "to be a number from 0.1 to 1e6")

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """All four."""
        return self.mean_a, self.mean_b, self.ratio_a, self.ratio_b
