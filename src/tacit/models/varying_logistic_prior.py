"""The prior of shares that vary by group."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tacit.errors import expected
from tacit.models.model import Prior


@dataclass(frozen=True)
class VaryingLogisticPrior(Prior):
    """On the logit scale: the mean of the levels is N(0, ``level``^2), their standard deviation half-normal with scale
    ``spread``. The sizes of the groups are uniform.
    """

    level: float = 1.5
    spread: float = 1.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-3 < value < 1e3:
                raise expected(f"prior {one.name}", value, "to be a number above 0.001 and below 1000")
