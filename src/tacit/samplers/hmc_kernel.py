"""Which Hamiltonian kernel explores a density: no-U-turn trajectories on a processor, steps of one length on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.runtime.backend import on_accelerator
from tacit.runtime.chain import SamplerSettings
from tacit.samplers.nuts import nuts
from tacit.samplers.vectorized_hmc import lockstep

ON_ACCELERATOR = 16
"""Leapfrog steps of every trajectory on a GPU, where nobody says how many."""


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

    With `SamplerSettings.num_leapfrog_steps`, and on an accelerator in any case, all trajectories have the same number
    of leapfrog steps: trajectories of different lengths leave an accelerator, and most of a batch, waiting for the
    longest. It must be enough: no-U-turn trajectories find that out by themselves.
    """
    steps = settings.num_leapfrog_steps
    if steps is None and on_accelerator():
        steps = ON_ACCELERATOR
    if steps is not None:
        sizes = {"warmup": settings.warmup, "draws": settings.draws, "num_leapfrog_steps": steps}
        return lockstep(key, log_density, start, **sizes, target=target, dense=dense)
    return nuts(
        *(key, log_density, start),
        warmup=settings.warmup,
        draws=settings.draws,
        target=target,
        depth=depth,
        dense=dense,
    )
