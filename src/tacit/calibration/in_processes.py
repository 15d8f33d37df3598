"""A study in several processes: trials are independent, so each process takes a part of them.

The samplers use one thread each, so that this is how more than one core is put to use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tacit.calibration.calibrate import Calibration, calibrate
from tacit.errors import expected
from tacit.plan import Plan
from tacit.runtime.processes import workers
from tacit.runtime.progress import tell

_ARRAYS = ("ranks", "truths", "means", "sds", "intervals", "diagnostics", "released", "failed")


def calibrate_in_parts(plan: Plan, *, trials: int, seed: int, processes: int, **options: Any) -> Calibration:
    """`calibrate` with the trials shared out among ``processes``; with one it is the very same.

    Every part has a seed of its own, made of ``seed`` and its place, so the result depends on the number of processes.
    """
    if isinstance(processes, bool) or not isinstance(processes, int) or not 1 <= processes <= 1024:
        raise expected("processes", processes, "to be a whole number from 1 to 1024")
    if processes == 1 or not isinstance(trials, int) or trials < 2 * processes:
        return calibrate(plan, trials=trials, seed=seed, **options)
    shares = [trials // processes + (i < trials % processes) for i in range(processes)]
    parts = [(plan, share, _part_seed(seed, i), options) for i, share in enumerate(shares)]
    with workers(_part, parts) as started:
        found: list[Calibration] = []
        for one, share in zip(started, shares, strict=True):
            found.append(one.result())
            tell(share / trials)
    return joined(found)


def joined(parts: Sequence[Calibration]) -> Calibration:
    """Studies of the same plan as one, trial after trial."""
    arrays = {name: _joined([getattr(one, name) for one in parts]) for name in _ARRAYS}
    samples = [one.sample for one in parts if one.sample is not None]
    exact = [one.non_private for one in parts if one.non_private is not None]
    return replace(
        parts[0],
        **arrays,
        sample=_joined(samples) if samples else None,
        non_private=joined(exact) if exact else None,
    )


def _joined(values: Sequence[Any]) -> Any:
    import numpy as np

    first = values[0]
    if isinstance(first, Mapping):  # the diagnostics of two samplers have not all names in common
        names = [name for name in first if all(name in value for value in values)]
        return {name: _joined([value[name] for value in values]) for name in names}
    if isinstance(first, tuple):
        return tuple(_joined(list(ends)) for ends in zip(*values, strict=True))
    return np.concatenate(values)


def _part(plan: Plan, trials: int, seed: int, options: Mapping[str, Any]) -> Calibration:
    return calibrate(plan, trials=trials, seed=seed, progress=False, **options)


def _part_seed(seed: int, part: int) -> int:
    import numpy as np

    return int(np.random.SeedSequence([seed, part, 0x9A27]).generate_state(1, np.uint64)[0] >> 1)
