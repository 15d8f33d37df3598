"""The exact privacy profile of one draw of a share: hockey-stick divergences of neighbouring Beta posteriors.

Two Beta distributions P = Beta(a, b + r) and Q = Beta(a + r, b) have log ratio r (log(1 - x) - log x) + constant,
which falls in x. So sup over S of P(S) - e^epsilon Q(S) is reached on S = (0, x) where the ratio is e^epsilon, and

    delta = I_x(a, b + r) - e^epsilon I_x(a + r, b),     logit x = -(epsilon - ln[B(a + r, b) / B(a, b + r)]) / r

with I the regularized incomplete beta function. The mirrored order is the same with both arguments swapped. Rows are 0
or 1 and n is public, so there are 2n ordered pairs, and all of them are taken: no claim about which is the worst is
needed. (Conversion from Renyi divergences gives 3.4 times the delta for Beta(6, 12), n = 100, epsilon = 1.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

MOST_ROWS = 20_000
LARGEST = 10**6  # of a + b + n r: beyond it the incomplete beta function is not as near as `_ERROR` says
# The relative error of the incomplete beta function: each term is moved by this much to the safe side. It is measured,
# not proved: the largest at 1,500 places against 40 digits is 8e-13 (tests/privacy/test_beta_profile.py).
_ERROR = 2e-11
# The error of the log-gamma function, of itself or of 0.1 where it is nearly 0, and of the sums and the quotient after
# it; measured likewise, at 5e-16.
_LOG_ERROR = 1e-14
_LEAST_LOGIT = -690.0  # below it, x has no float64 of full precision


@lru_cache(maxsize=4096)
def delta(a: Fraction, b: Fraction, weight: Fraction, n: int, epsilon: float) -> float:
    """The largest delta at ``epsilon`` over all neighbours, for prior Beta(a, b), data weight r = ``weight``, n rows.

    Proof: above. A threshold x that is off would give less than the largest value, so x is not trusted: with x between
    y and z, delta = P(x) - e^epsilon Q(x) <= P(z) - e^epsilon Q(y), as both are distribution functions. y and z are
    x moved down and up by more than its error, and the two terms are moved apart by more than theirs. Where x is too
    small for a float64, y = 0 and z = expit(-690). []
    """
    import numpy as np

    ones = np.arange(n, dtype=np.float64)  # of the others
    r = float(weight)
    low = float(a) + r * ones
    high = float(b) + r * (n - 1 - ones)
    return min(
        1.0, max(0.0, float(np.max(_one_way(low, high, r, epsilon))), float(np.max(_one_way(high, low, r, epsilon))))
    )


def at_ends(a: Fraction, b: Fraction, weight: Fraction, n: int, epsilon: float) -> float:
    """`delta` at the four pairs where the others all agree: where the largest one was always found, but unproved."""
    import numpy as np

    r = float(weight)
    low = float(a) + r * np.array([0.0, n - 1.0])
    high = float(b) + r * np.array([n - 1.0, 0.0])
    return min(
        1.0, max(0.0, float(np.max(_one_way(low, high, r, epsilon))), float(np.max(_one_way(high, low, r, epsilon))))
    )


def _one_way(a: Any, b: Any, r: float, epsilon: float) -> Any:
    """delta of P = Beta(a, b + r) against Q = Beta(a + r, b), elementwise, rounded up."""
    import numpy as np
    from scipy.special import betainc, expit, gammaln

    parts = [gammaln(a + r), -gammaln(a), gammaln(b), -gammaln(b + r)]
    logit = (sum(parts) - epsilon) / r
    error = _LOG_ERROR * ((sum(np.maximum(np.abs(part), 0.1) for part in parts) + epsilon) / r + np.abs(logit) + 1)
    above = expit(np.maximum(logit + error, _LEAST_LOGIT))
    below = np.where(logit - error < _LEAST_LOGIT, 0.0, expit(logit - error))
    above = np.minimum(np.nextafter(np.nextafter(above, 2), 2), 1.0)
    below = np.maximum(np.nextafter(np.nextafter(below, -1), -1), 0.0)
    gain = np.asarray(betainc(a, b + r, above)) * (1 + _ERROR)
    return gain - math.exp(min(epsilon, 700.0)) * np.asarray(betainc(a + r, b, below)) * (1 - _ERROR)
