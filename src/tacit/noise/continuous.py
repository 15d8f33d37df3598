"""Normal, gamma and Dirichlet numbers from an `Entropy` source's bytes alone, for exact draws of conjugate posteriors.

Each is exact in ideal arithmetic: the distributions hold for real numbers, and float64 stands in for them. Whoever
uses these for a release says so in its guarantee, and rounds to a public grid afterwards. No generator is seeded:
every number starts from fresh bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from tacit.noise.entropy import Entropy

_NORMAL = NormalDist()


def uniform(entropy: Entropy) -> float:
    """A uniform number in (0, 1), from 128 bits: fine near 0, where logarithms are steep."""
    return (int.from_bytes(entropy.bytes(16), "little") + 0.5) / 2**128


def normal(entropy: Entropy) -> float:
    """A standard normal number: a tail probability from 128 bits, inverted, and a sign of its own."""
    size = -_NORMAL.inv_cdf(min(uniform(entropy) / 2, 0.5))
    return size if entropy.bytes(1)[0] & 1 else -size


def log_gamma_number(shape: float, entropy: Entropy) -> float:
    """The logarithm of a Gamma(shape, 1) number, so that small shapes do not run out of floats.

    Marsaglia and Tsang 2000: with d = shape - 1/3 and v = (1 + z / sqrt(9 d))^3, z normal, d v is accepted with
    probability exp(z^2/2 + d - d v + d log v), above 0.95. Below shape 1, Gamma(shape) = Gamma(shape + 1) U^(1/shape).
    """
    if shape < 1:
        return log_gamma_number(shape + 1, entropy) + math.log(uniform(entropy)) / shape
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        z = normal(entropy)
        root = 1 + c * z
        if root <= 0:
            continue
        v = root**3
        if math.log(uniform(entropy)) < z * z / 2 + d - d * v + d * math.log(v):
            return math.log(d) + math.log(v)


def shares(concentration: Sequence[float], entropy: Entropy) -> list[float]:
    """A Dirichlet vector: gamma numbers over their sum."""
    logs = [log_gamma_number(a, entropy) for a in concentration]
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    total = math.fsum(weights)
    return [weight / total for weight in weights]
