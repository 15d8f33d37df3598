"""Noisy sums over Poisson samples: whole vectors, coins, noise and price, through the code that the boundary runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from tacit.errors import InputError
from tacit.noise.entropy import OSEntropy
from tacit.noise.noisy_steps import (
    RADIUS,
    WHOLE,
    NoiseStream,
    NoisySteps,
    calibrated_steps,
    chance_below,
)
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.private_samplers import row_sums
from tacit.private_samplers.row_sums import LANES, RowSums, in_lanes

SIZE = 5


@dataclass(frozen=True)
class Bent:
    """A vector with products, a matrix product and a transcendental function, so that its last bits are hard to get."""

    def __call__(self, state, x, y):
        import jax.numpy as jnp

        return jnp.tanh(state @ x) * x * y


@dataclass(frozen=True)
class Itself:
    """The row as it is."""

    def __call__(self, state, x, y):
        return x * y


def hostile_rows(n, seed=0):
    """Rows of every size, and cells that are no numbers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, SIZE)) * 10.0 ** rng.integers(-12, 13, (n, 1))
    x[:9] = [
        [1e300] * 5,
        [-1e300, 1e-300, 0, 0, 0],
        [math.inf, 0, 0, 0, 0],
        [math.nan, 1, 1, 1, 1],
        [0] * 5,
        [1, 0, 0, 0, 0],
        [-1, 0, 0, 0, 0],
        [5e-324] * 5,
        [1 / math.sqrt(5)] * 5,
    ]
    return x


def vectors_of(sums, n, state=None, bound=1.0):
    state = np.zeros((SIZE, SIZE)) if state is None else state
    return [sums.add(state, bound, np.array([i])) for i in range(n)]


def test_no_row_is_longer_than_the_radius_and_some_come_near():
    """Rows from seed 0, through the real program; the norm is taken in Python's whole numbers. Planted fault: rounding
    to nearest without a second look, which is longer."""
    n = 200
    x, y = hostile_rows(n), np.ones(n)
    found = vectors_of(RowSums(Itself(), x, y, SIZE), n)
    squares = [sum(int(v) ** 2 for v in one) for one in found]
    assert max(squares) <= RADIUS**2
    assert math.sqrt(max(squares)) > RADIUS * (1 - 1e-6)
    assert squares[2] == squares[3] == squares[4] == 0  # what is not finite counts as nothing
    assert found[0][0] > 0.4 * RADIUS  # too long a row is clipped, however long it is
    apart = max(sum((int(a) - int(b)) ** 2 for a, b in zip(found[5], other, strict=True)) for other in found)
    assert (2 * RADIUS * (1 - 1e-6)) ** 2 < apart <= (2 * RADIUS) ** 2


def test_rounding_to_nearest_is_caught(monkeypatch):
    import jax.numpy as jnp

    def nearest(vectors, bound, radius):
        length = jnp.sqrt(jnp.sum(vectors**2, axis=1, keepdims=True))
        return jnp.rint(vectors * jnp.minimum(radius / bound, radius / length)).astype(jnp.int64)

    monkeypatch.setattr(row_sums, "whole_vectors", nearest)
    monkeypatch.setattr(row_sums, "_program", lru_cache(row_sums._program.__wrapped__))
    x = np.random.default_rng(1).standard_normal((50, SIZE))
    found = vectors_of(RowSums(Itself(), 9 * x, np.ones(50), SIZE), 50)
    assert max(sum(int(v) ** 2 for v in one) for one in found) > RADIUS**2


def test_small_vectors_are_cut_towards_zero():
    """1 / 3 of a unit is 0, whatever its sign, and a value halfway goes down."""
    x = np.array([[1.9, -1.9, 0.5, -0.3, 3.0]]) / RADIUS
    found = RowSums(Itself(), x, np.ones(1), SIZE).add(np.zeros((SIZE, SIZE)), 1.0, np.array([0]))
    assert list(found) == [1, -1, 0, 0, 2]  # 3 is shrunk by 2^-40 first


def test_a_row_adds_the_same_whatever_is_taken_with_it():
    """Bit for bit, seed 3: alone, with all, with every subset of 20, whatever the others hold (numbers, NaN). A row
    keeps its lane, and no operation mixes lanes. Planted fault: an operation that does."""
    n = 3 * LANES + 11
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((n, SIZE)), rng.standard_normal(n)
    state = rng.standard_normal((SIZE, SIZE))
    sums = RowSums(Bent(), x, y, SIZE)
    alone = np.array(vectors_of(sums, n, state, bound=2.0))
    for trial in range(20):
        taken = np.flatnonzero(rng.random(n) < (trial + 1) / 20)
        assert np.array_equal(sums.add(state, 2.0, taken), alone[taken].sum(axis=0))
    spoilt = x.copy()
    spoilt[: n - 1] = np.where(rng.random((n - 1, 1)) < 0.5, math.nan, 1e300)
    other = RowSums(Bent(), spoilt, y, SIZE)
    with_all, without = other.add(state, 2.0, np.arange(n)), other.add(state, 2.0, np.arange(n - 1))
    assert np.array_equal(with_all - without, alone[-1])


def test_mixing_lanes_is_caught(monkeypatch):
    import jax.numpy as jnp

    real = row_sums.whole_vectors
    monkeypatch.setattr(row_sums, "whole_vectors", lambda v, b, r: real(v - jnp.mean(v, axis=0), b, r))
    monkeypatch.setattr(row_sums, "_program", lru_cache(row_sums._program.__wrapped__))
    rng = np.random.default_rng(4)
    sums = RowSums(Itself(), rng.standard_normal((9, SIZE)), np.ones(9), SIZE)
    alone = np.array(vectors_of(sums, 9))
    assert not np.array_equal(sums.add(np.zeros((SIZE, SIZE)), 1.0, np.arange(9)), alone.sum(axis=0))


def test_lanes_hold_every_row_once():
    taken = np.flatnonzero(np.random.default_rng(5).random(5000) < 0.3)
    rows = in_lanes(taken)
    held = rows[rows >= 0]
    assert sorted(held) == list(taken)
    assert all(row % LANES == lane for lane in range(LANES) for row in rows[:, lane] if row >= 0)
    assert in_lanes(np.array([], int)).shape == (0, LANES)


class Words:
    """Entropy that says what it is told."""

    def __init__(self, words):
        self.content = np.array(words, "<u8").tobytes()

    def bytes(self, count):
        found, self.content = self.content[:count], self.content[count:]
        return found


def test_the_coins_compare_whole_words():
    """A word below ``chance`` takes its row, and one equal to it does not: the rate is chance / 2^64 exactly."""
    law = NoisySteps(RADIUS, 1000, 1)
    assert list(law.taken(4, Words([999, 1000, 0, 2**64 - 1]))) == [0, 2]
    assert law.rate == Fraction(1000, WHOLE)
    assert list(NoisySteps(RADIUS, WHOLE, 1).taken(3, Words([]))) == [0, 1, 2]


@pytest.mark.parametrize("rate", [1 / 3, 0.1, 256 / 8192, 1e-9, 1.0])
def test_the_rate_that_is_used_is_priced_and_not_above_the_one_that_was_said(rate):
    """Rounded up, as the planted fault has it, the rate would be above."""
    chance = chance_below(rate)
    law = NoisySteps(RADIUS, chance, 3)
    assert law.event().rate == Fraction(chance, WHOLE) <= Fraction(rate)
    assert Fraction(chance + 1, WHOLE) > Fraction(rate)


def test_rows_are_taken_at_the_rate_independently():
    """Fresh entropy. The number taken in 400 steps, and of pairs in a row, against their binomial laws: false alarms in
    2e-6; a rate 3 percent too large is caught with certainty (40 standard errors)."""
    law, n, steps = NoisySteps(RADIUS, chance_below(0.3), 1), 5000, 400
    counts = pairs = 0
    for _ in range(steps):
        flags = np.zeros(n, bool)
        flags[law.taken(n, OSEntropy())] = True
        counts, pairs = counts + flags.sum(), pairs + (flags[::2] & flags[1::2]).sum()
    assert stats.binomtest(int(counts), n * steps, 0.3).pvalue > 1e-6
    assert stats.binomtest(int(pairs), n * steps // 2, 0.09).pvalue > 1e-6
    assert stats.binomtest(int(counts), n * steps, 0.309).pvalue < 1e-12


def test_the_noise_is_gaussian_of_the_scale_that_is_priced():
    """Fresh entropy, 40,000 numbers against N(0, scale^2) by Kolmogorov and Smirnov: false alarms in 1e-6. Half of the
    noise, and noise that comes twice, are caught."""
    law = NoisySteps(3 * RADIUS, WHOLE, 4000)
    stream = NoiseStream(law, 10, OSEntropy())
    drawn = np.array([stream.next() for _ in range(4000)]).ravel()
    assert stats.kstest(drawn / law.scale, "norm").pvalue > 1e-6
    assert stats.kstest(drawn / law.scale / 2, "norm").pvalue < 1e-12
    assert len(np.unique(drawn)) > 0.99 * len(drawn)
    assert law.event().multiplier == 3


BUDGETS = [ApproxDP(1.0, 1e-5), ApproxDP(8.0, 1e-6), ZCDP(0.5), GDP(1.0), RenyiDP(8.0, 1.0)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_calibrated_noise_meets_the_budget_and_hardly_more(budget):
    law = calibrated_steps(budget, chance_below(0.05), 200)
    assert law.event().satisfies(budget)
    less = NoisySteps(math.floor(law.scale * 0.999), law.chance, law.steps)
    assert not less.event().satisfies(budget)


def test_a_pure_budget_is_refused():
    with pytest.raises(InputError, match=r"^Expected budget=.* never pure\.$"):
        calibrated_steps(PureDP(1.0), WHOLE, 1)


@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, 0, 1), (1, WHOLE + 1, 1), (1, 1, 0), (True, 1, 1)])
def test_laws_that_make_no_sense_are_refused(numbers):
    with pytest.raises(InputError, match="to be a whole number from 1 to"):
        NoisySteps(*numbers)
