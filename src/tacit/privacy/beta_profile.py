"""The exact privacy profile of one draw of a share: hockey-stick divergences of neighbouring Beta posteriors.

Two Beta distributions P = Beta(a, b + r) and Q = Beta(a + r, b) have log ratio r (log(1 - x) - log x) + constant,
which falls in x. So sup over S of P(S) - e^epsilon Q(S) is reached on an interval S = (0, x), and is the integral that
`beta_integrals` bounds. The mirrored order is the same with a and b swapped. Rows are 0 or 1 and n is public, so there
are 2n ordered pairs, and all of them are taken: no claim about which is the worst is needed. (Conversion from Renyi
divergences gives 3.4 times the delta for Beta(6, 12), n = 100, epsilon = 1.)
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from tacit.privacy.beta_integrals import hockey_stick, quick_bound

MOST_ROWS = 20_000
LARGEST = 10**6  # of a + b + n r: beyond it roundings say more than 1e-10 of delta
SMALLEST = Fraction(1, 10**60)  # of a and b: far below, numbers leave the range of floats
_AT_ONCE = 64


@lru_cache(maxsize=4096)
def delta(a: Fraction, b: Fraction, weight: Fraction, n: int, epsilon: float) -> float:
    """The largest delta at ``epsilon`` over all neighbours, for prior Beta(a, b), data weight r = ``weight`` of at most
    1, n rows; rounded up.

    Proof: above, and `hockey_stick`. A pair is left out only where `quick_bound` is no more than what
    another pair has. []
    """
    import numpy as np

    r = float(weight)
    ones = np.arange(n, dtype=np.float64)  # of the others
    low, high = float(a) + r * ones, float(b) + r * (n - 1 - ones)
    low, high = np.concatenate([low, high]), np.concatenate([high, low])
    most = quick_bound(low, high, r, epsilon)
    order = np.argsort(-most)
    found, done = 1e-300, 0  # rather than 0, which nothing is
    while done < len(order) and most[order[done]] > found:
        some = order[done : done + (_AT_ONCE if done else 1)]
        found = max(found, float(hockey_stick(low[some], high[some], r, epsilon).max()))
        done += len(some)
    return min(1.0, found)
