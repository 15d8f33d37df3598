"""Scores and information of one row as whole numbers: tables of the linear predictor, the same on every machine.

A response y in {0, ..., C} (C = ``most``; 1 for a response with two levels) has a log-likelihood that depends on the
covariates through eta alone. Write mu for its mean before clamping. Then the score u with respect to eta and its
expected information w are

    logistic        u = y - 1 / (1 + e^-eta),  w = 1 / ((1 + e^-eta) (1 + e^eta))
    Poisson, y < C  u = (mu' / mu) y - mu',    mu = e^eta (log) or log(1 + e^eta) (softplus)
    Poisson, y = C  u = mu' P(N = C - 1) / P(N >= C),  N ~ Poisson(mu): the likelihood of a clamped count
    Poisson         w = E[u^2] = mu'^2 P(N = C - 1) (1 - (C - 1) / mu) + (mu'^2 / mu) P(N <= C - 2) + u_C^2 P(N >= C)

The ``observed`` information is minus the second derivative of the log-likelihood. With the softplus link and y < C it
is ((mu'/mu)^2 - mu''/mu) y + mu'' >= 0, since mu is convex and log mu concave: mu'^2 >= mu mu'' is e^eta >= mu. It is
what the rows' posterior has, and differs from w where counts vary more, or less, than Poisson counts do. Its largest
value is many times that of w, so it is for releases with little noise. For y = C it counts as 0 where it is negative.

With the log link a row whose mean at the point lies beyond C has the weight a = C / mu in u and in w, any other 1: a
function of its covariates alone, so that the score still has mean 0 where the model holds. Without it a count of 0 at a
corner of the bounds, where no row need be, would have a score of -mu and decide how much noise every row pays for.

So u = slope(eta) y - start(eta) for y < C, and u = top(eta) for y = C. These three and w stand in a table at knots of
eta, are rounded to whole numbers there, and are interpolated linearly in whole numbers between them. Beyond the last
knot eta counts as the last knot: a logistic mean is within e^-24 of 0 or 1 there, and a Poisson mean so far above C
that a smaller count has no probability left.

The entries are computed by `decimal`, whose operations are rounded exactly as its standard says on every machine. So a
row's whole numbers depend on that row and on the point alone: no exponential of a math library, whose last digit may
depend on the processor or on the place in a vector, is taken of a row.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

from tacit.errors import expected

LINKS = ("logistic", "log", "softplus")
FINE = 2**20
"""Steps of eta that make a 1."""
STEPS = 2**12
"""Lattice steps of a covariate from 0 to 1."""

_DIGITS = 30
_WIDEST = 2**28  # 1 / (resolution of the information) times the largest score: see `weight_unit`


@dataclass(frozen=True)
class ScoreTable:
    """Whole numbers at ``knots`` of eta: ``slope``, ``start`` and ``top`` in `score_unit`, ``weight`` in its own.

    Where the information depends on the response it is ``weight`` + ``weight_slope`` y for y < C, ``weight_top`` at C.
    """

    most: int
    weight_unit: int
    knots: tuple[int, ...]
    slope: tuple[int, ...]
    start: tuple[int, ...]
    top: tuple[int, ...]
    weight: tuple[int, ...]
    weight_slope: tuple[int, ...] = ()
    weight_top: tuple[int, ...] = ()

    @property
    def weight_slack(self) -> int:
        """By how much rounding may move a row's weight from the line that `curves` is about."""
        return self.most + 1 if self.weight_slope else 1

    @property
    def score_unit(self) -> int:
        """The whole number that stands for a score of 1, such that scores and information have one unit in the end."""
        return self.weight_unit * STEPS

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        import numpy as np

        scores = (self.knots, self.slope, self.start, self.top)
        return tuple(np.array(one, np.int64) for one in (*scores, self.weight, self.weight_slope, self.weight_top))

    @cached_property
    def largest(self) -> tuple[int, int]:
        """Bounds on the size of a row's score and weight, in whole numbers."""
        ends = [abs(a * y - b) for a, b in zip(self.slope, self.start, strict=True) for y in (0, self.most - 1)]
        weights = [a * (self.most - 1) + b for a, b in zip(self.weight_slope, self.weight, strict=False)]
        return max(*ends, *self.top) + self.most, max(*self.weight, *weights, *self.weight_top)

    def of_rows(self, eta: Any, response: Any) -> tuple[Any, Any]:
        """The score and the weight of each row, int64, from whole ``eta`` (in 1 / `FINE`) and ``response`` in 0..most.

        Every operation is on whole numbers of one row: a comparison, a difference, a product and a quotient rounded
        down. `_check` has seen that no product leaves int64.
        """
        import numpy as np

        knots, slope, start, top, weight, weight_slope, weight_top = self._arrays
        eta = np.clip(eta, knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, eta, side="right") - 1, 0, len(knots) - 2)
        along, width = eta - knots[left], knots[left + 1] - knots[left]

        def at(values: Any) -> Any:
            below = values[left]
            return below + (values[left + 1] - below) * along // width

        below_top = at(slope) * response - at(start)
        scores, weights = np.where(response == self.most, at(top), below_top), at(weight)
        if self.weight_slope:
            weights = np.where(response == self.most, at(weight_top), at(weight_slope) * response + weights)
        return scores, weights

    def curves(self, low: int, high: int) -> list[tuple[int, list[tuple[int, int]]]]:
        """Points (score, weight) whose hull, widened by ``most`` + 1 and `weight_slack`, holds rows of such an eta.

        One list for y = 0, for y = C - 1 (where that is another one) and for y = C.
        Proof: between two knots a row's score and weight are linear in eta, up to rounding: ``slope`` y is off by less
        than y <= C - 1, so is ``weight_slope`` y, and the others by less than 1. For y between 0 and C - 1 they lie on
        the line between those of 0 and of C - 1. So the ends of the interval and the knots inside it span all rows. []
        """
        low, high = (min(max(end, self.knots[0]), self.knots[-1]) for end in (low, high))
        inside = range(bisect_right(self.knots, low), bisect_left(self.knots, high))
        places = [low, *(self.knots[i] for i in inside), high] if high > low else [low]
        import numpy as np

        found: list[tuple[int, list[tuple[int, int]]]] = []
        for y in sorted({0, self.most - 1, self.most}):
            scores, weights = self.of_rows(np.array(places, np.int64), np.full(len(places), y, np.int64))
            found.append((y, list(zip(scores.tolist(), weights.tolist(), strict=True))))
        return found


@lru_cache(maxsize=16)
def score_table(link: str, most: int, observed: bool = False) -> ScoreTable:
    """The table of a ``link`` for responses from 0 to ``most``; a response with two levels has ``most`` = 1.

    ``observed`` is for the softplus link, with the information of that name.
    """
    if observed and link != "softplus":
        raise expected("link", link, "to be softplus for the observed information")
    if link not in LINKS:
        raise expected("link", link, f"to be one of {', '.join(LINKS)}")
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= 4096:
        raise expected("most", most, "to be a whole number from 1 to 4096")
    if link == "logistic" and most != 1:
        raise expected("most", most, "to be 1 for a response with two levels")
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)):
        knots = list(_knots(link, most))
        rows = [_logistic(knot) if link == "logistic" else _poisson(link, most, knot) for knot in knots]
        bends = [_observed(most, knot) for knot in knots] if observed else []
        largest = max(max(abs(b), abs(a) * (most - 1), abs(t)) for a, b, t, _ in rows)
        unit = 2 ** min(20, _WIDEST.bit_length() - 1 - math.ceil(largest).bit_length())
        whole = [
            tuple(_rounded(value * scale) for value, scale in zip(row, (unit * STEPS,) * 3 + (unit,), strict=True))
            for row in rows
        ]
    slope, start, top, weight = zip(*whole, strict=True)
    table = ScoreTable(most, unit, tuple(knots), slope, start, top, weight)
    if observed:
        weight_slope, weight, weight_top = zip(*(map(partial(_whole, unit), bend) for bend in bends), strict=True)
        table = replace(table, weight=weight, weight_slope=weight_slope, weight_top=weight_top)
    _check(table)
    return table


def _check(table: ScoreTable) -> None:
    """No product of `ScoreTable.of_rows` may leave int64, and no weight be negative. A fault in tacit if it did."""
    weights = [one for one in (table.weight, table.weight_slope, table.weight_top) if one]
    for values in (table.slope, table.start, table.top, *weights):
        jumps = (abs(b - a) for a, b in pairwise(values))
        gaps = (b - a for a, b in pairwise(table.knots))
        assert max(jump * gap for jump, gap in zip(jumps, gaps, strict=True)) < 2**62
    assert min(map(min, weights)) >= 0
    assert max(table.largest) < 2**52


def _knots(link: str, most: int) -> Iterator[int]:
    """Knots of eta: 1/128 apart near 0, wider where functions bend less, narrower where a mean passes ``most``."""
    root = math.isqrt(most) + 1
    above = most + 8 * root + 16  # a mean under which a count below ``most`` has probability e^-30 at most
    near, band = FINE // 128, range(0)
    match link:
        case "logistic":
            low, high = -24 * FINE, 24 * FINE
        case "log":
            low, high = -20 * FINE, _rounded(Decimal(above).ln() * FINE)
            ends = [Decimal(max(1, most + side * (10 * root + 10))).ln() for side in (-1, 1)]
            band = range(*(_rounded(end * FINE) for end in ends))
        case _:
            low, high = -20 * FINE, above * FINE
    knot = low
    while knot < high:
        yield knot
        growth = max(1, abs(knot) // (4 * FINE)) if link != "log" or knot < 0 else 1
        step = min(near, FINE * root // (16 * most)) if knot in band else near * growth
        knot = 0 if knot < 0 < knot + step else knot + step  # 0 is a knot: the first point is exact
    yield high


def _mean(link: str, eta: Decimal) -> tuple[Decimal, Decimal]:
    """mu and mu'."""
    power = eta.exp()
    return (power, power) if link == "log" else ((1 + power).ln(), power / (1 + power))


def _logistic(knot: int) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    power = (Decimal(knot) / FINE).exp()
    mean = power / (1 + power)
    return Decimal(0), mean, 1 - mean, mean / (1 + power)


def _poisson(link: str, most: int, knot: int) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    mean, change = _mean(link, Decimal(knot) / FINE)
    before = (-mean + (most - 1) * mean.ln() - _log_factorial(most - 1)).exp()  # P(N = C - 1)
    if mean < most:
        ratio = _series(mean, most)  # P(N >= C) / P(N = C - 1)
        tail, top = ratio * before, change / ratio
    else:
        tail = 1 - before * _falling(mean, most)
        top = change * before / tail
    less = max(Decimal(0), 1 - tail - before)  # P(N <= C - 2)
    weight = change**2 * before * (1 - (most - 1) / mean) + change**2 / mean * less + top**2 * tail
    down = most / mean if link == "log" and mean > most else Decimal(1)
    return down * change / mean, down * change, down * top, down * max(Decimal(0), weight)


def _observed(most: int, knot: int) -> tuple[Decimal, Decimal, Decimal]:
    """By softplus: (mu'/mu)^2 - mu''/mu, mu'' and minus the second derivative of log P(N >= C), at least 0 each.

    With h = P(N = C - 1) / P(N >= C), the derivative of log P(N >= C) in mu: h' = h ((C - 1) / mu - 1 - h).
    """
    mean, change = _mean("softplus", Decimal(knot) / FINE)
    bend = change / (1 + (Decimal(knot) / FINE).exp())  # mu''
    if mean < most:
        hazard = 1 / _series(mean, most)
    else:
        before = (-mean + (most - 1) * mean.ln() - _log_factorial(most - 1)).exp()
        hazard = before / (1 - before * _falling(mean, most))
    top = -(bend * hazard + change**2 * hazard * ((most - 1) / mean - 1 - hazard))
    return max(Decimal(0), (change / mean) ** 2 - bend / mean), bend, max(Decimal(0), top)


def _series(mean: Decimal, most: int) -> Decimal:
    """sum over k >= 0 of mean^(k+1) / (C (C+1) ... (C+k))."""
    term = total = mean / most
    k = most
    while term > total * Decimal(10) ** (4 - _DIGITS):
        k += 1
        term = term * mean / k
        total += term
    return total


def _falling(mean: Decimal, most: int) -> Decimal:
    """sum over j = 0..C-1 of (C-1) (C-2) ... (C-j) / mean^j: P(N <= C - 1) / P(N = C - 1)."""
    term = total = Decimal(1)
    for j in range(1, most):
        term = term * (most - j) / mean
        total += term
        if term < total * Decimal(10) ** (4 - _DIGITS):
            break
    return total


@lru_cache(maxsize=16)
def _log_factorial(k: int) -> Decimal:
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)):
        return Decimal(math.factorial(k)).ln()


def _whole(scale: int, value: Decimal) -> int:
    return _rounded(value * scale)


def _rounded(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_HALF_EVEN))
