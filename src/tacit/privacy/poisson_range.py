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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.privacy.beta_divergence import LossRange, Probabilities

_COUNTS = 9  # searched one by one; the rest share a bound
_CLOSE = 1e-6  # distance from the bound to a value that is reached, in units of 1/beta
_SUM_ERROR = 1e-9  # of I: rounding, and what is cut off; measured to 5e-11 at the largest mean
# Of beta - 1. Below, the mean where R(0) is reached is too large to search; above, R is within 5% of 1/b. Outside, 1/b
# is charged.
_SEARCHED = (1e-3, 20.0)


@dataclass(frozen=True)
class PoissonLossRange(LossRange):
    """R = the largest R(y), certified; 1/b where beta is too near to 1, or too large, to search."""

    def _at(self, beta: float) -> float:
        return min(_certified(beta), Probabilities().at(beta))


def power_sum(mu: Any, beta: float, *, shifted: bool = False) -> Any:
    """I(mu) = sum over k of f_k(mu)^beta for means (any shape), by summing from far below the mean to far above it.

    ``shifted`` takes sum over k of f_k^b f_(k-1) instead: beta (that - I) is the derivative of I.
    Beyond 12 standard deviations and 60 counts on either side lies less than 1e-13 of the mass, so that is the error.
    """
    import numpy as np
    from scipy.special import gammaln

    means = np.atleast_1d(np.asarray(mu, float))
    if means.size and not (means.min() > 0 and means.max() <= 1e6):
        raise expected("mu", [float(means.min()), float(means.max())], "to lie between 0 and 1e6")
    flat = means.ravel()
    found = np.empty_like(flat)
    order = np.argsort(flat)
    for part in np.array_split(order, max(1, len(order) // 64)):
        low, high = flat[part].min(), flat[part].max()
        first = max(0, math.floor(low - 12 * math.sqrt(low) - 60))
        k = np.arange(first, math.ceil(high + 12 * math.sqrt(high) + 60) + 1)
        logs = k * np.log(flat[part])[:, None] - flat[part][:, None] - gammaln(k + 1)
        if shifted:  # f_(k-1) = f_k k / mu
            found[part] = (np.exp(beta * logs) * k).sum(axis=1) / flat[part]
        else:
            found[part] = np.exp(beta * logs).sum(axis=1)
    return found.reshape(np.shape(mu))


@lru_cache(maxsize=4096)
def _certified(beta: float) -> float:
    b = beta - 1
    if not _SEARCHED[0] <= b <= _SEARCHED[1]:
        return math.inf
    beyond = _COUNTS**_COUNTS * math.exp(-_COUNTS) / math.factorial(_COUNTS)
    bounds = [1 / beta + beyond**b / b - beyond**beta / beta, _search(beta, 0) + 1 / (beta * b)]
    bounds += [1 / beta + _search(beta, y) for y in range(1, _COUNTS)]
    return max(bounds)


def _search(beta: float, y: int) -> float:
    """An upper bound on sup over mu of l(mu, 0) for y = 0, and of -l(mu, y) for y >= 1."""
    import numpy as np

    b = beta - 1
    last = 20 + 40 / b if y == 0 else 60.0 + 60 / min(b, 1.0)
    edges = np.concatenate([[0.0], np.geomspace(1e-6, last, 400)])
    low, high = edges[:-1], edges[1:]
    at_zero = -1 / (beta * b) if y == 0 else -1 / beta  # the limit as mu tends to 0
    reached, settled = at_zero, -math.inf
    tail = float(power_sum(last, beta)) / beta  # mu beyond the last edge
    if y > 0:
        tail = (last**y * math.exp(-last) / math.factorial(y)) ** b / b  # I >= 0, and f_y falls there
    for _ in range(60):
        upper, values = _bounds(low, high, beta, y)
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


def _bounds(low: Any, high: Any, beta: float, y: int) -> tuple[Any, Any]:
    """For cells of mu: upper bounds on the function searched, and its values at the upper ends."""
    import numpy as np

    b = beta - 1
    sums_low = np.ones_like(low)
    sums_low[low > 0] = power_sum(low[low > 0], beta)
    sums_high = power_sum(high, beta)
    if y == 0:
        here = -np.exp(-b * high) / b
        return here + sums_low / beta + _SUM_ERROR, here + sums_high / beta
    top = np.clip(float(y), low, high)
    log_factorial = math.lgamma(y + 1)
    most = np.exp(b * (y * np.log(top) - top - log_factorial)) / b
    here = np.exp(b * (y * np.log(high) - high - log_factorial)) / b
    return most - sums_high / beta + _SUM_ERROR, here - sums_high / beta
