"""The exact privacy curve of integer noise, summed over the lattice as implemented.

The hockey-stick divergence of P from Q at epsilon is sum_x max(0, P(x) - e^epsilon Q(x)): the smallest delta for which
(epsilon, delta) holds for that pair. P and Q are the noise itself and the noise shifted by what one record can change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit.errors import expected
from tacit.noise.noise import Noise

_MOST_POINTS = 40_000_000
_TAIL = 45.0  # outside the window the noise's density is e^-45 of its peak; the mass there is added to the result


def hockey_stick(noise: Noise, shift: Sequence[int], epsilons: Sequence[float]) -> Any:
    """delta(epsilon) for the pair (noise, noise + shift), one number an epsilon, in one or two dimensions.

    Enumerates the lattice, so scales must be small: a few thousand in one dimension, about a thousand in two. The mass
    outside the enumerated window is added, so the result is an upper bound that is exact to about 1e-15.
    """
    import numpy as np

    if len(shift) != len(noise.scales) or len(shift) > 2:
        raise expected("shift", tuple(shift), "to have one number an entry, at most two")
    widths = [int(reach) + abs(s) + 1 for reach, s in zip(noise.reach(_TAIL), shift, strict=True)]
    if math.prod(2 * width + 1 for width in widths) > _MOST_POINTS:
        raise expected("scales", noise.scales, "to be small enough to enumerate the lattice")
    axes = [np.arange(-width, width + 1) for width in widths]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    log_p = noise.log_pmf(grid).sum(axis=-1)
    log_q = noise.log_pmf(grid - np.asarray(shift)).sum(axis=-1)
    p, q = np.exp(log_p), np.exp(log_q)
    outside = max(0.0, 1.0 - float(p.sum()))
    with np.errstate(over="ignore"):
        return np.array([float(np.maximum(p - np.exp(e) * q, 0.0).sum()) + outside for e in epsilons])
