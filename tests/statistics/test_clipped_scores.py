"""Scores that are cut: the bound holds whatever a likelihood returns, and a smaller claim is beaten."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InputError
from tacit.statistics.clipped_scores import SCORE_STEPS, UNITS, ClippedScores, RowScores


@dataclass(frozen=True)
class Given(RowScores):
    """Scores that stand in the data: anything at all."""

    size: int

    @property
    def columns(self):
        return tuple(f"s{j}" for j in range(self.size))

    @property
    def coordinates(self):
        return self.columns

    @property
    def covariates(self):
        return 0

    def check_here(self):
        pass

    def scores(self, columns, point):
        return np.stack([columns[name] for name in self.columns], axis=1)


def sums(size=3, clip=Fraction(5, 2), **other):
    return ClippedScores(Given(size), clip, (0,) * size, matrix=True, **other)


def rows(vectors):
    return {f"s{j}": column for j, column in enumerate(np.asarray(vectors, float).T)}


def weighed(statistic, first, second):
    """The squared L2 and the L1 distance of two rows, in relative scales, exactly."""
    scales = statistic.sensitivity().relative_scales
    a, b = (statistic.each_row(rows([one]))[0].tolist() for one in (first, second))
    moved = [abs(Fraction(y - x)) / w for x, y, w in zip(a, b, scales, strict=True)]
    return sum(d * d for d in moved), sum(moved)


def worst_pair(statistic, rng):
    """Two vectors of full length whose product is where the proof has its maximum; the second is not cut."""
    size, longest = len(statistic.coordinates), float(statistic.clip)
    ratio = float(statistic.sensitivity().relative_scales[size])
    cosine = max(-1.0, -((ratio / SCORE_STEPS / longest) ** 2) / 2 * SCORE_STEPS**2)
    first, other = np.linalg.qr(rng.normal(size=(size, 2)))[0].T
    return 1e3 * first, longest * (cosine * first + np.sqrt(1 - cosine**2) * other) * (1 - 1e-4)


@pytest.mark.parametrize("laplace", [False, True])
@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("matrix", [False, True])
def test_no_pair_beats_the_claim_and_half_of_it_is_beaten(laplace, share, matrix):
    """Seed 1. Scores of all sizes, infinite and missing ones; no false alarm, as the claim is proved."""
    rng = np.random.default_rng(1)
    statistic = replace(sums(laplace=laplace, share=share), matrix=matrix)
    claim = statistic.sensitivity()
    odd = [[np.nan, 1, 1], [np.inf, 0, 0], [-np.inf, 0, 0], [0, 0, 0], [1e308, -1e308, 1e308], [1e-320, 0, 0]]
    pairs = [(a, b) for a in odd for b in odd]
    pairs += [
        (10 ** rng.uniform(-3, 6) * rng.normal(size=3), 10 ** rng.uniform(-3, 6) * rng.normal(size=3))
        for _ in range(300)
    ]
    pairs += [(-one, one) for one in 1e6 * rng.normal(size=(50, 3))]
    pairs += [worst_pair(statistic, rng) for _ in range(20)]
    found = [weighed(statistic, *pair) for pair in pairs]
    assert max(square for square, _ in found) <= claim.l2_squared
    assert max(total for _, total in found) <= claim.l1
    assert max(square for square, _ in found) > 0.5 * claim.l2_squared  # the planted fault: a claim of half as much


@pytest.mark.parametrize("laplace", [False, True])
@pytest.mark.parametrize("matrix", [False, True])
def test_no_row_beats_the_claim_of_one_row_more_and_nine_tenths_of_it_are_beaten(laplace, matrix):
    """Seed 5. As for pairs, and the number of rows beside the sums counts one; planted: a tenth less."""
    rng = np.random.default_rng(5)
    statistic = replace(sums(laplace=laplace), matrix=matrix)
    vectors = [[np.nan, 1, 1], [np.inf, 0, 0], *(10 ** rng.uniform(-3, 6, (300, 1)) * rng.normal(size=(300, 3)))]
    for one in (statistic, statistic.of_unknown_n()):
        claim = one.addition()
        moved = [
            [abs(Fraction(value)) / w for value, w in zip(one.batch_sum(rows([v])), claim.relative_scales, strict=True)]
            for v in vectors
        ]
        assert max(sum(d * d for d in some) for some in moved) <= claim.l2_squared
        assert max(sum(some) for some in moved) <= claim.l1
        assert max(sum(d * d for d in some) for some in moved) > 0.9 * claim.l2_squared


def test_the_bound_is_nearly_attained():
    rng = np.random.default_rng(2)
    for size in (2, 4, 7):
        statistic = sums(size)
        square, _ = weighed(statistic, *worst_pair(statistic, rng))
        assert square > 0.97 * statistic.sensitivity().l2_squared


@pytest.mark.parametrize("size", [511, 512, 671, 3300])
def test_scores_of_many_coordinates_are_cut_too(size):
    """12 levels and 61 columns make 671. Squares of a score that is huge everywhere left int64, and it was not cut."""
    statistic = replace(sums(1), likelihood=Given(size), point=(0,) * size, matrix=False)
    whole, cut = statistic.vectors(rows([[1e9] * size, [-1e6] * size, [np.nan, *[1e9] * (size - 1)]]))
    assert cut.all()
    assert max(sum(int(value) ** 2 for value in row) for row in whole) <= statistic.longest**2


def test_the_cut_is_to_whole_numbers_inside_the_length():
    """Seed 3: never longer than the length, never much shorter, and the direction is kept."""
    rng = np.random.default_rng(3)
    statistic, vectors = sums(5), 10 ** rng.uniform(0, 300, (4000, 1)) * rng.normal(size=(4000, 5))
    whole, cut = statistic.vectors(rows(vectors))
    lengths = (whole * whole).sum(axis=1)
    assert int(lengths.max()) <= statistic.longest**2
    assert int(lengths[cut].min()) > 0.98 * statistic.longest**2
    small = np.array([[0.5, -0.25, 1.0, 0.0, 0.125]])
    whole, cut = statistic.vectors(rows(small))
    assert whole.tolist() == [[512, -256, 1024, 0, 128]]
    assert not cut.any()


def test_what_is_not_finite_is_a_zero_vector_and_counts_as_cut():
    statistic = sums(2)
    added = statistic.each_row(rows([[np.nan, 1.0], [1.0, np.inf]]))
    assert added[:, :-1].tolist() == [[0] * 5] * 2
    assert added[:, -1].tolist() == [statistic.unit] * 2


def test_sums_are_the_sums_of_rows_and_stay_below_the_largest():
    rng = np.random.default_rng(4)
    statistic, given = sums(4), rows(10 ** rng.uniform(-2, 3, (500, 1)) * rng.normal(size=(500, 4)))
    each = statistic.each_row(given)
    assert statistic.batch_sum(given) == each.sum(axis=0).tolist()
    assert int(np.abs(each).max()) <= statistic.largest
    order = rng.permutation(500)
    assert (statistic.each_row({k: v[order] for k, v in given.items()}) == each[order]).all()


@pytest.mark.parametrize(("clip", "point"), [(Fraction(0), (0, 0)), (Fraction(5000), (0, 0)), (Fraction(1), (0,))])
def test_a_wrong_length_or_point_is_refused(clip, point):
    with pytest.raises(InputError, match=r"^Expected (clip|point)="):
        ClippedScores(Given(2), clip, point, matrix=False)


@dataclass(frozen=True)
class Measured(Given):
    """Scores that are divided by 1, 2 and 300 at any point but 0."""

    def units(self, point):
        return (UNITS, 2 * UNITS, 300 * UNITS) if any(point) else None


def test_scores_are_cut_in_the_units_of_their_point():
    """Seed 6. The sums are those of the divided scores, bit for bit, and no row is longer than the cut."""
    rng, at = np.random.default_rng(6), (1, 0, 0)
    vectors = rng.normal(size=(200, 3)) * [1, 4, 2000]
    there = replace(sums(), likelihood=Measured(3)).at(at, matrix=True)
    plain = sums().at(at, matrix=True)
    assert there.units == (UNITS, 2 * UNITS, 300 * UNITS)
    assert there.at((0, 0, 0), matrix=True).units is None
    assert there.sensitivity() == plain.sensitivity()
    assert (there.each_row(rows(vectors)) == plain.each_row(rows(vectors * (1 / np.array([1, 2, 300]))))).all()
    whole, cut = there.vectors(rows(vectors))
    assert (whole**2).sum(axis=1).max() <= there.longest**2
    assert 0 < cut.sum() < plain.vectors(rows(vectors))[1].sum()  # the planted fault: no units
