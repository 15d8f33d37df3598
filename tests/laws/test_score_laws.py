"""Distributions of the sums of scores and information at a point: those of every statistic, and that a row is on its
own.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import tacit
from tacit.audit.sensitivity import contributions, search_sensitivity
from tacit.models.regression import design_for
from tacit.sources.open import open_source
from tacit.statistics import score_sensitivity, score_sums, score_tables
from tacit.statistics.score_sensitivity import ScorePairs
from tacit.statistics.score_sums import POINT_UNIT, ScoreSums

SCHEMA = tacit.Schema(
    ill=["no", "yes"],
    visits=(0, 12),
    age=(18, 90),
    dose=(0, 10),
    weight=(30, 150),
    sex=["f", "m"],
    region=["north", "south", "west"],
)
DESIGNS = {
    "one": ("age", None),
    "box": ("age + dose + weight", None),
    "ball": ("age + dose + weight", 1),
    "levels": ("sex + region", None),
    "interactions": ("age*region + sex", None),
    "products": ("age*dose", None),
    "origin": ("age + dose - 1", None),
    "splines": ("bs(age, knots=[30, 60]) + dose", None),
    "splines by level": ("bs(age, knots=[40], degree=2)*region", None),
    "curves": ("poly(age, 2) + sqrt(dose)*sex + log(weight)", None),
    "offset": ("age + I(dose**2):age + offset(log(weight))", None),
}
LINKS = {"logistic": ("ill", 1), "log": ("visits", 12), "softplus": ("visits", 12)}
POINTS = {"zero": 0.0, "moderate": 1.0, "huge": 40.0}


def sums(design: str, link: str, point: str, *, matrix: bool = True, laplace: bool = False, **fields) -> ScoreSums:
    """The statistic of a case; its point has seed 3."""
    formula, radius = DESIGNS[design]
    response, most = LINKS[link]
    columns = design_for(f"{response} ~ {formula}", SCHEMA).columns
    theta = POINTS[point] * np.random.default_rng(3).normal(size=len(columns))
    whole = tuple(int(t) for t in np.rint(theta * POINT_UNIT))
    ball = None if radius is None else Fraction(radius)
    return ScoreSums(columns, response, link, most, whole, matrix, radius=ball, laplace=laplace, **fields)


# Two links and two points for each design, so that every link meets every point; all of them in the slow suite.
CASES = [
    pytest.param(
        *case,
        id="-".join(case),
        marks=() if k == (i + j) % 3 and j != i % 3 and case[0] != "origin" else pytest.mark.slow,
    )
    for case, (i, j, k) in zip(
        product(DESIGNS, LINKS, POINTS), product(range(len(DESIGNS)), range(3), range(3)), strict=True
    )
]


def searched(statistic: ScoreSums, weights, *, seed: int) -> tuple[float, float]:
    """The largest L1 and squared L2 distance of two records in units of ``weights``: a pool, then steps from the best.

    As `search_sensitivity`, whose records go through the same parsing, but for thousands of records at once.
    """
    rng = np.random.default_rng(seed)
    scales = np.array([float(w) for w in weights])
    best = [0.0, 0.0]
    for norm in (1, 2):
        pool = _records(rng, 250)
        for _ in range(4):
            q, rho, omega = statistic.rows(_parsed(statistic, pool))
            added = (rho[:, None] * q).astype(float)
            if statistic.matrix:
                j, k = np.triu_indices(q.shape[1])
                added = np.concatenate([added, (omega[:, None] * q[:, j] * q[:, k]).astype(float)], axis=1)
            added /= scales
            far = np.stack([(np.abs(added - one) ** norm).sum(axis=1) for one in added])
            best[norm - 1] = max(best[norm - 1], float(far.max()))
            i, j = np.unravel_index(np.argsort(far, axis=None)[::-1][:6], far.shape)
            kept = [pool[int(place)] for place in dict.fromkeys([*i, *j])]
            pool = kept + [_moved(one, rng) for one in kept for _ in range(30)]
    return best[0], best[1]


def _moved(record, rng):
    """A record with one or two other cells, or numbers a little to the side."""
    other = _records(rng, 1)[0]
    found = {**record, **{name: other[name] for name in rng.choice(list(record), rng.integers(1, 3), replace=False)}}
    if rng.random() < 0.5:
        for name, size in (("age", 72), ("dose", 10), ("weight", 120)):
            found[name] = record[name] + size * rng.normal() * 10 ** rng.uniform(-3, -0.5)
    return found


@pytest.mark.parametrize(("design", "link", "point"), CASES)
def test_no_pair_of_records_beats_the_claim_and_one_comes_as_near_as_it_says(design, link, point):
    """Seed 1, with and without a matrix, for either noise. A pair that beats a claim would be a proof, not a
    probability.
    """
    for matrix, laplace in ((True, False), (False, False), (True, True)):
        statistic = sums(design, link, point, matrix=matrix, laplace=laplace)
        claimed = statistic.sensitivity()
        l1, l2_squared = searched(statistic, claimed.relative_scales, seed=1)
        assert l1 <= claimed.l1 * (1 + Fraction(1, 10**12))
        assert l2_squared <= claimed.l2_squared * (1 + Fraction(1, 10**12))
        assert l1 >= statistic.attained[0] * claimed.l1
        assert l2_squared >= statistic.attained[1] * claimed.l2_squared


@pytest.mark.parametrize("design", ["box", "interactions", pytest.param("splines", marks=pytest.mark.slow)])
@pytest.mark.parametrize("point", POINTS)
def test_no_pair_beats_the_claim_about_the_observed_information(design, point):
    """Seed 1. Planted: the claim about the expected information, which some pair beats at 0."""
    statistic = sums(design, "softplus", point, observed=True)
    claimed = statistic.sensitivity()
    l1, l2_squared = searched(statistic, claimed.relative_scales, seed=1)
    assert statistic.attained[0] * claimed.l1 <= l1 <= claimed.l1
    assert statistic.attained[1] * claimed.l2_squared <= l2_squared <= claimed.l2_squared
    planted = sums(design, "softplus", point).sensitivity()
    assert point != "zero" or searched(statistic, planted.relative_scales, seed=1)[1] > planted.l2_squared


@pytest.mark.parametrize("link", LINKS)
def test_the_search_of_every_statistic_finds_no_more(link):
    """Seed 1, through `audit`'s own search: cells of every sort, exact arithmetic."""
    statistic = sums("interactions", link, "moderate")
    found = search_sensitivity(statistic, SCHEMA, seed=1, records=40, rounds=2)
    assert not found.violates(statistic.sensitivity()), (found.l1_pair, found.l2_pair)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("laplace", [False, True])
def test_no_record_is_longer_than_is_claimed_under_add_remove(link, laplace):
    """Seed 1, with the number of rows and without it. Planted: 1% less than a record reaches."""
    for design, point in (("box", "zero"), ("interactions", "moderate")):
        statistic = sums(design, link, point, matrix=True, laplace=laplace)
        for one in (statistic, statistic.of_unknown_n()):
            claimed = one.addition()
            found = search_sensitivity(one, SCHEMA, seed=1, records=40, rounds=2, absent=True)
            assert not found.violates(claimed), (found.l1_pair, found.l2_pair)
            assert found.l1 >= one.addition_attained[0] * claimed.l1
            assert found.l2_squared >= one.addition_attained[1] * claimed.l2_squared
            assert found.violates(replace(claimed, l1=found.l1 * Fraction(99, 100)))


def test_half_the_square_of_a_row_is_caught():
    """The planted fault: S is half of what it is."""
    statistic = sums("box", "logistic", "zero")
    region = statistic.region
    halved = ScorePairs(
        statistic.table,
        type(region)(**{**region.__dict__, "square": region.square // 2}),
        statistic.point,
        statistic.empty,
    )
    claimed = score_sensitivity.score_sensitivity(halved, matrix=True, laplace=False, share=Fraction(1, 2))
    assert searched(statistic, claimed.relative_scales, seed=1)[1] > claimed.l2_squared


def test_a_function_that_counts_as_its_own_column_is_caught():
    """The planted fault: sqrt(dose) and dose in one group, as if at most one of them were not 0 in a row."""
    columns = design_for("ill ~ dose + sqrt(dose) - 1", SCHEMA).columns
    statistic = ScoreSums(columns, "ill", "logistic", 1, (0, 0), True)
    region = statistic.region
    shared = type(region)(**{**region.__dict__, "square": region.square // 2, "nonzero": 1, "numbers": 1, "shared": 1})
    pairs = ScorePairs(statistic.table, shared, statistic.point, statistic.empty)
    claimed = score_sensitivity.score_sensitivity(pairs, matrix=True, laplace=False, share=Fraction(1, 2))
    l1, l2_squared = searched(statistic, claimed.relative_scales, seed=1)
    assert l1 > claimed.l1
    assert l2_squared > claimed.l2_squared


@pytest.mark.parametrize("point", POINTS)
def test_a_claim_without_the_other_part_is_caught(point):
    """The planted fault: the score's own bound, as if the matrix cost nothing, and the other way round."""
    statistic = sums("box", "logistic", point)
    scores = statistic.at(statistic.point, matrix=False).sensitivity()
    true = statistic.sensitivity()
    l1, l2_squared = searched(statistic, true.relative_scales, seed=1)
    assert l1 > scores.l1
    assert l2_squared > scores.l2_squared


def test_a_point_as_if_it_were_zero_is_caught():
    """The planted fault: the sensitivity of the first round, charged in a later one."""
    planted = sums("box", "logistic", "zero").sensitivity()
    later = sums("box", "logistic", "moderate")
    assert searched(later, later.sensitivity().relative_scales, seed=1)[1] > planted.l2_squared


@pytest.mark.parametrize(("design", "link", "point"), CASES[::5])
def test_a_missing_row_is_no_further_away(design, link, point):
    """Seed 4: for a person with few rows nothing stands in the place of a row, and the claim covers that."""
    statistic = sums(design, link, point, empty=True)
    claimed = statistic.sensitivity()
    rows = contributions(statistic, SCHEMA, _records(np.random.default_rng(4), 25))
    for row in rows:
        scaled = [Fraction(v) / w for v, w in zip(row, claimed.relative_scales, strict=True)]
        assert sum(v * v for v in scaled) <= claimed.l2_squared
        assert sum(map(abs, scaled)) <= claimed.l1


def _records(rng, count):
    return [
        {
            "ill": SCHEMA.category("ill").levels[rng.integers(2)],
            "visits": float(rng.choice([0, 3, 12, 11, rng.integers(0, 13)])),
            "age": float(rng.choice([18, 90, rng.uniform(18, 90)])),
            "dose": float(rng.choice([0, 10, rng.uniform(0, 10)])),
            "weight": float(rng.choice([30, 150, rng.uniform(30, 150)])),
            "sex": SCHEMA.category("sex").levels[rng.integers(2)],
            "region": SCHEMA.category("region").levels[rng.integers(3)],
        }
        for _ in range(count)
    ]


def _parsed(statistic, records):
    cells = {name: [record[name] for record in records] for name in statistic.columns}
    (batch,) = open_source(cells, statistic.columns, SCHEMA).batches(SCHEMA, statistic.columns, 10**6)
    return batch.columns


def alone(statistic, columns) -> bool:
    """Whether rows add the same whole numbers whatever stands beside them: shifted, permuted, split, in threads."""
    rng = np.random.default_rng(5)
    count = len(next(iter(columns.values())))
    each = [statistic.batch_sum({k: v[i : i + 1].copy() for k, v in columns.items()}) for i in range(count)]
    whole = [sum(column) for column in zip(*each, strict=True)]

    def total(parts):
        found = [statistic.batch_sum({k: v[part] for k, v in columns.items()}) for part in parts]
        return [sum(column) for column in zip(*found, strict=True)]

    tries = [[np.arange(count)]]
    for shift in range(1, 10):  # other places in a vector register, other remainders of a loop
        tries.append([np.arange(shift), np.arange(shift, count)])
    tries += [np.array_split(rng.permutation(count), size) for size in (1, 2, 7, 50)]
    if any(total(parts) != whole for parts in tries):
        return False
    with ThreadPoolExecutor(4) as pool:
        return all(found == whole for found in pool.map(lambda parts: total(parts), tries))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("design", ["box", "ball", "interactions", "splines", "curves", "offset"])
def test_a_row_is_on_its_own(design, link):
    """Seeds 5 and 6: 200 rows, in 14 groupings, alone and in threads, and a statistic that went through a pickle."""
    statistic = sums(design, link, "moderate")
    columns = _parsed(statistic, _records(np.random.default_rng(6), 200))
    assert alone(statistic, columns)
    sent = pickle.loads(pickle.dumps(statistic))
    assert sent == statistic
    assert sent.batch_sum(columns) == statistic.batch_sum(columns)


class _InFloats(ScoreSums):
    """The planted fault: a product of matrices in floats, numpy's exponential, and rounding after."""

    def rows(self, columns):
        q, _, omega = super().rows(columns)
        eta = (q / score_sums.STEPS) @ (np.array(self.point) / POINT_UNIT)
        eta = eta * (1 + 1e-9 * eta.mean())  # a library may add up a row's products in an order that its batch decides
        score = columns["ill"] - 1 / (1 + np.exp(-eta))
        return q, np.floor(score * 2.0**52).astype(np.int64) >> 20, omega


def test_rounding_that_depends_on_the_batch_is_caught():
    """The planted fault is caught by the same groupings; the same rows through the real statistic are not."""
    real = sums("box", "logistic", "moderate", matrix=False)
    columns = _parsed(real, _records(np.random.default_rng(6), 200))
    assert alone(real, columns)
    assert not alone(_InFloats(**real.__dict__), columns)


@pytest.mark.parametrize("link", LINKS)
def test_what_is_summed_is_the_score_and_the_information(link):
    """Seed 7: against scipy, to the 5e-4 of the largest that linear interpolation between knots is off by, at most."""
    from scipy import special, stats

    statistic = sums("box", link, "moderate")
    records = _records(np.random.default_rng(7), 300)
    q, rho, omega = statistic.rows(_parsed(statistic, records))
    eta = (q / score_sums.STEPS) @ (np.array(statistic.point) / POINT_UNIT)
    eta = np.clip(eta, *(statistic.table.knots[end] / score_tables.FINE for end in (0, -1)))
    if link == "logistic":
        mean = special.expit(eta)
        score, weight = np.array([r["ill"] == "yes" for r in records]) - mean, mean * (1 - mean)
    else:
        y, most = np.array([r["visits"] for r in records]), 12
        mean, change = (np.exp(eta),) * 2 if link == "log" else (np.logaddexp(0, eta), special.expit(eta))
        top = change * np.exp(stats.poisson.logpmf(most - 1, mean) - stats.poisson.logsf(most - 1, mean))
        score = np.where(y < most, change * (y / mean - 1), top)
        k = np.arange(most)[:, None]
        below = (stats.poisson.pmf(k, mean) * (change * (k / mean - 1)) ** 2).sum(axis=0)
        weight = below + stats.poisson.sf(most - 1, mean) * top**2
        down = np.minimum(1, most / mean) if link == "log" else 1
        score, weight = down * score, down * weight
    np.testing.assert_allclose(rho / statistic.table.score_unit, score, atol=5e-4 * np.abs(score).max())
    np.testing.assert_allclose(omega / statistic.table.weight_unit, weight, atol=5e-4 * weight.max())


def test_the_observed_information_is_the_second_derivative():
    """Against second differences of the log-likelihood, to the rounding of the table; a row is on its own here, too."""
    from scipy.special import gammainc

    most = 12
    table = score_tables.score_table("softplus", most, observed=True)
    eta, step = np.array([-2.3, 0.1, 3.7, 9.2, 13.0]), 1e-4

    def log_likelihood(eta, y):
        mean = np.logaddexp(0, eta)
        return np.log(gammainc(float(most), mean)) if y == most else y * np.log(mean) - mean

    for y in (0, 5, 11, 12):
        left, here, right = (log_likelihood(eta + shift, y) for shift in (-step, 0.0, step))
        whole = np.rint(eta * score_tables.FINE).astype(np.int64)
        _, weight = table.of_rows(whole, np.full(len(eta), y))
        expected = (2 * here - left - right) / step**2
        np.testing.assert_allclose(weight / table.weight_unit, expected, atol=1e-4)
    assert alone(
        sums("box", "softplus", "moderate", observed=True),
        _parsed(sums("box", "softplus", "moderate"), _records(np.random.default_rng(6), 200)),
    )
    with pytest.raises(tacit.InputError, match="to be softplus"):
        score_tables.score_table("log", most, observed=True)


def test_a_row_can_be_anything():
    """Values beyond every bound, and a point as large as there is: whole numbers, none beyond what is claimed."""
    for link in LINKS:
        statistic = sums("box", link, "zero")
        largest = tuple(score_sums.LARGEST * POINT_UNIT * s for s in (1, -1, 1, -1))
        far = statistic.at(largest, matrix=True)
        odd = [dict.fromkeys(SCHEMA, cell) for cell in (None, "no such level", float("nan"), 1e308, -1e308)]
        for row in contributions(far, SCHEMA, odd + _records(np.random.default_rng(8), 20)):
            assert max(map(abs, row)) <= far.largest


def test_tables_are_the_same_everywhere():
    """Checksums of the tables: they are made by decimal arithmetic, so another machine or version must find these."""
    from hashlib import sha256

    found = {
        link: sha256(repr(score_tables.score_table(link, most)).encode()).hexdigest()[:16]
        for link, (_, most) in LINKS.items()
    }
    observed = repr(score_tables.score_table("softplus", 12, observed=True))
    assert found | {"observed": sha256(observed.encode()).hexdigest()[:16]} == TABLES


def test_a_count_beyond_the_clamp_weighs_less_and_every_other_row_the_same():
    """The largest score of a log link is the largest count: before, a count of 0 at a corner had one of the mean there.

    Inside the clamp nothing is weighted: score and information are those of the likelihood, to the table's rounding.
    """
    most = 30
    table = score_tables.score_table("log", most)
    largest, _ = table.largest
    assert most <= largest / table.score_unit < 1.05 * most
    eta = np.log(np.array([0.5, 5.0, 25.0, 60.0]))
    whole = np.rint(eta * score_tables.FINE).astype(np.int64)
    score, _ = table.of_rows(whole, np.zeros(4, np.int64))
    assert score / table.score_unit == pytest.approx([-0.5, -5.0, -25.0, -30.0], rel=1e-4)


TABLES = {
    "logistic": "216c1993d9541171",
    "log": "a0446df8928e88e9",
    "softplus": "ad9d0a48549ef251",
    "observed": "b732daeb110e9eb7",
}
