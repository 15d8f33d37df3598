"""I(mu) = sum over k of f_k(mu)^beta for Poisson probabilities f_k, and a table of it whose error is proved.

`power_sum` sums from 12 standard deviations and 60 counts below the mean to as far above it. Proof of its error:
f_k^beta <= f_k, and by Bernstein's inequality what is left out has a mass of at most 2 exp(-t^2 / (2 (mu + t/3))), t =
12 sqrt(mu) + 60; each of the three coefficients of t^2 is at least 72 times that of 2 (mu + t/3) = 2 mu + 8 sqrt(mu) +
40, so this is below 1e-30. ln f_k is made of Stirling's series and of Loader's deviance D = k ln(k/mu) + mu - k, which
are right to a few parts in 10^14 of D + ln k; terms with beta D > 40 do not count. So I is right to 1e-11 of itself. []

`power_sum_table` has v = ln mu at equally spaced knots, G(v) = ln I and G'(v), and a model takes the cubic Hermite
polynomial between them: I^ is its exponential. What is proved of I^ is, with the step h of the knots,

    |I^ - I| <= `ERROR`              where mu <= `Table.limit`
    I^ falls with mu                 where mu >  `Table.limit`

Proof: of the first. The error of the polynomial is at most h^4 / 384 times the largest |G''''| of its cell. G is
-beta e^v plus the logarithm of sum_k (k!)^-beta e^{beta k v}, so G'''' = beta^4 kappa - beta e^v, kappa the fourth
cumulant of the distribution p_k proportional to (k!)^-beta e^{beta k v}. Take eight cells together,
H their length. With c its mean at the first knot and 0 <= s <= H, E_{v+s}[(k - c)^r], r = 2 or 4, is the quotient of
E_v[(k - c)^r e^{beta (k-c) s}], at most N_r = E_v[(k - c)^r max(1, e^{beta (k-c) H})], and of E_v[e^{beta (k-c) s}], at
least 1 by Jensen's inequality. So the variance is at most N_2 all over them, the mean moves by beta H N_2 at most, and
the fourth central moment is at most m = (N_4^{1/4} + beta H N_2)^4. The cumulant is m_4 - 3 var^2 with m_4 >= var^2, so
it lies between -2 N_2^2 and m. As I falls with mu (`poisson_range`), |I^ - I| <= I(first knot) (e^{error} - 1). The
limit is the end of the cells where this is below half of `ERROR`; the rest is for rounding. Of the second. There both
ends' derivatives are between 0 and 3 times the slope of the chord, which is negative. So the polynomial falls all over
the cell (Fritsch and Carlson 1980, Lemma 2). A table of which this does not hold is refused. []
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.errors import expected

LOG_MEANS = (-20.0, 9.0)  # of a Poisson model: means beyond are moved here, which makes another Poisson model
KNOTS = 8193
ERROR = 1e-8
STEP = (LOG_MEANS[1] - LOG_MEANS[0]) / (KNOTS - 1)
_FARTHEST_LIMIT = 400.0  # of mu; beyond it the second statement does
_TOGETHER = 8  # cells for which one bound is made
_CLOSE = 0.1  # of (k - mu) / (k + mu), up to which the deviance is a series
_FEW = 16  # counts whose factorials are exact


@dataclass(frozen=True)
class Table:
    """G and its derivative in v at each knot; up to ``limit``, a mean, the first statement holds."""

    values: tuple[float, ...]
    derivatives: tuple[float, ...]
    limit: float


@lru_cache(maxsize=64)
def power_sum_table(beta: float) -> Table:
    """The table for ``beta``; refused where I leaves the range of floats, or nothing is proved."""
    import numpy as np

    knots = np.linspace(*LOG_MEANS, KNOTS)
    mu = np.exp(knots)
    sums = power_sum(mu, beta)
    too_large = expected("beta", beta, "to be smaller for a Poisson model")
    if not sums.min() > 1e-300:
        raise too_large
    values = np.log(sums)
    # d ln I / d ln mu = mu beta (sum f_k^b f_(k-1) / I - 1)
    derivatives = mu * beta * (power_sum(mu, beta, shifted=True) / sums - 1)
    limit = table_limit(beta)
    first = int(np.searchsorted(mu, limit * (1 - 1e-9)))  # the cell where the second statement begins
    chord = np.diff(values)[first:] / STEP
    ends = np.stack([derivatives[first:-1], derivatives[first + 1 :]])
    if not (limit >= 1 and np.all(chord < 0) and np.all(ends <= 0) and np.all(ends >= 2.9 * chord)):
        raise too_large
    return Table(tuple(values.tolist()), tuple(derivatives.tolist()), limit)


@lru_cache(maxsize=4096)
def table_limit(beta: float) -> float:
    """`Table.limit` for ``beta``, without the table: a knot."""
    import numpy as np

    mu = np.exp(np.linspace(*LOG_MEANS, KNOTS)[:-1:_TOGETHER])
    mu = mu[mu <= _FARTHEST_LIMIT]
    errors = power_sum(mu, beta) * np.expm1(np.minimum(STEP**4 / 384 * _fourth_derivative(mu, beta), 600.0))
    wide = np.flatnonzero(~(errors < ERROR / 2))
    return float(mu[wide[0]] if len(wide) else mu[-1])


def power_sum(mu: Any, beta: float, *, shifted: bool = False) -> Any:
    """I(mu) for means (any shape).

    ``shifted`` takes sum over k of f_k^b f_(k-1) instead, b = beta - 1: beta (that - I) is the derivative of I.
    """
    import numpy as np

    means = np.atleast_1d(np.asarray(mu, float))
    if means.size and not (means.min() > 0 and means.max() <= 1e6):
        raise expected("mu", [float(means.min()), float(means.max())], "to lie between 0 and 1e6")
    flat = means.ravel()
    found = np.empty_like(flat)
    for part, k, logs in _probabilities(flat):
        if shifted:  # f_(k-1) = f_k k / mu
            found[part] = (np.exp(beta * logs) * k).sum(axis=1) / flat[part]
        else:
            found[part] = np.exp(beta * logs).sum(axis=1)
    return found.reshape(np.shape(mu))


def interpolated(mu: Any, beta: float) -> Any:
    """I^(mu), from the knots beside each of ``mu`` alone; beyond the table's ends what it is there."""
    import numpy as np

    v = np.clip(np.log(mu), *LOG_MEANS)
    knot = np.minimum(((v - LOG_MEANS[0]) / STEP).astype(int), KNOTS - 2)
    needed, places = np.unique(np.stack([knot, knot + 1]), return_inverse=True)
    at = np.exp(LOG_MEANS[0] + STEP * needed)
    sums = power_sum(at, beta)
    values = np.log(sums)[places].reshape(2, *np.shape(v))
    derivatives = (at * beta * (power_sum(at, beta, shifted=True) / sums - 1))[places].reshape(2, *np.shape(v))
    t = (v - LOG_MEANS[0]) / STEP - knot
    ends = values[0] * (1 + 2 * t) * (1 - t) ** 2 + values[1] * (3 - 2 * t) * t**2
    return np.exp(ends + STEP * (derivatives[0] * t * (1 - t) ** 2 - derivatives[1] * (1 - t) * t**2))


def _fourth_derivative(mu: Any, beta: float) -> Any:
    """A bound on |G''''| over the `_TOGETHER` cells that begin at each of ``mu``."""
    import numpy as np

    found, reach = np.empty_like(mu), _TOGETHER * STEP
    for part, k, logs in _probabilities(mu):
        p = np.exp(beta * logs)
        with np.errstate(invalid="ignore"):  # where all powers are too small for floats, no bound is known: NaN
            p /= p.sum(axis=1, keepdims=True)
        apart = k - (p @ k)[:, None]
        p *= np.maximum(1.0, np.exp(np.minimum(beta * apart * reach, 600.0)))
        second, fourth = (p * apart**2).sum(axis=1), (p * apart**4).sum(axis=1)
        central = (fourth**0.25 + beta * reach * second) ** 4
        found[part] = beta**4 * np.maximum(2 * second**2, central) + beta * mu[part] * math.exp(reach)
    return found


def _probabilities(mu: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Parts of ``mu`` as (their places, counts k, ln f_k)."""
    import numpy as np

    order = np.argsort(mu)
    for part in np.array_split(order, max(1, len(order) // 64)):
        if not len(part):
            continue
        low, high = mu[part].min(), mu[part].max()
        first = max(0, math.floor(low - 12 * math.sqrt(low) - 60))
        k = np.arange(first, math.ceil(high + 12 * math.sqrt(high) + 60) + 1)
        yield part, k, -_deviance(k, mu[part][:, None]) - _log_at_mean(first, len(k))


def _deviance(k: Any, mu: Any) -> Any:
    """k ln(k / mu) + mu - k (Loader 2000)."""
    import numpy as np

    v = (k - mu) / (k + mu)
    square = v * v
    series = np.zeros_like(v)
    for j in range(9, 0, -1):
        series = (series + 1 / (2 * j + 1)) * square
    near = (k - mu) * v + 2 * k * v * series
    at_least_one = np.maximum(k, 1)
    far = np.where(k > 0, k * np.log(at_least_one / mu), 0.0) + mu - k
    return np.where(np.abs(v) < _CLOSE, near, far)


def _log_at_mean(first: int, count: int) -> Any:
    """-ln f_k(k) = ln k! - k ln k + k for ``count`` numbers k from ``first`` on."""
    import numpy as np

    k = np.arange(first, first + count, dtype=float)
    some = np.maximum(k, 1.0)
    inverse = 1 / (some * some)
    stirling = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / some
    found = np.log(2 * math.pi * some) / 2 + stirling
    for i in range(first, min(first + count, _FEW)):
        found[i - first] = math.log(math.factorial(i)) - (i * math.log(i) if i else 0.0) + i
    return found
