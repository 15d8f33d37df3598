"""The proposal of discrete Laplace noise: an exact sampler in integers."""

from __future__ import annotations

import numpy as np

from tacit.noise.coins import Whole, exp_minus_one, exp_minus_ratio, fair, heads_in_a_row, uniform_below
from tacit.noise.entropy import Entropy
from tacit.noise.rejection import Proposal


def propose_laplace(scale: Whole, entropy: Entropy) -> Proposal:
    """Propose an integer k with probability proportional to exp(-|k| / s), s = ``scale``.

    Canonne, Kamath and Steinke 2020, arXiv 2004.00010, Algorithm 2, for a whole scale.

    Proof: j is uniform on 0, ..., s - 1 and kept with probability exp(-j / s); v is geometric with ratio exp(-1). So
    v s + j = k has probability proportional to exp(-j / s - v) = exp(-k / s), each k >= 0 comes from one pair (v, j),
    and a fair sign with the negative zero dropped gives every integer k weight exp(-|k| / s).
    """
    rest = uniform_below(scale, entropy)
    kept = np.flatnonzero(exp_minus_ratio(rest, scale, entropy))
    rest = rest[kept]
    steps = heads_in_a_row(lambda index: exp_minus_one(index.size, entropy), kept.size)
    negative = fair(kept.size, entropy)
    chosen = np.flatnonzero(~(negative & (steps == 0) & (rest == 0)))
    return Proposal(kept[chosen], steps[chosen], rest[chosen], negative[chosen])
