"""The checks that several kinds of mechanism share, each an answer in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tacit.audit.bayesian import epsilon_interval
from tacit.audit.check import Check
from tacit.audit.claims import ROUNDING, at_point, exceeds, used
from tacit.audit.curve import Curve
from tacit.audit.effort import Effort
from tacit.audit.empirical import epsilon_lower_bound
from tacit.audit.guess import threshold_attack
from tacit.audit.sensitivity import LargestDifferences
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee
from tacit.privacy.sensitivity import Sensitivity

_DRAWN = 25  # points of a curve that a page draws
BELIEVED = 0.95  # the probability of the credible interval that is shown beside every attack


def priced(event: Event, budget: Guarantee) -> Check:
    """Is what the mechanism says it costs within what is promised?"""
    fine = event.satisfies(budget)
    words = f"The stated price is {'within' if fine else 'above'} the promise of {budget.symbols}."
    return Check("price", not fine, words, proof=True)


def bounded(found: LargestDifferences, claimed: Sensitivity, unit: int) -> Check:
    """Does a pair of records, through the real code, move the statistic further than claimed?"""
    violated = found.violates(claimed)
    l1, l2 = float(found.l1 / claimed.l1), float(found.l2_squared / claimed.l2_squared) ** 0.5
    which = "L1" if found.l1 / claimed.l1 >= 1 or not violated else "L2"
    if violated:
        words = (
            f"Two records move the statistic further than is claimed: {max(l1, l2):.6g} times the claimed {which} "
            "distance."
        )
    else:
        words = f"The search came to {100 * l1:.4g}% of the claimed L1 distance and {100 * l2:.4g}% of the L2 distance."
    pair = found.l1_pair if l1 >= l2 else found.l2_pair
    figures = {
        "l1": float(found.l1 / unit),
        "l1_claimed": float(claimed.l1 / unit),
        "l2": float(found.l2_squared) ** 0.5 / unit,
        "l2_claimed": float(claimed.l2_squared) ** 0.5 / unit,
    }
    return Check("sensitivity", violated, words, proof=True, witness=pair, figures=figures)


def exact(curves: Iterable[tuple[Curve, Any]], budget: Guarantee, event: Event) -> Check:
    """The exact privacy curve of the worst pair, both ways, against the promise and against the stated price."""
    best, witness, worst = -1.0, None, None
    for curve, pair in curves:
        share = used(curve, budget)
        if share > best:
            best, witness, worst = share, pair, curve
    assert worst is not None
    violated = exceeds(best)
    words = f"The exact curve of the worst pair uses {_percent(best)} of the promise ({budget.symbols})."
    drawn_curve = _points(worst, event, budget)
    for epsilon, true, stated in zip(*drawn_curve.values(), strict=True):
        if not violated and true > stated * (1 + ROUNDING) + 1e-13:
            violated = True
            words = f"At epsilon = {epsilon:.4g} the pair needs delta = {true:.4g}; the stated price is {stated:.4g}."
    figures = {"epsilon_of_the_pair": worst.epsilon, "curve": drawn_curve}
    return Check("exact curve", violated, words, proof=True, share=best, witness=witness, figures=figures)


def _points(curve: Curve, event: Event, budget: Guarantee) -> dict[str, list[float]]:
    """Points of the pair's curve beside the stated one: epsilon, the delta that is needed, the one that is stated."""
    promised, _ = at_point(budget)
    largest = max(1e-6, min(1.2 * promised, 1.2 * curve.epsilon, 50.0))
    places = [float(e) for e in np.linspace(0.0, largest, _DRAWN)]
    return {
        "epsilon": places,
        "needed": [curve.delta(e) for e in places],
        "stated": [float(event.delta(e)) for e in places],
    }


def _percent(share: float) -> str:
    """A share in percent, rounded down: never more than was seen."""
    if share > 10 or share != share:
        return f"{share:.3g} times all"
    return f"{math.floor(1e5 * share) / 1e3:g}%"


def drawn(p_values: Mapping[str, float], effort: Effort, runs: int) -> Check:
    """Do the outcomes of the real mechanism follow the distribution that is claimed for them?"""
    failed = {name: p for name, p in p_values.items() if p < effort.each}
    if failed:
        name = min(failed, key=failed.__getitem__)
        what = name.rpartition(": ")[2]
        fault = _FAULTS.get(what, what)
        words = f"{runs:,} real outcomes contradict the stated distribution: {fault} (p = {failed[name]:.2g})."
    else:
        tests = dict.fromkeys(name.rpartition(": ")[2] for name in p_values)
        words = f"{runs:,} real outcomes agree with the stated distribution ({', '.join(tests) or 'too few to test'})."
    return Check("outcomes", bool(failed), words, proof=False, figures=dict(p_values))


_FAULTS = {
    "fit": "they are distributed otherwise",
    "low bits": "their last bits are not evenly spread, as with noise made in floating point",
    "dependence": "they depend on each other",
    "support": "some lie where the stated density is 0",
    "failures": "more of them fail than is paid for",
    "repeats": "they repeat, as with a seed or with noise that is used twice",
}


def attacked(first: Any, second: Any, budget: Guarantee, effort: Effort, witness: Any, how: str) -> Check:
    """Guess which data set made each outcome; ``first`` and ``second`` are scores. What do the errors prove?"""
    epsilon, delta = at_point(budget)
    attack = threshold_attack(first, second, delta=delta, confidence=1 - effort.each)
    bound = epsilon_lower_bound(attack, delta=delta, confidence=1 - effort.each)
    likely = epsilon_lower_bound(attack, delta=delta, confidence=BELIEVED)
    low, high = epsilon_interval(attack, delta=delta, probability=BELIEVED)
    violated = bound > epsilon
    at = f" at delta = {delta:g}" if delta else ""
    words = (
        f"{how.capitalize()} {'proves' if violated else 'shows'} epsilon above {(bound if violated else likely):.3g}"
        f"{at}, where {epsilon:.3g} is promised; credible interval {low:.3g} to {high:.3g}."
    )
    figures = {
        "false_positives": attack.false_positives,
        "negatives": attack.negatives,
        "false_negatives": attack.false_negatives,
        "positives": attack.positives,
        "delta": delta,
        "epsilon_promised": epsilon,
        "epsilon_proved": bound,
        "epsilon_at_95_percent": likely,
        "credible_low": low,
        "credible_high": high,
    }
    return Check("attack", violated, words, False, share=None, witness=witness, figures=figures)
