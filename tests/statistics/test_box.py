"""The corner theorem and the sensitivities that follow from it, against search over pairs of records."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.statistics.box import (
    half_square,
    l1_products,
    l2_products_bound_squared,
    l2_products_squared,
    least_half_square,
    oriented,
    product_range,
)

# Reference values: exact fractions for L1; for L2 the exact value (Frobenius norm) and the certified bound.
L1 = [
    ([-1, -1], [1, 1], "3"),
    ([1, -1, -1], [1, 1, 1], "16/3"),
    ([1, 0, 0], [1, 1, 1], "5"),
    ([1, 1], [2, 2], "9"),
    ([1, 10, 10], [1, 11, 11], "65"),
    ([1, -1, 5], [1, 1, 7], "40"),
    ([1, -0.5, -0.5], [1, 0.5, 0.5], "25/12"),
    ([1, -1, -1, -1, -1, -1], [1, 1, 1, 1, 1, 1], "245/12"),
    ([1, 0, 0], [1, 0.5, 0.5], "7/4"),
    ([1, -1, -1], [1, 2, 1], "31/3"),
    ([-1] * 10 + [10], [1] * 10 + [11], "2546/11"),
]
L2 = [
    ([1, -1, -1], [1, 1, 1], 4.0, 4.242640687119285),
    ([-1, -1, -1], [1, 1, 1], 4.0, 4.242640687119285),
    ([1, 0, 0], [1, 1, 1], 2.8284271247461903, 2.8284271247461903),
    ([-1, -1, -2], [1, 1, 2], 8.0, 8.48528137423857),
    ([1, -2, -1, -3], [1, 1, 1, 2], 18.027756377319946, 18.586839113611923),
    ([1, -0.74], [1, 1.78], 4.423730624710325, 4.5822133214881084),
]


def exact_box(low, high):
    return [(Fraction(str(a)), Fraction(str(b))) for a, b in zip(low, high, strict=True)]


def random_box(rng, most):
    """A box of 2 to ``most`` coordinates on a grid of hundredths, with an intercept in half of the cases."""
    size = int(rng.integers(2, most + 1))
    low = rng.integers(-300, 200, size)
    box = [
        (Fraction(int(a), 100), Fraction(int(a + w), 100)) for a, w in zip(low, rng.integers(5, 400, size), strict=True)
    ]
    return [(Fraction(1), Fraction(1)), *box[1:]] if rng.random() < 0.5 else box


def printed(covariate, response, d):
    """The L1 sensitivity of bernstein2019, section 3.1: d covariates with the same bounds, a constant among them."""
    w_x, w_y = (hi - lo for lo, hi in (covariate, response))
    return w_x**2 * d * (d + 1) / 2 + w_x * w_y * d + w_y**2


# ---------------------------------------------------------------------------------------------------------------------
# A search that knows nothing of the theorem: pairs of records, moved one coordinate at a time to its exact optimum


def distance(v, w, norm):
    """Sum of |v_j v_k - w_j w_k| over j <= k, or the squared Frobenius distance of v v' and w w'."""
    gap = np.abs(v[..., :, None] * v[..., None, :] - w[..., :, None] * w[..., None, :])
    if norm == 2:
        return (gap**2).sum(axis=(-2, -1))
    return gap[..., *np.triu_indices(v.shape[-1])].sum(axis=-1)


def stationary(v, w, i, norm):
    """Points where the distance, as a function of v_i, can be largest inside: none is missed, some may be useless."""
    size = v.shape[-1]
    others = [j for j in range(size) if j != i]
    if norm == 2:  # the roots of x^3 + p x + q
        rest = v[:, others]
        p = (rest**2).sum(axis=1) - w[:, i] ** 2
        q = -(rest * w[:, others]).sum(axis=1) * w[:, i]
        reach = np.sqrt(np.maximum(-p / 3, 1e-30))
        angle = np.arccos(np.clip(-q / (2 * reach**3), -1, 1))
        return np.stack([2 * reach * np.cos((angle - 2 * np.pi * k) / 3) for k in range(3)], axis=1)
    # |x^2 - w_i^2| + sum_j |v_j x - w_i w_j|: a parabola with the signs of every piece between two kinks
    with np.errstate(all="ignore"):
        kinks = np.concatenate([w[:, [i]] * w[:, others] / v[:, others], np.abs(w[:, [i]]), -np.abs(w[:, [i]])], axis=1)
        kinks = np.sort(np.nan_to_num(kinks, posinf=1e9, neginf=-1e9), axis=1)
        edges = np.concatenate([kinks[:, :1] - 1, kinks, kinks[:, -1:] + 1], axis=1)
        middle = (edges[:, 1:] + edges[:, :-1]) / 2
        signs = np.sign(middle[..., None] * v[:, None, others] - (w[:, [i]] * w[:, others])[:, None, :])
        slope = (signs * v[:, None, others]).sum(axis=2)
        return np.nan_to_num(-slope / (2 * np.sign(middle**2 - w[:, [i]] ** 2)), posinf=0, neginf=0)


def search(low, high, norm, rng, starts=24, sweeps=60):
    """The largest distance found in each of many boxes at once; ``low`` and ``high`` are (boxes, size)."""
    boxes, size = low.shape
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=size)))
    pool = np.concatenate([corners, rng.random((200, size))])
    pool = low[:, None] + pool * (high - low)[:, None]
    first, second = (rng.integers(0, pool.shape[1], (boxes, 2000)) for _ in range(2))
    v, w = (np.take_along_axis(pool, k[..., None], axis=1) for k in (first, second))
    top = np.argsort(-distance(v, w, norm), axis=1)[:, :starts, None]
    v, w = (np.take_along_axis(x, top, axis=1).reshape(-1, size) for x in (v, w))
    floor, ceiling = (np.repeat(x, starts, axis=0) for x in (low, high))
    for _ in range(sweeps):
        for i in range(size):
            inside = np.clip(stationary(v, w, i, norm), floor[:, [i]], ceiling[:, [i]])
            options = np.concatenate([v[:, [i]], floor[:, [i]], ceiling[:, [i]], inside], axis=1)
            trial = np.repeat(v[:, None], options.shape[1], axis=1)
            trial[..., i] = options
            best = distance(trial, w[:, None], norm).argmax(axis=1)
            v = trial[np.arange(len(v)), best]
        v, w = w, v
    return distance(v, w, norm).reshape(boxes, starts).max(axis=1)


@pytest.fixture(scope="module")
def boxes():
    """Seed 1: 90 random boxes with 2 to 5 coordinates, by size."""
    rng = np.random.default_rng(1)
    found = {}
    for _ in range(90):
        box = random_box(rng, 5)
        found.setdefault(len(box), []).append(box)
    return found


@pytest.mark.parametrize("norm", [1, 2])
def test_no_pair_beats_it_and_one_attains_it(boxes, norm):
    """Seed 2, 90 random boxes. No false alarm is possible: a pair beyond the claim is a counter-example.

    The planted fault is a claim that is 1e-9 too small, relative to its size: the search beats it in every box.
    """
    rng = np.random.default_rng(2)
    claim = l1_products if norm == 1 else l2_products_squared
    for group in boxes.values():
        low, high = (np.array([[float(pair[k]) for pair in box] for box in group]) for k in (0, 1))
        reached = search(low, high, norm, rng)
        claims = np.array([float(claim(box)) for box in group])
        assert np.all(reached <= claims * (1 + 1e-12))
        assert np.all(reached >= claims * (1 - 1e-9))


def test_the_printed_formula_is_beaten_away_from_zero():
    """Seed 6: 200 boxes without intercept that exclude 0. The planted fault is the formula of bernstein2019.

    Two records, at the far and at the near corner, are further apart than it says, every time.
    """
    rng = np.random.default_rng(6)
    for _ in range(200):
        d = int(rng.integers(1, 6))
        near = [Fraction(int(k), 100) for k in rng.integers(1, 500, 2)]
        covariate, response = (
            (lo, lo + Fraction(int(w), 100)) for lo, w in zip(near, rng.integers(1, 500, 2), strict=True)
        )
        records = [[covariate[k]] * d + [response[k]] for k in (1, 0)]
        reached = half_square(records[0]) - half_square(records[1])
        assert reached > printed(covariate, response, d)
        assert reached == l1_products([covariate] * d + [response])


@pytest.mark.parametrize(("low", "high", "ratio"), [(10, 11, "65/6"), (1, 2, "11/6"), (0, 0.5, "7/6"), (-1, 1, "2/9")])
def test_the_true_epsilon_of_the_printed_formula(low, high, ratio):
    """With an intercept and one covariate, at a nominal epsilon of 1; below 1 the formula is safe but wasteful."""
    constant, interval = exact_box([1, low], [1, high])
    assert l1_products([constant, interval, interval]) / printed(interval, interval, 2) == Fraction(ratio)


# ---------------------------------------------------------------------------------------------------------------------
# Reference values


@pytest.mark.parametrize(("low", "high", "value"), L1)
def test_l1_reference_values(low, high, value):
    assert l1_products(exact_box(low, high)) == Fraction(value)


@pytest.mark.parametrize(("low", "high", "value", "bound"), L2)
def test_l2_reference_values(low, high, value, bound):
    exact, certified = l2_products_squared(exact_box(low, high)), l2_products_bound_squared(exact_box(low, high))
    assert math.isclose(math.sqrt(exact), value, rel_tol=1e-14)
    assert math.isclose(math.sqrt(certified), bound, rel_tol=1e-14)
    assert exact >= Fraction(value) ** 2 * (1 - Fraction(1, 10**15))


# ---------------------------------------------------------------------------------------------------------------------
# The pieces


def test_the_corner_theorem_holds_monomial_by_monomial():
    """Seed 3: 20,000 random pairs, exponents up to 4. No false alarm is possible beyond rounding, 1e-12 of the size.

    The planted fault is the box turned the wrong way round, with |lo| > hi: then some pair breaks the inequality.
    """
    rng = np.random.default_rng(3)
    high = rng.uniform(0.1, 2, (20_000, 3))
    low = rng.uniform(-high, high)
    v, w = rng.uniform(low, high), rng.uniform(low, high)
    exponents = rng.integers(0, 5, (20_000, 3))

    def excess(v, w, high):
        away = np.abs((v**exponents).prod(axis=1) - (w**exponents).prod(axis=1))
        u = high - np.abs(v - w)
        return away - ((high**exponents).prod(axis=1) - (u**exponents).prod(axis=1))

    assert excess(v, w, high).max() < 1e-12 * 2**12
    assert excess(-v, -w, -low).max() > 0.1


def test_the_certified_bound_is_never_below_the_exact_value():
    """Seed 4: 60 random boxes with up to 6 coordinates."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        box = random_box(rng, 6)
        assert l2_products_bound_squared(box) >= l2_products_squared(box) * (1 - Fraction(1, 10**13))


def test_many_equal_coordinates_are_no_work_and_many_different_ones_get_the_bound():
    symmetric = [(Fraction(1), Fraction(1)), *[(Fraction(-1), Fraction(1))] * 40]
    # k coordinates at -1: |hi|^4 + |u|^4 - 2 <hi, u>^2 = 2 (41^2 - (41 - 2k)^2), largest at 41 - 2k = 1
    assert l2_products_squared(symmetric) == 2 * (41**2 - 1)
    different = [(Fraction(-1), 1 + Fraction(i, 100)) for i in range(14)]
    assert l2_products_squared(different) == l2_products_bound_squared(different)


def test_the_least_of_a_convex_quadratic_is_exact():
    """Seed 5, 60 random problems: no point of a grid is lower, in rationals, and descent comes within 1e-9."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        box = random_box(rng, 5)
        slopes = [Fraction(int(s), 10) for s in rng.integers(-40, 40, len(box))]
        least = least_half_square(box, slopes)
        for sevenths in rng.integers(0, 8, (20, len(box))):
            u = [lo + (hi - lo) * Fraction(int(k), 7) for (lo, hi), k in zip(box, sevenths, strict=True)]
            assert half_square(u) + sum(s * x for s, x in zip(slopes, u, strict=True)) >= least
        ends, tilt = np.array([[float(v) for v in pair] for pair in box]), [float(s) for s in slopes]
        u = [min(max(0.0, lo), hi) for lo, hi in ends]
        for j in [*range(len(u))] * 80:
            u[j] = min(max(-(sum(u) - u[j] + tilt[j]) / 2, ends[j][0]), ends[j][1])
        reached = (sum(u) ** 2 + sum(x * x for x in u)) / 2 + sum(s * x for s, x in zip(tilt, u, strict=True))
        assert math.isclose(reached, least, rel_tol=1e-9, abs_tol=1e-9)


def test_ranges_of_products():
    pair = (Fraction(-1), Fraction(3))
    assert product_range(pair, None) == 9
    assert product_range((Fraction(2), Fraction(3)), None) == 5
    assert product_range((Fraction(-3), Fraction(-2)), None) == 5
    assert product_range(pair, (Fraction(-2), Fraction(1))) == 9
    assert oriented([(Fraction(-3), Fraction(1)), pair]) == [pair, pair]
