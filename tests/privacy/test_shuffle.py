"""Shuffled reports: the bound against exact distributions of small surveys, against a published one, and its own exact
sum.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InputError
from tacit.privacy.basis import Basis
from tacit.privacy.guarantees import ApproxDP, PureDP
from tacit.privacy.shuffle import shuffled, shuffled_delta
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.unary_encoding import UnaryEncoding


def shuffled_law(table, records):
    """The exact distribution of the multiset of reports; ``table`` (records, reports) holds the probabilities of one
    report.
    """
    distribution = {(0,) * table.shape[1]: 1.0}
    for record in records:
        grown = Counter()
        for counts, mass in distribution.items():
            for report, probability in enumerate(table[record]):
                more = list(counts)
                more[report] += 1
                grown[tuple(more)] += mass * probability
        distribution = grown
    return distribution


def true_delta(table, n, epsilon):
    """The largest hockey-stick divergence over all pairs of data sets of n records that differ in one."""
    levels, worst = len(table), 0.0
    laws = {records: shuffled_law(table, records) for records in itertools.product(range(levels), repeat=n)}
    for rest in itertools.combinations_with_replacement(range(levels), n - 1):
        for one, other in itertools.permutations(range(levels), 2):
            p, q = laws[(one, *rest)], laws[(other, *rest)]
            worst = max(worst, sum(max(0.0, mass - math.exp(epsilon) * q[counts]) for counts, mass in p.items()))
    return worst


def table_of(protocol, levels):
    reports = np.array(list(itertools.product(*([low, high] for low, high in zip(*ends(protocol), strict=True)))))
    if isinstance(protocol, RandomizedResponse):
        reports = np.arange(levels)[:, None]
    return np.array([np.exp(protocol.log_pmf(reports, np.full((len(reports), 1), x))) for x in range(levels)])


def ends(protocol):
    (block,) = protocol.reports.blocks
    return block.low, block.high


CASES = [(RandomizedResponse, 2, n) for n in (1, 2, 5, 8)] + [(RandomizedResponse, 3, n) for n in (2, 4)]
CASES += [(UnaryEncoding, 2, n) for n in (2, 4)] + [(UnaryEncoding, 3, 3)]


@pytest.mark.parametrize(("kind", "levels", "n"), CASES)
def test_the_true_delta_never_exceeds_the_bound(kind, levels, n):
    """Every pair of neighbouring data sets, exact distributions (no randomness)."""
    response = kind is RandomizedResponse
    for local in (0.3, 1.0, 2.5):
        table = table_of(kind(levels, Fraction(local)), levels)
        assert table.sum(axis=1) == pytest.approx(np.ones(levels), abs=1e-12)
        for share in (0.0, 0.2, 0.5, 0.8, 0.99):
            truth = true_delta(table, n, share * local)
            assert truth <= shuffled_delta(local, n, share * local) * (1 + 1e-12)
            if response:
                assert truth <= shuffled_delta(local, n, share * local, randomized_response=True) * (1 + 1e-12)


def test_planted_faults_are_below_the_truth():
    """The same comparison catches a survey counted three times as large, and clones that are always there."""
    table = table_of(RandomizedResponse(2, Fraction(1)), 2)
    truth = true_delta(table, 4, 0.2)
    assert shuffled_delta(1.0, 4, 0.2, randomized_response=True) >= truth
    assert shuffled_delta(1.0, 12, 0.2, randomized_response=True) < truth
    assert direct_delta(1.0, 4, 0.2, 1.0) < truth


def direct_delta(local, n, epsilon, w):
    """The sum over C and all outcomes a, term by term."""
    q, total = math.exp(local) / (1 + math.exp(local)), 0.0
    for c in range(n):
        clones = math.comb(n - 1, c) * w**c * (1 - w) ** (n - 1 - c)
        fair = [0.0, *(math.comb(c, j) / 2**c for j in range(c + 1)), 0.0]
        for before, at in itertools.pairwise(fair):
            p, other = q * before + (1 - q) * at, (1 - q) * before + q * at
            total += clones * max(0.0, p - math.exp(epsilon) * other)
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 10, 120])
@pytest.mark.parametrize("local", [0.01, 1.0, 3.0, 8.0])
def test_the_recurrences_give_the_direct_sum(n, local):
    """Above it, by less than one part in 10^9."""
    for share, response in itertools.product((0.0, 0.1, 0.5, 0.9, 0.999), (False, True)):
        w = 2 / (math.exp(local) + 1) if response else math.exp(-local)
        direct = direct_delta(local, n, share * local, w)
        found = shuffled_delta(local, n, share * local, randomized_response=response)
        assert direct * (1 - 1e-12) <= found <= direct * (1 + 1e-9) + 1e-16


def test_a_large_survey_against_log_gamma():
    """Every probability by log-gamma, whose error at n = 20,000 is below 1e-10; so is what differs, relatively 1e-8."""
    local, n, epsilon = 1.0, 20_000, 0.02
    w, q = math.exp(-local), math.e / (1 + math.e)
    place = (math.exp(epsilon + local) - 1) / ((math.e - 1) * (1 + math.exp(epsilon)))
    centre, sd = (n - 1) * w, math.sqrt((n - 1) * w * (1 - w))

    def log_mass(count, j, share):
        choose = math.lgamma(count + 1) - math.lgamma(j + 1) - math.lgamma(count - j + 1)
        return choose + j * math.log(share) + (count - j) * math.log1p(-share)

    total = 0.0
    for c in range(int(centre - 9 * sd), int(centre + 9 * sd)):
        k = math.ceil((c + 1) * place)
        mass = math.exp(log_mass(c, k - 1, 0.5))
        j = np.arange(k - 1, min(c, k + 1500))
        tail = mass * np.cumprod((c - j) / (j + 1)).sum()
        stick = (q - math.exp(epsilon) * (1 - q)) * mass - math.expm1(epsilon) * tail
        total += math.exp(log_mass(n - 1, c, w)) * stick
    assert shuffled_delta(local, n, epsilon) == pytest.approx(total, rel=1e-8)


def published(local, n, delta):
    """Feldman, McMillan and Talwar 2021, Theorem 3.1, for epsilon0 <= ln(n / (16 ln(2 / delta)))."""
    assert local <= math.log(n / (16 * math.log(2 / delta)))
    e = math.exp(local)
    return math.log1p((e - 1) / (e + 1) * (8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n))


@pytest.mark.parametrize(("local", "n", "delta"), [(0.1, 10**3, 1e-6), (1.0, 10**4, 1e-8), (4.0, 10**6, 1e-6)])
def test_below_the_published_closed_form(local, n, delta):
    ours = shuffled(PureDP(local), n=n, delta=delta).epsilon
    assert 0.1 * published(local, n, delta) < ours < published(local, n, delta)
    # What is promised holds, and a little less does not.
    assert shuffled_delta(local, n, ours) <= delta < shuffled_delta(local, n, ours * (1 - 1e-6))


def test_more_people_and_smaller_budgets_hide_better():
    sizes = [1, 2, 10, 100, 1000, 10**5]
    for local in (0.2, 1.0, 3.0):
        found = [shuffled(PureDP(local), n=n, delta=1e-6).epsilon for n in sizes]
        assert found == sorted(found, reverse=True)
        assert found[0] <= local
        better = [shuffled(PureDP(local), n=n, delta=1e-6, randomized_response=True).epsilon for n in sizes]
        assert all(one <= other * (1 + 1e-9) for one, other in zip(better, found, strict=True))
    for n in (10, 10**4):
        found = [shuffled(PureDP(local), n=n, delta=1e-6).epsilon for local in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0)]
        assert found == sorted(found)


def test_extremes_stay_safe():
    assert shuffled_delta(600.0, 10, 1.0) == 1.0
    assert shuffled_delta(1.0, 10, 1.0) == 0.0
    assert shuffled(PureDP(600.0), n=10**6, delta=1e-6).epsilon == pytest.approx(600.0, rel=1e-8)
    assert 0 < shuffled(PureDP(1e-6), n=10**6, delta=0.5).epsilon <= 1e-6
    assert shuffled(PureDP(1.0), n=10**6, delta=1e-300).epsilon == pytest.approx(1.0, rel=1e-8)
    # The smallest probabilities: bounded, never taken for 0.
    assert 0 < shuffled_delta(3.0, 10**5, 2.9) < 1e-30


def test_the_promise_says_what_it_assumes():
    promise = shuffled(PureDP(1.0, assumes=("as before",)), n=1000, delta=1e-6)
    assert isinstance(promise, ApproxDP)
    assert promise.assumes[0] == "as before"
    assert "at least 1000 reports" in promise.assumes[2]


def test_refusals():
    with pytest.raises(InputError, match="to be a PureDP"):
        shuffled(ApproxDP(1.0, 1e-6), n=10, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="delta=0 to lie strictly"):
        shuffled(PureDP(1.0), n=10, delta=0)
    with pytest.raises(InputError, match="n=0 to be a whole number"):
        shuffled(PureDP(1.0), n=0, delta=1e-6)
    with pytest.raises(InputError, match="epsilon=-1"):
        shuffled_delta(1.0, 10, -1)


def test_how_many_reports_there_are_is_seen_so_that_leaving_one_out_is_not_hidden():
    with pytest.raises(InputError, match="how many reports there are"):
        shuffled(PureDP(1.0, neighbours="add-remove"), n=1000, delta=1e-6)


def test_what_is_assumed_of_a_report_is_assumed_of_all():
    assert shuffled(PureDP(1.0, basis=Basis.ASSUMED), n=1000, delta=1e-6).basis is Basis.ASSUMED
