"""The prior of a rate, of an exponential column and of a Poisson one."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import expected
from tacit.models.model import Prior


@dataclass(frozen=True)
class GammaPrior(Prior):
    """rate ~ Gamma(``shape``, ``rate``), with mean shape / rate; ``rate`` has the unit of 1 over that of the rate."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise expected(f"prior {name}", value, "to be a positive number")
        if not 1e-2 <= self.shape <= 1e6:
            raise expected("prior shape", self.shape, "to be a number from 0.01 to 1e6")
