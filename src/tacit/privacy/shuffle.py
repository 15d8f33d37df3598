"""What a shuffler adds: n reports under local epsilon0-DP, seen without their senders, as a central promise.

Everybody randomises with the same protocol R, with the same epsilon0, and a trusted shuffler passes on all reports in
random order. Neighbours are two data sets of n people that differ in one person's record (replace-one). Write
q = e^epsilon0 / (1 + e^epsilon0), and draw

    C ~ Binomial(n - 1, w),    A ~ Binomial(C, 1/2),    D ~ Bernoulli(q),    w = e^-epsilon0
    P = distribution of (A + D, C - A + 1 - D),    Q = distribution of (A + 1 - D, C - A + D)

Theorem (Feldman, McMillan and Talwar 2021, Theorem 3.2): the shuffled reports of the two data sets are a randomisation
of P and of Q, one and the same for both. So whatever (epsilon, delta) P and Q keep, the shuffled reports keep.

Proof: let the records of the one person be x and x', with report probabilities r(y) and r'(y). By the two-point lemma
of `bounded_range` (Kairouz, Oh, Viswanath 2015) there are distributions Q0 and Q1 with r = q Q0 + (1 - q) Q1 and r' =
(1 - q) Q0 + q Q1. Adding the two, Q0 + Q1 = r + r'. Anybody else's report has probability r_i(y) >= e^-epsilon0 r(y)
and >= e^-epsilon0 r'(y), hence r_i >= (w/2) (r + r') = (w/2) Q0 + (w/2) Q1. So the report of person i can be drawn in
two steps: from Q0 or Q1 with probability w/2 each, and else from a distribution W_i of their own. Let C be how many of
the n - 1 others draw from Q0 or Q1, and A how many of these from Q0. The one person draws from Q0 if D = 1 under x, or
if D = 0 under x', and else from Q1. So the numbers a and b of draws from Q0 and Q1 have the distribution P under x and
Q under x'. Given them, n - a - b others, any set of so many equally likely as w is the same for all, draw from their
W_i; neither this nor the shuffled order depends on D or on whether x or x' is held. []

Randomized response among any number of levels allows w = 2 / (e^epsilon0 + 1). Proof: no report is the truth of both x
and x', so r + r' is at most (1 + e^epsilon0) times the least probability that any record gives to that report. Hence
r_i >= (r + r') / (1 + e^epsilon0), and the rest is as above. []

The others' records do not matter, and may be known. A person who does not follow the protocol must not be counted in n.

What is computed: given C = c, a + b = c + 1 and the ratio of the two probabilities grows with a, so that the best event
of the hockey-stick divergence is a >= k, k = ceil((c + 1) t) with t = (e^(epsilon + epsilon0) - 1) / ((e^epsilon0 - 1)
(1 + e^epsilon)). With B ~ Binomial(c, 1/2) and b(j) = P(B = j) this gives, exactly,

    delta(epsilon) = sum_c P(C = c) h_c,    h_c = (q - e^epsilon (1 - q)) b(k - 1) - (e^epsilon - 1) P(B >= k)

Proof: P(a >= k | c) = P(B >= k) + q b(k - 1), and the same with 1 - q under Q. The ratio at a is (q a + (1 - q) m) /
((1 - q) a + q m) with m = c + 1 - a, and solving it for e^epsilon gives t, which lies between 1/2 and 1. The pair with
P and Q exchanged is the same pair with a and b exchanged. []

Rounding is to the safe side: the values of C left out count with h = 1 and a geometric bound on their probability; what
is summed comes from recurrences of products and sums, whose relative error is below 16 steps 2^-53, and that much of
the sum of all absolute values is added. h_c falls with c, as one fair coin more can be added to (a, b) by anybody, so
that h at a smaller c may stand for it.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.errors import expected
from tacit.privacy.guarantees import ApproxDP, PureDP
from tacit.privacy.neighbours import REPLACE_ONE

_MOST = 10**9  # more reports are counted as so many: fewer can only promise less
_UNIT = 2.0**-53
_LEAST = 1e-280  # probabilities below it are bounded by it
_WIDTH = 1e-9  # where the bisection ends, relatively

ASSUMES = (
    "a trusted shuffler passes on nothing but the reports, in random order",
    "at least {n} reports are made by the protocol, all with the same epsilon",
)


def shuffled(local: PureDP, *, n: int, delta: float, randomized_response: bool = False) -> ApproxDP:
    """The central promise of ``n`` shuffled reports, each with the ``local`` one: the least epsilon at ``delta``.

    ``randomized_response`` says that the protocol is that one, which is hidden better. See the module for the proof and
    for what is assumed; the latter stands in the promise, too.

    Proof: `shuffled_delta` is an upper bound at every epsilon, and the epsilon returned is one where it is at most
    ``delta``, or the local epsilon, which holds as each report is one person's (post-processing, and others' reports
    are independent of the record). []
    """
    if not isinstance(local, PureDP):
        raise expected("local", local, "to be a PureDP: reports with a delta of their own have no proof here")
    if local.neighbours != REPLACE_ONE:
        raise expected(
            "neighbours", local.neighbours, f'of local to be "{REPLACE_ONE}": all see how many reports there are'
        )
    if not 0 < delta < 1:
        raise expected("delta", delta, "to lie strictly between 0 and 1")
    low, high = 0.0, local.epsilon
    _check(local.epsilon, n)
    while high - low > _WIDTH * high:
        middle = (low + high) / 2
        holds = shuffled_delta(local.epsilon, n, middle, randomized_response=randomized_response) <= delta
        low, high = (low, middle) if holds else (middle, high)
        if high < 1e-12 * local.epsilon:
            break
    assumed = tuple(text.format(n=n) for text in ASSUMES)
    return ApproxDP(high, delta, basis=local.basis, assumes=(*local.assumes, *assumed))


def shuffled_delta(local_epsilon: float, n: int, epsilon: float, *, randomized_response: bool = False) -> float:
    """At least delta(epsilon) of ``n`` shuffled reports with ``local_epsilon`` each, and hardly more."""
    import numpy as np

    _check(local_epsilon, n)
    if not 0 <= epsilon < math.inf:
        raise expected("epsilon", epsilon, "to be a finite number of at least 0")
    if epsilon >= local_epsilon:
        return 0.0
    if local_epsilon > 500:
        return 1.0  # nobody is hidden, and e^epsilon0 would not fit a float
    others = min(n, _MOST) - 1
    first, weights, tail = _clones(others, local_epsilon, randomized_response)
    # (e^(epsilon + epsilon0) - 1) / ((e^epsilon0 - 1)(1 + e^epsilon)), written with falling exponentials
    place = -math.expm1(-epsilon - local_epsilon) / (-math.expm1(-local_epsilon) * (1 + math.exp(-epsilon)))
    c = np.arange(first, first + len(weights))
    k = np.clip(np.ceil((c + 1) * place).astype(np.int64), 1, c + 1)
    k = c + np.minimum.accumulate(k - c)  # k grows by 0 or 1; rounding can make that 2
    best = -math.expm1(epsilon - local_epsilon) / (1 + math.exp(-local_epsilon))  # q - e^epsilon (1 - q)
    last = _last_above(c, k)
    if last is None:  # h_c <= best * b(k - 1), below _LEAST for every c
        return min(1.0, tail + _LEAST * 2)
    weights = np.append(weights[:last], weights[last:].sum())
    c, k = c[: last + 1], k[: last + 1]
    at, beyond = _start(int(c[-1]), int(k[-1]))
    # From c + 1 down to c: k stays, or falls by one.
    above, falls = c[1:], np.diff(k) == 1
    ratios = 2 * np.where(falls, k[1:] - 1, above + 1 - k[1:]) / above
    mass = at * np.append(np.cumprod(ratios[::-1])[::-1], 1.0)  # b(k - 1) for every c
    steps = np.where(falls, mass[:-1] * (c[:-1] - k[:-1] + 1) / k[:-1], -mass[:-1]) / 2
    tails = beyond + np.append(np.cumsum(steps[::-1])[::-1], 0.0)  # P(B >= k)
    sizes = beyond + np.append(np.cumsum(np.abs(steps)[::-1])[::-1], 0.0)
    growth = math.expm1(epsilon)
    relative = 16 * (len(weights) + 40 * math.sqrt(float(c[-1])) + 200) * _UNIT
    # A k that rounding moved by one leaves out a term of at most 8 units times (1 + e^epsilon) b(k - 1).
    moved = 16 * _UNIT * (2 + growth)
    sticks = np.maximum(best * mass - growth * tails, 0.0) + relative * (best * mass + growth * sizes) + moved * mass
    total = float(weights @ np.minimum(sticks, 1.0)) * (1 + relative) + tail
    return min(1.0, total + _LEAST)


def _check(local_epsilon: float, n: int) -> None:
    if not 0 < local_epsilon < math.inf:
        raise expected("local_epsilon", local_epsilon, "to be a finite number above 0")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise expected("n", n, "to be a whole number of reports, at least 1")


def _clones(others: int, local_epsilon: float, randomized_response: bool) -> tuple[int, Any, float]:
    """The least value of C that is kept, at least P(C = c) from there on, and at least the probability of the rest.

    Proof: P(C = c + 1) / P(C = c) = odds (others - c) / (c + 1), so a product of these ratios from the mode on is the
    distribution up to a factor. The factor is taken from what is kept: too large, if anything. The ratios fall, so
    beyond an edge the distribution falls at least as a geometric series. []
    """
    import numpy as np

    odds = (2 if randomized_response else 1) / math.expm1(local_epsilon)  # w / (1 - w)
    share = odds / (1 + odds)
    mode = min(others, int((others + 1) * share))
    depth = 80.0  # e^-80 is far below any delta that means something
    half = int(math.sqrt(2 * others * share * (1 - share) * depth) + depth) + 1
    low, high = max(0, mode - half), min(others, mode + half)
    up = odds * (others - np.arange(mode, high)) / (np.arange(mode, high) + 1.0)
    down = np.arange(mode, low, -1) / (odds * (others - np.arange(mode, low, -1) + 1.0))
    weights = np.concatenate([np.cumprod(down)[::-1], [1.0], np.cumprod(up)])
    below, beyond = low / (odds * (others - low + 1.0)), odds * (others - high) / (high + 1.0)
    assert max(below, beyond) < 1  # both edges lie past the mode, or at an end of the range
    tail = float(weights[0]) * below / (1 - below) + float(weights[-1]) * beyond / (1 - beyond)
    total = float(weights.sum())
    slack = 1 + 16 * len(weights) * _UNIT
    return low, weights / total * slack, min(1.0, tail / total * slack)


def _last_above(c: Any, k: Any) -> int | None:
    """The last place where b(k - 1) is above _LEAST; it falls with c. None if there is none."""

    def log_mass(i: int) -> float:
        n, j = int(c[i]), int(k[i]) - 1
        return math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) - n * math.log(2)

    least = math.log(_LEAST) + 1  # lgamma of 10^9 is right to 1e-5
    if log_mass(len(c) - 1) > least:
        return len(c) - 1
    if log_mass(0) <= least:
        return None
    low, high = 0, len(c) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if log_mass(middle) > least else (low, middle)
    return low


def _start(c: int, k: int) -> tuple[float, float]:
    """P(B = k - 1) and P(B >= k) for B ~ Binomial(c, 1/2), where k - 1 is at least c // 2.

    Products of the ratios (c - j) / (j + 1) from the middle on, divided by the sum of all. What is left out lies 40
    standard deviations from the middle, or 12 beyond k: less than 2^-53 of what it is left out of.
    """
    import numpy as np

    middle, wide = c // 2, math.sqrt(c)
    top = min(c, int(max(k, middle + 20 * wide) + 6 * wide + 60))
    j = np.arange(middle, top)
    above = np.append(1.0, np.cumprod((c - j) / (j + 1.0)))  # at middle, middle + 1, ..., top
    # The distribution is symmetric; with an even c the middle is its own mirror image.
    total = 2 * above.sum() - 1 if c % 2 == 0 else 2 * above[1:].sum()
    at = k - 1 - middle
    return float(above[at] / total), float(above[at + 1 :].sum() / total)
