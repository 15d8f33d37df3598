"""The exact delta of several independent draws of bounded range from one posterior, e = ``epsilon`` each.

    delta(g) = max over l = 0, ..., k - 1 of F_l(t_l),    t_l = (g + (l + 1) e) / (k + 1), where t_l < e
    F_l(t) = sum over i <= l of C(k, i) p^{k-i} (1-p)^i (1 - e^{g - k t + i e})

with g = ``target``, k = ``draws`` and p, q = p e^{-t} of the two-point lemma at offset t (`bounded_range`). It is 0
where no t_l is below e. The candidates are those of Dong, Durfee, Rogers 2020 for compositions that are not adaptive.

Proof: the k draws have distributions P^k and Q^k with one and the same P and Q. By the two-point lemma (P, Q) is a
randomisation of its two-point pair at some t in [0, e], so (P^k, Q^k) is one of the k-fold pair, and delta is at most
the largest over t of that of the k-fold pair; which has bounded range e a draw, so nothing less holds for all.
The number N of draws with the second outcome says all that the k-fold pair tells. It is Bin(k, 1 - p) or Bin(k, 1 - q),
and the likelihood ratio e^{kt - Ne} falls with N. So the best test is N <= l for some l, and delta(t) = max over l of
F_l(t), F_l(t) = Pr_p(N <= l) - e^g Pr_q(N <= l), and 0 for no l; l = k gives 1 - e^g <= 0. The derivative of
Pr_p(N <= l) in p is k C(k-1, l) p^{k-1-l} (1-p)^l. With p = q e^t, 1 - p = (1 - q) e^{t-e}, dp/dt = -e^{t-e} / (1 -
e^{-e}) and dq/dt = -e^{-t} / (1 - e^{-e}) the derivative of F_l in t is a positive number times

    e^{g - t} - e^{k t - (l + 1) e}

which is positive up to t_l and negative from there. So F_l is largest at t_l if t_l < e, and otherwise at t = e, where
p = q = 0 and F_l = 0 as l < k. []

Rounding: t_l, s_l = e - t_l = ((k - l) e - g) / (k + 1) and k t_l - i e - g = s_l + (l - i) e are made of rationals, so
every term is positive and exact up to the rounding of a few logarithms. It is raised by more than that. t_l is where
F_l is stationary, so its own rounding costs a part of the order of 2^-100.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.privacy.bounded_range import log1mexp
from tacit.privacy.conversions import Real

MOST = 1000  # draws: the work grows with their square
_UNIT = 2.0**-49  # sixteen roundings


def delta(epsilon: Real, draws: int, target: Real) -> float:
    """The delta at epsilon = ``target`` of ``draws`` independent draws of bounded range ``epsilon``, rounded up."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise expected("epsilon", epsilon, "to be a finite number above 0")
    if isinstance(draws, bool) or not 1 <= draws <= MOST:
        raise expected("draws", draws, f"to be a whole number from 1 to {MOST}")
    if target < 0:
        raise expected("target", target, "to be at least 0")
    e, g, k = Fraction(epsilon), Fraction(target), draws
    found = 5e-324 if k * e > g else 0.0  # where a float would be 0, it is not
    for least in range(k):
        before_end = ((k - least) * e - g) / (k + 1)
        if before_end <= 0:
            break
        found = max(found, _at(float(e), k, least, float(before_end), float((g + (least + 1) * e) / (k + 1))))
    return min(1.0, found)


def _at(e: float, k: int, most: int, before_end: float, t: float) -> float:
    """F_l(t), l = ``most`` and e - t = ``before_end``, rounded up."""
    import numpy as np

    logs = log1mexp(before_end), log1mexp(e), log1mexp(t)
    log_p = logs[0] - logs[1]  # p = (1 - e^{-(e-t)}) / (1 - e^{-e})
    log_rest = logs[2] - logs[1] - before_end  # 1 - p = e^{-(e-t)} (1 - e^{-t}) / (1 - e^{-e})
    i = np.arange(most + 1)
    ways = _log_ways(k)[: most + 1]
    exponents = ways + (k - i) * log_p + i * log_rest
    total = float(np.exp(exponents) @ -np.expm1(-(before_end + (most - i) * e)))
    sizes = float(np.max(ways)) + k * (sum(map(abs, logs)) + before_end)
    return total * (1 + _UNIT * (10 + sizes))


@lru_cache(maxsize=16)
def _log_ways(k: int) -> Any:
    """ln C(k, i) for i = 0, ..., k, each from the exact whole number."""
    import numpy as np

    return np.array([math.log(math.comb(k, i)) for i in range(k + 1)])
