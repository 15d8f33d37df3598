"""How far the beta-divergence loss of one count can move, for Poisson models with any mean: less than 1/(beta - 1).

With f_y(mu) = e^-mu mu^y / y!, I(mu) = sum over k of f_k(mu)^beta and b = beta - 1, the loss of a count y is
l(mu, y) = -f_y(mu)^b / b + I(mu) / beta. Its range over 0 < mu < infinity is

    R(0)  = sup over mu of l(mu, 0) + 1 / (beta b)
    R(y)  = 1/beta - inf over mu of l(mu, y)            y >= 1

Proof: by `Probabilities`, -1/(beta b) <= l <= 1/beta. As mu tends to 0, I tends to 1 and f_y to 0 for y >= 1, and to 1
for y = 0; so the bound that each line uses is reached. []

Certified value. The sup and the inf are searched cell by cell, and what is reported is a bound over all cells:
* I falls with mu. Proof: dI/dmu = beta (sum f_k^b f_(k-1) - sum f_k^beta), with f_(-1) = 0, and by Hoelder's inequality
  the first sum is at most (sum f_k^beta)^(b/beta) (sum f_(k-1)^beta)^(1/beta) = I. []
* f_y rises up to mu = y and falls from there. So on a cell [a, c] l(mu, y) is at least
  -max(f_y)^b / b + I(c) / beta, and l(mu, 0) at most -e^(-b c) / b + I(a) / beta (I(a) / beta beyond the last cell).
* Every y >= 9 together: f_y(mu) <= f_y(y), which falls with y, and I >= f_y^beta, so by the first lines of the proof of
  `Probabilities` l >= -m^b / b + m^beta / beta with m = f_9(9).
So the largest of the bounds for y = 0, ..., 8 and of the last one is an upper bound for every count. Cells are halved
until it is within 1e-6/beta of a value that is reached; R(y) >= 1/beta. []

With a table. `CountsRange` is the range of the loss l^ with the table's I^ in place of I, mu between the table's ends.
Proof: up to the table's limit l^ is off by ERROR / beta at most, which moves both ends of the range. Beyond it I^
itself is searched, which falls, too. A count y >= 9 has l^ >= -f_y^b / b >= -m^b / b there. Nothing of this exceeds 1/b
by more than 2 ERROR / beta, so min(., 1/b) may still be taken: beyond a limit of 1 or more f_y(mu) <= e^-1 for every y
(at y = 0 it is e^-mu, and for y >= 1 at most f_y(y) <= f_1(1)), so -l^ <= e^-b / b < 1 / (beta b), as 1 + b < e^b, and
l^ <= 1/beta as I^ <= 1. []
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.privacy.beta_divergence import LossRange, Probabilities
from tacit.privacy.poisson_power_sums import ERROR, interpolated, power_sum, table_limit

_COUNTS = 9  # searched one by one; the rest share a bound
_CLOSE = 1e-6  # distance from the bound to a value that is reached, in units of 1/beta
_SUM_ERROR = 1e-9  # of I: a hundred times what `poisson_power_sums` proves, for the rounding of the rest as well
# Of beta - 1. Below, the mean where R(0) is reached is too large to search; above, R is within 5% of 1/b. Outside, 1/b
# is charged.
_SEARCHED = (1e-3, 20.0)


@dataclass(frozen=True)
class PoissonLossRange(LossRange):
    """R = the largest R(y), certified; 1/b where beta is too near to 1, or too large, to search."""

    def _at(self, beta: float) -> float:
        return min(_certified(beta, math.inf), Probabilities().at(beta))


@dataclass(frozen=True)
class CountsRange(LossRange):
    """R of the loss whose sum of powers comes from the table."""

    def _at(self, beta: float) -> float:
        found = _certified(beta, table_limit(beta))
        return min(found, Probabilities().at(beta)) + 2 * ERROR / beta

    def ends(self, beta: float) -> tuple[float, float]:
        """Those of `Probabilities`, ERROR / beta further apart at each end, by the last proof above."""
        low, high = Probabilities().ends(beta)
        return low - ERROR / beta, high + ERROR / beta


@lru_cache(maxsize=4096)
def _certified(beta: float, limit: float) -> float:
    """The range with I up to the mean ``limit``, and with the table's I^ beyond."""
    b = beta - 1
    if not _SEARCHED[0] <= b <= _SEARCHED[1]:
        return math.inf
    beyond = _COUNTS**_COUNTS * math.exp(-_COUNTS) / math.factorial(_COUNTS)
    known = beyond**beta / beta if limit == math.inf else 0.0
    bounds = [1 / beta + beyond**b / b - known, _search(beta, 0, limit) + 1 / (beta * b)]
    bounds += [1 / beta + _search(beta, y, limit) for y in range(1, _COUNTS)]
    return max(bounds)


def _search(beta: float, y: int, limit: float) -> float:
    """An upper bound on sup over mu of l(mu, 0) for y = 0, and of -l(mu, y) for y >= 1."""
    import numpy as np

    b = beta - 1
    last = 20 + 40 / b if y == 0 else 60.0 + 60 / min(b, 1.0)
    edges = np.concatenate([[0.0], np.geomspace(1e-6, last, 400)])
    low, high = edges[:-1], edges[1:]
    at_zero = -1 / (beta * b) if y == 0 else -1 / beta  # the limit as mu tends to 0
    reached, settled = at_zero, -math.inf
    tail = float(_sums(np.array([last]), beta, limit)[0]) / beta  # mu beyond the last edge
    if y > 0:
        tail = (last**y * math.exp(-last) / math.factorial(y)) ** b / b  # I >= 0, and f_y falls there
    for _ in range(60):
        upper, values = _bounds(low, high, beta, y, limit)
        reached = max(reached, float(values.max()))
        close = upper <= reached + _CLOSE / beta  # every R(y) is at least 1/beta
        if close.any():
            settled = max(settled, float(upper[close].max()))
        low, high = low[~close], high[~close]
        if not len(low):
            break
        middle = (low + high) / 2
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    else:
        return math.inf  # `Counts` then charges 1/b
    return max(settled, at_zero, tail + _SUM_ERROR)


def _bounds(low: Any, high: Any, beta: float, y: int, limit: float) -> tuple[Any, Any]:
    """For cells of mu: upper bounds on the function searched, and its values at the upper ends."""
    import numpy as np

    b = beta - 1
    sums_high = _sums(high, beta, limit)
    if y == 0:
        sums_low = np.ones_like(low)
        sums_low[low > 0] = _sums(low[low > 0], beta, limit)
        here = -np.exp(-b * high) / b
        return here + sums_low / beta + _SUM_ERROR, here + sums_high / beta
    top = np.clip(float(y), low, high)
    log_factorial = math.lgamma(y + 1)
    most = np.exp(b * (y * np.log(top) - top - log_factorial)) / b
    here = np.exp(b * (y * np.log(high) - high - log_factorial)) / b
    return most - sums_high / beta + _SUM_ERROR, here - sums_high / beta


def _sums(mu: Any, beta: float, limit: float) -> Any:
    """I up to ``limit``, and I^ beyond."""
    found, table = power_sum(mu, beta), mu > limit
    if table.any():
        found[table] = interpolated(mu[table], beta)
    return found
