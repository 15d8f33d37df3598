"""What an attack proves: a lower bound on epsilon from its error counts, with confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.errors import expected


@dataclass(frozen=True)
class Attack:
    """How often an attacker erred: ``false_positives`` of ``negatives`` runs on D, ``false_negatives`` of ``positives``
    runs on the neighbour D'.
    """

    false_positives: int
    negatives: int
    false_negatives: int
    positives: int

    def __post_init__(self) -> None:
        for wrong, runs in ((self.false_positives, self.negatives), (self.false_negatives, self.positives)):
            if not (runs >= 1 and 0 <= wrong <= runs):
                raise expected("attack", (wrong, runs), "to count errors out of at least one run")


def epsilon_lower_bound(attack: Attack, *, delta: float, confidence: float) -> float:
    """The largest epsilon that the attack refutes: with probability ``confidence`` the true one is at least this.

    Any (epsilon, delta)-DP mechanism obeys FPR + e^epsilon FNR >= 1 - delta and the same with the two exchanged
    (Kairouz, Oh, Viswanath 2015). Each rate is replaced by its one-sided Clopper-Pearson upper limit at
    1 - (1 - confidence)/2, so that both hold together (Bonferroni). Rates are per class: dividing by all runs, as some
    published audits do, makes a guesser look like a proof.
    """
    if not 0 <= delta < 1:
        raise expected("delta", delta, "to be at least 0 and below 1")
    if not 0 < confidence < 1:
        raise expected("confidence", confidence, "to lie between 0 and 1")
    tail = (1 - confidence) / 2
    fpr = _upper_limit(attack.false_positives, attack.negatives, tail)
    fnr = _upper_limit(attack.false_negatives, attack.positives, tail)
    bounds = [0.0]
    for first, second in ((fpr, fnr), (fnr, fpr)):
        if 1 - delta - first > 0:
            bounds.append(math.log((1 - delta - first) / second))
    return max(bounds)


def _upper_limit(wrong: int, runs: int, tail: float) -> float:
    from scipy.special import betaincinv

    return 1.0 if wrong == runs else float(betaincinv(wrong + 1, runs - wrong, 1 - tail))
