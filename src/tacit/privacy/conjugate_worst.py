"""The worst pair of neighbouring posteriors of a conjugate family (geumlek2017, section 3; replace-one).

In all of them a posterior is given by coordinates that are base + what one record adds, in [0, w], w the ``weight`` of
a record. Write D for D_order(P || Q), t for where the other records put the base.

Proof of the reduction. Along the line from Q through P, with h(u) = the second derivative of the log-partition at
distance u and P at distance t from Q,

    dD/dt = a / (a - 1) int_t^{a t} h(u) du >= 0,

and for fixed P, with Q moving away, dD/dt = int over the segment from Q to Q + a (P - Q) of h >= 0. So D grows with
the distance between P and Q, whichever moves, and the changed record has its two extreme values, in either order.
Second, psi1 falls and is convex, so for fixed offset the integral form of D is convex in the base, and falls in each
coordinate of it by itself.

beta          Two coordinates with a fixed sum: the base moves along a line, D is convex in it, so the others are all at
              one end or all at the other: four ordered pairs. Records may be any numbers in [0, 1]: nothing above needs
              whole ones. With n not declared, n = 1 is taken: the base is then smallest in both coordinates.
dirichlet     D = up(A_i) + down(A_j), A the bases of the two coordinates that change, both falling. With three or more
              levels the others can all be at a third one, so A_i and A_j are the prior's, and the two smallest are the
              worst, in one of two orders. n does not matter.
gamma-shape   One coordinate, base at the prior's shape: two ordered pairs. n does not matter, the rate cancels.
gamma-rate    D = shape * `log_part`(d), d = (bP - bQ) / bQ. It grows with the shape, which is prior + weight * n, and
              falls with the base of the rate, which is the prior's when all others are 0: two ordered pairs. []
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from tacit.privacy.conjugate_renyi import log_part, shape_divergence

FAMILIES = ("beta", "beta-query", "dirichlet", "gamma-shape", "gamma-rate")

SumsPair = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


def worst_pairs(family: str, prior: Sequence[Fraction], weight: Fraction, n: int | None) -> Iterator[SumsPair]:
    """The ordered pairs (P, Q) one of which is the worst; ``prior`` and ``weight`` as in `worst_renyi`."""
    match family:
        case "beta" | "beta-query":
            others = (n or 1) - 1
            for base in {(prior[0], prior[1] + weight * others), (prior[0] + weight * others, prior[1])}:
                yield from _both((base[0] + weight, base[1]), (base[0], base[1] + weight))
        case "dirichlet":
            i, j = sorted(prior)[:2]
            yield from _both((i + weight, j), (i, j + weight))
        case _:
            yield from _both((prior[-1] + weight,), (prior[-1],))


def _both(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> Iterator[SumsPair]:
    yield one, other
    yield other, one


def worst_renyi(family: str, prior: Sequence[Fraction], weight: Fraction, n: int | None, order: Fraction) -> float:
    """The largest D_order over all pairs of neighbours; inf from `largest_order` on.

    ``prior``: (a, b) of a Beta; the concentrations of a Dirichlet; (shape,) of a Gamma whose shape the records add to;
    (shape, rate) of a Gamma whose rate they add to, the shape that of the posterior. ``weight`` is the most that one
    record adds. ``n`` is the number of rows, or None where it is not declared.
    """
    return max(pair_renyi(family, prior, pair, order) for pair in worst_pairs(family, prior, weight, n))


def pair_renyi(family: str, prior: Sequence[Fraction], pair: SumsPair, order: Fraction) -> float:
    """D_order of one ordered pair."""
    p, q = pair
    if family == "gamma-rate":
        return float(prior[0]) * log_part((p[0] - q[0]) / q[0], order)
    return math.fsum(shape_divergence(b, a - b, order) for a, b in zip(p, q, strict=True))


def largest_order(family: str, prior: Sequence[Fraction], weight: Fraction) -> Fraction:
    """lambda*: the divergence is finite below this order and infinite at it and above.

    Proof: Q + order (P - Q) stays positive in every coordinate for every pair if and only if it does where the moved
    coordinate is smallest: base - (order - 1) weight > 0 at the smallest prior coordinate, a pair that rows make. []
    For one row or more: 1 + min(prior) / weight (geumlek2017, Theorem A.10).
    """
    least = prior[-1] if family == "gamma-rate" else min(prior)
    return 1 + least / weight
