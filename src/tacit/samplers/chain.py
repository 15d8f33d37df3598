"""What a sampler gives back: one chain for one dataset, as a pure function that the runner batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """How long to sample; ``leaps`` is for many datasets at once, see `tacit.samplers.explore`."""

    warmup: int
    draws: int
    leaps: int | None = None


Arrays = dict[str, Any]
# (key, released) -> (draws by name, diagnostics by name), each array with a leading axis over draws. Pure JAX: the
# runner adds chains and datasets by vmap. ``released`` holds the release's integers divided by the statistic's unit.
Chain = Callable[[Any, Any], tuple[Arrays, Arrays]]
