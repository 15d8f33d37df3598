"""What randomised response costs beside another release about the same record, exactly.

A record has two parts. One is answered by randomised response among K values: the truth with weight e^c, each other
value with weight 1. The other part goes into a release whose laws P and Q, on two inputs, have the curve
H(e) = sup over S of P(S) - e^e Q(S). The two have coins of their own. Together they have

    delta(e) = [ e^c H(e - c) + H(e + c) + (K - 2) H(e) ] / (e^c + K - 1)

which for K = 2 and p = e^c / (1 + e^c) is p H(e - c) + (1 - p) H(e + c). To spend c on the answer and e - c on the rest
(basic composition) is H(e - c) <= delta instead: more, since H falls.

Proof: neighbours are any two records (replace-one on one record); let these two differ in both parts. Write p_l, q_l
for the probabilities of answer l. Given the answer, the set S with the most of p_l P(S) - e^e q_l Q(S) is the one of H
at e - ln(p_l / q_l), so delta(e) = sum_l p_l H(e - ln(p_l / q_l)). The log ratio is c where l is the first record's
value, -c where it is the second's, and 0 else. For a negative argument take complements of S: H(e) = 1 - e^e +
e^e H'(-e), with H' for P and Q exchanged. A bound that holds for every pair in both orders may stand for H and H'. A
pair that differs in one part only is a randomisation of one that differs in both: forget the other part, and draw anew
what it would have shown. So it costs no more. []
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.privacy.rounding import float_below

# Each value of the curve is off by less than the margin of `events`, relatively; this covers what is done with it here.
_SUMS = 1e-13


def delta(curve: Callable[[float], float], pure: Fraction, levels: int, epsilon: Fraction) -> float:
    """delta(e) at e = ``epsilon``, for c = ``pure``, K = ``levels`` and H = ``curve``, which is asked at e >= 0.

    The arguments of H are rounded down: it falls, so that this can only raise the result.
    """

    def stick(exact: Fraction) -> float:
        below = float_below(exact)
        rest = curve(abs(below))
        return rest if below >= 0 else math.exp(below) * rest - math.expm1(below)

    lie = math.exp(-float_below(pure))  # how much rarer one lie is than the truth
    total = stick(epsilon - pure) + lie * (stick(epsilon + pure) + (levels - 2) * stick(epsilon))
    return min(1.0, total / (1 + (levels - 1) * lie) * (1 + _SUMS))
