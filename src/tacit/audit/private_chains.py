"""The audit of private chains: a likelihood-ratio attack on everything that the price covers.

A release holds the chain's last states; the price is that of every noisy sum on the way. So the attacker is given what
the proof gives away: the noisy sums of a real run, which of the other rows were taken, and every row but one. Against
that nobody can do better than the likelihood ratio of the sums under the two neighbours. The noise of the same runs,
and how many rows they took, are held against the laws that were priced.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from tacit.audit.black_box import ends
from tacit.audit.check import Check
from tacit.audit.draws import noise_tests
from tacit.audit.effort import Effort
from tacit.audit.findings import attacked, drawn, priced
from tacit.audit.in_public import charged_once, same_in_public
from tacit.audit.neighbours import Record, collected, fillings
from tacit.mechanisms.iterative.private_sums import Answer, PrivateSums
from tacit.mechanisms.private_chain.private_chain import ChainDraws
from tacit.noise.entropy import OSEntropy
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.plan import Plan

_LEAST_RUNS, _MOST_SECONDS = 4, 60.0
_LOOKED_AT = 20  # answers of a pilot run, by which a pair of records is chosen


@dataclass(frozen=True, eq=False)
class Transcripts:
    """What real runs on one data set showed: a score each, the noise of every sum, and how many rows were taken."""

    scores: list[float] = field(default_factory=list[float])
    noise: list[int] = field(default_factory=list[int])
    taken: list[int] = field(default_factory=list[int])


def private_chains(crossing: ChainDraws, plan: Plan, effort: Effort) -> list[Check]:
    """All checks of a plan that releases states of a private chain."""
    n = crossing.rows
    assert n is not None  # or there is no plan
    effort = replace(effort, n=n)
    records, filling = ends(plan), fillings(plan)[0]
    pair = furthest(crossing, plan, records, filling)
    checks = [
        priced(crossing.event(), plan.budget),
        same_in_public(plan, list(pair), n, few=True),
        charged_once(plan, pair[0], n),
    ]
    if effort.runs:
        first, second = transcripts(crossing, plan, pair, filling, effort.runs)
        checks.append(_laws(crossing, effort, first, second))
        how = "a likelihood-ratio attack on every noisy sum"
        checks.append(attacked(np.array(first.scores), np.array(second.scores), plan.budget, effort, pair, how))
    return checks


def transcripts(crossing: ChainDraws, plan: Plan, pair: Any, filling: Record, runs: int) -> list[Transcripts]:
    """Real runs on each of two neighbours; fewer than ``runs`` where they take long.

    A score is the log likelihood ratio of all sums, the second neighbour over the first.
    """
    n = crossing.rows
    assert n is not None
    both = collected(plan, pair, n, filling)
    known = [_evidence(crossing, one) for one in both]
    found: list[Transcripts] = []
    for which, one in enumerate(both):
        seen = Transcripts()
        started = time.monotonic()
        while len(seen.scores) < runs and (
            len(seen.scores) < _LEAST_RUNS or time.monotonic() - started < _MOST_SECONDS / 2
        ):
            score = 0.0
            for answer in recorded(crossing, one, n):
                ratio, noise = _read(answer, known, n, which)
                score += ratio
                seen.noise.extend(int(v) for v in noise)
                seen.taken.append(len(answer.taken))
            seen.scores.append(score)
        found.append(seen)
    return found


def recorded(crossing: ChainDraws, one: Any, n: int) -> list[Answer]:
    """The noisy sums of one real run."""
    record: list[Answer] = []
    crossing.chain.states(dict(crossing.drawn.numbers), one, n, OSEntropy(), record)
    return record


def furthest(crossing: ChainDraws, plan: Plan, records: list[Record], filling: Record) -> tuple[Record, Record]:
    """The pair of records whose parts in the sums of one run are furthest apart."""
    n = crossing.rows
    assert n is not None
    data = collected(plan, records, n, filling)
    answers = recorded(crossing, data[0], n)
    answers = answers[:: max(1, len(answers) // _LOOKED_AT)]
    parts: list[Any] = []
    for one in data:
        known = _evidence(crossing, one)
        parts.append(np.concatenate([_own(answer, known, n) for answer in answers] or [np.zeros(1)]))
    first, second = max(
        combinations(range(len(records)), 2), key=lambda ij: float(np.sum((parts[ij[0]] - parts[ij[1]]) ** 2))
    )
    return records[first], records[second]


def _evidence(crossing: ChainDraws, one: Any) -> PrivateSums:
    """A data set, for the exact sums that the attacker can work out."""
    return crossing.chain.evidence(dict(crossing.drawn.numbers), one, OSEntropy())


def _own(answer: Answer, known: PrivateSums, n: int) -> Any:
    """What the last row adds where it is taken."""
    last = np.array([n - 1])
    return np.asarray(known.exact(answer.vector, answer.state, answer.bound, last, len(answer.values)), np.float64)


def _read(answer: Answer, known: list[PrivateSums], n: int, which: int) -> tuple[float, Any]:
    """ln P(values | second) / P(values | first) given which of the other rows were taken, and the noise itself."""
    others = answer.taken[answer.taken != n - 1]
    size, law = len(answer.values), known[0].steps
    rest = np.asarray(
        answer.values - known[0].exact(answer.vector, answer.state, answer.bound, others, size), np.float64
    )
    rate, scale = float(law.rate), float(law.scale)
    terms: list[float] = []
    parts = [_own(answer, one, n) for one in known]
    for own in parts:
        gained = float(own @ rest - own @ own / 2) / scale**2
        terms.append(gained if rate == 1 else float(np.logaddexp(np.log1p(-rate), np.log(rate) + gained)))
    noise = rest - parts[which] if len(others) < len(answer.taken) else rest
    return terms[1] - terms[0], noise


def _laws(crossing: ChainDraws, effort: Effort, first: Transcripts, second: Transcripts) -> Check:
    """Do the noise and the sampling of real runs follow the laws that were priced?"""
    from scipy.stats import binomtest

    law = crossing.chain.steps(dict(crossing.drawn.numbers))
    p_values: dict[str, float] = {}
    for name, seen in (("first", first), ("second", second)):
        tests = noise_tests(np.array(seen.noise, dtype=object)[:, None], RoundedGaussian((law.scale,)))
        p_values |= {f"{name}: {test}": p for test, p in tests.items()}
        trials = len(seen.taken) * effort.n
        p_values[f"{name}: rows taken"] = float(binomtest(sum(seen.taken), trials, float(law.rate)).pvalue)
    return drawn(p_values, effort, len(first.scores) + len(second.scores))
