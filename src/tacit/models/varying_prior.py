"""The prior of a linear regression with varying effects."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tacit.errors import expected
from tacit.models.model import Prior


@dataclass(frozen=True)
class VaryingPrior(Prior):
    """In mapped units, where the response and all numbers lie in [-1, 1]: the intercept is N(0, ``level``^2), every
    other coefficient N(0, ``slope``^2), the standard deviations of varying effects are half-normal with scale
    ``spread``, and sigma half-normal with scale ``sigma``. The sizes of the groups are uniform.
    """

    level: float = 1.0
    slope: float = 1.0
    spread: float = 0.5
    sigma: float = 0.5

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 < value < 1e6:
                raise expected(f"prior {one.name}", value, "to be a number above 1e-6 and below 1e6")
