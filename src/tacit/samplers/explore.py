"""Which Hamiltonian kernel explores a density: no-U-turn trajectories for a few chains, lock step for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.runtime.chain import Settings
from tacit.samplers.lockstep import lockstep
from tacit.samplers.nuts import nuts


def explore(
    key: Any,
    log_density: Callable[[Any], Any],
    start: Any,
    settings: Settings,
    *,
    target: float = 0.8,
    depth: int = 10,
    dense: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Positions (draws, size) and diagnostics by name; the arguments are those of `nuts`.

    With `Settings.leaps` all trajectories have that many leaps: trajectories of different lengths leave an accelerator,
    and most of a batch, waiting for the longest. It must be enough: no-U-turn trajectories find that out by themselves.
    """
    if settings.leaps is not None:
        sizes = {"warmup": settings.warmup, "draws": settings.draws, "leaps": settings.leaps}
        return lockstep(key, log_density, start, **sizes, target=target, dense=dense)
    return nuts(
        *(key, log_density, start),
        warmup=settings.warmup,
        draws=settings.draws,
        target=target,
        depth=depth,
        dense=dense,
    )
