"""Sums of products of covariates and a count: exact on the lattice, with a sensitivity that no pair of rows beats."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.sensitivity import contribution, search_sensitivity
from tacit.errors import InputError
from tacit.models.regression import design_for
from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Schema
from tacit.statistics import lattice
from tacit.statistics.blocks import HALF_ROOT, log_volume
from tacit.statistics.count_moments import CountMoments
from tacit.statistics.count_sensitivity import (
    CountScales,
    CountWeights,
    count_claims,
    l1_box,
    l2_ball_squared,
    l2_box_squared,
)
from tacit.statistics.region import Region, region_of

# Reference values: R, weights of xx, yx, yxx and y against that of x, Delta^2, and Lemma 3.4.2 of kulkarni2021.
REFERENCE = [
    (1, 1, 1, 1, 0, 9.0, 9.0),
    (1, 1, 25, 25, 0, 117.0, 117.0),
    (1, 1, 25, 25, 25, 117.0, 117.0),
    (1, 0.5, 0.001, 0.3, 0, 4.301, 4.228250625),
    (1, 0.6, 0.0, 0.05, 0, 4.083333333333334, 4.069230769230768),
    (0.5, 1, 9, 9, 0, 10.0, 11.25),
    (1, 0.45, 0.01, 0.05, 0, 4.06, 4.0401),
    (1, 0.5, 0.01, 0.1, 0.3, 4.41, 4.070083333333334),
]


def exact(value):
    return Fraction(str(value))


def ball(radius, dimension):
    r = exact(radius)
    return Region(((-r, r),) * dimension, r * r)


def schema_of(d):
    return Schema({"y": (0, 50), **{f"x{i}": (-3, 7) for i in range(d)}})


def moments_of(d, *, intercept=True, radius=None, most=20, schema=None):
    formula = f"y ~ {' + '.join(f'x{i}' for i in range(d))}{'' if intercept else ' - 1'}"
    return CountMoments(design_for(formula, schema or schema_of(d)).columns, "y", most, radius)


def printed(weights):
    """Delta^2 of Lemma 3.4.2 of kulkarni2021 at R = 1, which takes the same count for both records."""
    both = weights.xx + weights.yxx
    return (2 * both + weights.yx + 1) ** 2 / (2 * both)


def distance(weights, first, second):
    """The squared distance of two records (x, y), entry by entry, cross terms twice."""
    (x, y), (w, z) = first, second
    xx, ww = (v[..., :, None] * v[..., None, :] for v in (x, w))
    total = weights[0] * ((x - w) ** 2).sum(axis=-1) + weights[1] * ((xx - ww) ** 2).sum(axis=(-1, -2))
    total = total + weights[2] * ((y[..., None] * x - z[..., None] * w) ** 2).sum(axis=-1)
    total = total + weights[3] * ((y[..., None, None] * xx - z[..., None, None] * ww) ** 2).sum(axis=(-1, -2))
    return total + weights[4] * (y - z) ** 2


# ---------------------------------------------------------------------------------------------------------------------
# The maximum over the ball


@pytest.mark.parametrize(("radius", "c2", "c3", "c4", "k0", "value", "paper"), REFERENCE)
def test_reference_values(radius, c2, c3, c4, k0, value, paper):
    weights = CountWeights(Fraction(1), *(exact(v) for v in (c2, c3, c4, k0)))
    found = l2_ball_squared(weights, ball(radius, 3))
    assert value * (1 - 1e-15) <= float(found) <= value * (1 + 1e-14)
    if radius == 1:
        assert float(printed(weights)) == pytest.approx(paper, rel=1e-12)


@pytest.mark.parametrize(("c2", "c3", "c4", "reached"), [(0.5, 0.01, 0.1, 4.11), (0.5, 0.001, 0.3, 4.301)])
def test_the_printed_formula_is_beaten(c2, c3, c4, reached):
    """The planted fault is the printed formula. x = (1, 0, 0) with y = 1 against x = (-1, 0, 0) with y = 0 beats it."""
    weights = CountWeights(Fraction(1), *(exact(v) for v in (c2, c3, c4, 0)))
    x = np.array([1.0, 0.0, 0.0])
    found = distance([1, c2, c3, c4, 0], (x, np.array(1.0)), (-x, np.array(0.0)))
    assert found == pytest.approx(reached, abs=1e-12)
    assert found > float(printed(weights)) * 1.005
    assert found <= float(l2_ball_squared(weights, ball(1, 3))) * (1 + 1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_pair_of_points_beats_the_maximum_and_one_attains_it(d):
    """Seed 1, 12 random weights. A pair beyond the claim is a counter-example, so no false alarm.

    Random pairs, then small changes of the best ones, come within 1e-6. The planted fault is a claim 1e-5 too small.
    """
    rng = np.random.default_rng(1)
    for _ in range(12):
        radius = int(rng.integers(2, 16)) / 10
        weights = CountWeights(*(Fraction(int(v), 8) for v in 2 ** rng.integers(0, 7, 5)))
        plain = [float(v) for v in (weights.x, weights.xx, weights.yx, weights.yxx, weights.y)]

        def inside(x, radius=radius):
            return x * np.minimum(1, radius / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300))

        x, w = (inside(rng.normal(size=(4000, d)) * 2 * radius) for _ in range(2))
        y, z = (np.clip(rng.uniform(-1, 2, 4000), 0, 1) for _ in range(2))
        for step in [0.0] + [0.7**k for k in range(40)]:
            top = np.repeat(np.argsort(-distance(plain, (x, y), (w, z)))[:40], 15)
            keep = np.tile(np.arange(15) > 0, 40) * step
            x, w = (inside(v[top] + keep[:, None] * radius * rng.normal(size=(600, d))) for v in (x, w))
            y, z = (np.clip(v[top] + keep * rng.normal(size=600), 0, 1) for v in (y, z))
        reached = distance(plain, (x, y), (w, z)).max()
        claimed = float(l2_ball_squared(weights, ball(radius, d)))
        assert claimed * (1 - 1e-6) <= reached <= claimed * (1 + 1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# The box


@pytest.mark.parametrize(("d", "l1", "l2_squared"), [(1, "21/4", 8), (2, "34/3", 16), (3, "155/8", 32)])
def test_values_by_hand(d, l1, l2_squared):
    """In units of the lattice: with P(u) = sum u + T(u) the L1 bound is 2 P(1) + 1 - min(P, 2 P + 1).

    The least P is -d / (2 (d + 1)). L2 with the same count: k of the numbers at -1 have 8 k (1 + d - k).
    """
    statistic = moments_of(d)
    found = statistic.sensitivity()
    assert 0 <= found.l1 - Fraction(l1) * statistic.unit < 1
    assert found.l2_squared == l2_squared * statistic.unit**2
    assert set(found.relative_scales) == {1}


def test_no_pair_in_a_box_beats_the_bound_for_any_scales():
    """Seed 2: 20 random boxes and scales; all pairs of a grid. No false alarm; the largest is within 2% in L1.

    The planted fault is the same count in both records: for most scales a pair with 1 and 0 beats it.
    """
    rng = np.random.default_rng(2)
    beaten = 0
    for _ in range(20):
        box = tuple((Fraction(int(lo), 8), Fraction(1)) for lo in rng.integers(-8, 4, 2))
        x, yx, y = (Fraction(int(v), 8) for v in rng.integers(4, 32, 3))
        cross, ycross = (own * Fraction(int(v), 8) for own, v in zip((x, yx), rng.integers(5, 16, 2), strict=True))
        scales = CountScales(x, x * Fraction(9, 8), cross, yx, yx * Fraction(9, 8), ycross, y)
        axes = [np.linspace(float(lo), 1, 9) for lo, _ in box]
        a, b, c = (v.ravel() for v in np.meshgrid(*axes, [0.0, 0.5, 1.0]))
        x_, sq, cr, yx_, ysq, ycr, y_ = (float(v) for v in (x, x * 9 / 8, cross, yx, yx * 9 / 8, ycross, y))
        rows = np.stack([a / x_, b / x_, a * a / sq, b * b / sq, a * b / cr], axis=1)
        with_y = np.stack([a / yx_, b / yx_, a * a / ysq, b * b / ysq, a * b / ycr, np.ones(len(a)) / y_], axis=1)
        rows = np.concatenate([rows, c[:, None] * with_y], axis=1)
        gaps = np.abs(rows[:, None] - rows[None])
        l1, l2 = gaps.sum(axis=2), (gaps**2).sum(axis=2)
        claim = float(l1_box(scales, Region(box, None)))
        assert claim * 0.98 <= l1.max() <= claim * (1 + 1e-12)
        assert l2.max() <= float(l2_box_squared(scales, Region(box, None))) * (1 + 1e-12)
        beaten += l1[np.ix_(c == 1, c == 1)].max() < l1.max() * (1 - 1e-9)
    assert beaten >= 10


# ---------------------------------------------------------------------------------------------------------------------
# The statistic


def test_names_of_entries():
    statistic = moments_of(2)
    without_y = ("x0", "x1", "x0*x0", "x0*x1", "x1*x1")
    assert statistic.entries == (*without_y, "y", *(f"y*{name}" for name in without_y))
    assert statistic.columns == ("x0", "x1", "y")
    assert moments_of(2, intercept=False).entries == statistic.entries


@pytest.mark.parametrize("radius", [None, Fraction(4, 5)])
def test_sums_are_those_of_whole_numbers(radius):
    """Seed 3: 30 rows, some beyond the most. Exact, in Python integers; in two batches the same.

    The planted fault is a count that is not clamped.
    """
    rng = np.random.default_rng(3)
    statistic = moments_of(2, radius=radius)
    cells = {"x0": rng.uniform(-3, 7, 30), "x1": rng.uniform(-3, 7, 30), "y": rng.integers(0, 40, 30).astype(float)}
    q = np.column_stack([column.values(cells, statistic.steps) for column in statistic.numbers])
    q = q if radius is None else lattice.into_ball(q, radius, statistic.steps)
    for most, same in ((20, True), (40, False)):
        count = [min(int(v), most) * statistic.steps // 20 for v in cells["y"]]
        total = [0] * len(statistic.layout)
        for row, y in zip(q.astype(int).tolist(), count, strict=True):
            v = [statistic.steps, *row]
            products = [(y if with_y else statistic.steps) * v[j] * v[k] for with_y, j, k in statistic.layout]
            total = [a + b for a, b in zip(total, products, strict=True)]
        assert (statistic.batch_sum(cells) == total) is same
    halves = [statistic.batch_sum({n: v[part] for n, v in cells.items()}) for part in (slice(11), slice(11, None))]
    assert [a + b for a, b in zip(*halves, strict=True)] == statistic.batch_sum(cells)


@pytest.mark.parametrize("most", [1, 7, 20, 1000, 4096, 100_000])
def test_every_count_is_on_the_lattice(most):
    """Up to 4,096 counts: a count k is k / most exactly. The planted fault is the finest lattice, where 1/7 is not."""
    statistic = moments_of(1, most=most, schema=Schema(y=(0, 10**6), x0=(0, 1)))
    assert statistic.steps <= lattice.resolution(3)
    assert statistic.unit * statistic.batch_rows <= 2**53
    at = statistic.entries.index("y")
    for k in (0, 1, 3, most - 1, most, most + 5):
        found = Fraction(statistic.batch_sum({"x0": np.array([0.3]), "y": np.array([float(k)])})[at], statistic.unit)
        if most <= 4096:
            assert found == Fraction(min(k, most), most)
        assert abs(found - Fraction(min(k, most), most)) <= Fraction(1, 2 * statistic.steps)
    assert lattice.resolution(3) % 7 != 0


# d, intercept, radius; the least share of the claim that the search must reach in L1 and in L2. L2 is a bound where
# there is no intercept: then intervals are neither symmetric nor free of negative numbers.
RECORDS = [
    (1, True, None, 0.999, 0.999),
    (1, True, "1/2", 0.999, 0.999),
    (1, False, 1, 0.999, 0.999),
    (2, True, None, 0.999, 0.999),
    (2, False, None, 0.999, 0.94),
    (2, True, 1, 0.92, 0.999),
    (2, True, "5/4", 0.88, 0.999),
    (2, False, 1, 0.84, 0.9),
    (3, True, 1, 0.91, 0.999),
]


@pytest.mark.parametrize(("d", "intercept", "radius", "l1", "l2"), RECORDS)
def test_no_pair_of_records_beats_it_and_one_comes_close(d, intercept, radius, l1, l2):
    """Seed 1, through parsing, clamping, rounding and summing. A pair beyond the claim is a counter-example.

    The planted faults are claims 1% below what was reached, one for each norm.
    """
    schema = schema_of(d)
    statistic = moments_of(d, intercept=intercept, radius=None if radius is None else Fraction(radius))
    claimed = statistic.sensitivity()
    found = search_sensitivity(statistic, schema, seed=1, records=80, rounds=6)
    assert not found.violates(claimed)
    assert found.l1 >= claimed.l1 * Fraction(l1)
    assert found.l2_squared >= claimed.l2_squared * Fraction(l2)
    less = Fraction(99, 100)
    assert found.violates(Sensitivity(found.l1 * less, claimed.l2_squared, claimed.relative_scales))
    assert found.violates(Sensitivity(claimed.l1, found.l2_squared * less, claimed.relative_scales))
    row = contribution(statistic, schema, found.l2_pair[0])
    assert max(map(abs, row)) <= statistic.unit


@pytest.mark.parametrize(("d", "radius", "gain"), [(1, 1, 0.1), (2, 1, 0.4), (5, 1, 1.3), (5, "1/2", 2.4)])
def test_the_ball_takes_less_noise(d, radius, gain):
    """By the criterion, per entry; cross terms have the scale of squares over sqrt 2.

    The planted faults are the claims that were not chosen: each takes more noise.
    """
    statistic = moments_of(d, radius=Fraction(radius))
    box = moments_of(d).sensitivity()
    found = statistic.sensitivity()
    assert log_volume(found) <= log_volume(box) - gain * box.entries
    scales = dict(zip(statistic.entries, found.relative_scales, strict=True))
    if d > 1:
        assert scales["x0*x1"] == scales["x0*x0"] * HALF_ROOT
        assert scales["y*x0*x1"] == scales["y*x0*x0"] * HALF_ROOT
    claims = count_claims(region_of(statistic.numbers, statistic.steps, statistic.radius))
    assert [claim.scales.square == scales["x0*x0"] for claim in claims] == [False, False, True]


def test_what_is_refused():
    schema = Schema(y=(0, 50), x=(0, 1), z=(0, 1), f=["a", "b"])
    for formula in ("y ~ x + f", "y ~ x:z", "y ~ 1"):
        with pytest.raises(InputError, match=r"^Expected design=.* to be different plain numbers, .*\.$"):
            CountMoments(design_for(formula, schema).columns, "y", 20, None)
    design = design_for("y ~ x + z", schema).columns
    with pytest.raises(InputError, match="not the response"):
        CountMoments(design, "x", 20, None)
    for most, radius in itertools.product((0, 2.5, True, -1), (None, Fraction(1))):
        with pytest.raises(InputError, match=r"^Expected most=.* to be a whole number of at least 1\.$"):
            CountMoments(design, "y", most, radius)
    for radius in (Fraction(0), Fraction(3, 2), 0.5):
        with pytest.raises(InputError, match=r"^Expected radius="):
            CountMoments(design, "y", 20, radius)
