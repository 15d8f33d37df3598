"""The normal distribution that both Gaussian noises tend to on a fine lattice."""

from __future__ import annotations

import math
from typing import Any


def normal_log_density(scales: tuple[int, ...], values: Any, xp: Any) -> Any:
    """-v^2 / (2 s^2) - log(s sqrt(2 pi)), elementwise, s = ``scales`` along the last axis."""
    scale = xp.asarray([float(scale) for scale in scales])
    return -0.5 * (values / scale) ** 2 - xp.log(scale) - 0.5 * math.log(2 * math.pi)


def normal_reach(scales: tuple[int, ...], drop: float) -> tuple[float, ...]:
    """s sqrt(2 drop): where the log density lies ``drop`` below its peak."""
    return tuple(scale * math.sqrt(2 * drop) for scale in scales)
