"""Which Hamiltonian kernel explores a density: no-U-turn trajectories for a few chains, lock step for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.runtime.chain import SamplerSettings
from tacit.samplers.nuts import nuts
from tacit.samplers.vectorized_hmc import lockstep


def explore(
    key: Any,
    log_density: Callable[[Any], Any],
    start: Any,
    settings: SamplerSettings,
    *,
    target: float = 0.8,
    depth: int = 10,
    dense: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Positions (draws, size) and diagnostics by name; the arguments are those of `nuts`.

    With `SamplerSettings.num_leapfrog_steps` all trajectories have that many leapfrog steps: trajectories of different
    lengths leave an accelerator, and most of a batch, waiting for the longest. It must be enough: no-U-turn
    trajectories find that out by themselves.
    """
    if settings.num_leapfrog_steps is not None:
        sizes = {"warmup": settings.warmup, "draws": settings.draws, "num_leapfrog_steps": settings.num_leapfrog_steps}
        return lockstep(key, log_density, start, **sizes, target=target, dense=dense)
    return nuts(
        *(key, log_density, start),
        warmup=settings.warmup,
        draws=settings.draws,
        target=target,
        depth=depth,
        dense=dense,
    )
