"""Sums of one number and of its square: exact on the lattice, with a sensitivity that no pair of rows beats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.sensitivity import contribution, search_sensitivity
from tacit.errors import InputError
from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Schema
from tacit.statistics.blocks import log_volume
from tacit.statistics.power_sums import PowerSums

STATISTICS = {
    "signed": PowerSums("x", -3.0, 7.0, (1,), signed=True),
    "signed, squares": PowerSums("x", -3.0, 7.0, (1, 2), signed=True),
    "unsigned": PowerSums("x", 0.0, 5.5, (1,), signed=False),
    "unsigned, squares": PowerSums("x", 0.0, 5.5, (1, 2), signed=False),
    "counts": PowerSums("x", 0.0, 20.0, (1,), signed=False),
    "counts, squares": PowerSums("x", 0.0, 20.0, (1, 2), signed=False),
}
SCHEMA = Schema(x=(-10, 30))  # wider than the bounds of the statistic: it clamps by itself


def claims(first, second, scale):
    """L1 and squared L2 distance of two records in mapped units."""
    moved = np.abs(first - second), np.abs(first**2 - second**2) / scale
    return moved[0] + moved[1], moved[0] ** 2 + moved[1] ** 2


@pytest.mark.parametrize("name", STATISTICS)
def test_no_pair_of_records_beats_it_and_one_attains_it(name):
    """Seed 1; real records through the real code path. A pair that beats the claim would be a proof."""
    statistic = STATISTICS[name]
    claimed = statistic.sensitivity()
    found = search_sensitivity(statistic, SCHEMA, seed=1)
    assert not found.violates(claimed), (found.l1_pair, found.l2_pair)
    assert found.l1 >= Fraction(999, 1000) * claimed.l1
    assert found.l2_squared >= Fraction(999, 1000) * claimed.l2_squared


@pytest.mark.parametrize("name", STATISTICS)
def test_the_search_catches_an_understated_claim(name):
    """The planted fault: a sensitivity one percent too small in either norm."""
    statistic = STATISTICS[name]
    true = statistic.sensitivity()
    found = search_sensitivity(statistic, SCHEMA, seed=1)
    less = Fraction(99, 100)
    assert found.violates(Sensitivity(true.l1 * less, true.l2_squared, true.relative_scales))
    assert found.violates(Sensitivity(true.l1, true.l2_squared * less, true.relative_scales))


@pytest.mark.parametrize("signed", [True, False])
def test_brute_force_over_all_pairs_of_a_fine_grid(signed):
    """1,601 points squared: the claim is reached on the grid and never passed."""
    grid = np.linspace(-1 if signed else 0, 1, 1601)
    statistic = PowerSums("x", 0.5, 1.5, (1, 2), signed=signed)
    claimed = statistic.sensitivity()
    scale = float(claimed.relative_scales[1])
    l1, l2_squared = claims(grid[:, None], grid[None, :], scale)
    assert l1.max() == pytest.approx(float(claimed.l1 / statistic.unit), rel=1e-12)
    assert l2_squared.max() == pytest.approx(float(claimed.l2_squared / statistic.unit**2), rel=1e-12)


def test_noise_on_the_square_is_cheap():
    """The scale of the square is near the best by the criterion of `blocks`; equal scales are worse."""
    grid = np.linspace(-1, 1, 1601)

    def criteria(scale):
        l1, l2_squared = claims(1.0, grid, float(scale))
        unit = Sensitivity(Fraction(float(l1.max())), Fraction(float(l2_squared.max())), (Fraction(1), Fraction(scale)))
        return log_volume(unit), 2 * np.log(float(unit.l1)) + np.log(float(scale))

    chosen = criteria(Fraction(5, 8))
    others = [criteria(Fraction(i, 100)) for i in range(30, 121)]
    assert chosen[0] <= min(a for a, _ in others) + 0.05
    assert chosen[1] <= min(b for _, b in others) + 0.005
    assert criteria(Fraction(1))[0] > chosen[0] + 0.4


def test_sums_are_exact_and_do_not_depend_on_batches():
    """Seed 2: 3,000 cells, some outside the bounds, against Python integers; batches of one row and of all."""
    rng = np.random.default_rng(2)
    cells = rng.normal(2.0, 5.0, 3000)
    for name, statistic in STATISTICS.items():
        whole = statistic.batch_sum({"x": cells})
        one_by_one = [statistic.batch_sum({"x": cells[i : i + 1]}) for i in range(len(cells))]
        assert whole == [sum(column) for column in zip(*one_by_one, strict=True)], name
        assert max(abs(v) for row in one_by_one for v in row) <= statistic.unit
        assert all(isinstance(v, int) for v in whole)
        mapped = (np.clip(cells, statistic.low, statistic.high) - statistic.low) / (statistic.high - statistic.low)
        mapped = 2 * mapped - 1 if statistic.signed else mapped
        real = [float(np.sum(mapped**k)) for k in statistic.powers]
        np.testing.assert_allclose([v / statistic.unit for v in whole], real, atol=3000 / statistic.steps)


def test_counts_are_on_the_lattice():
    """Every count from 0 to the declared maximum is exact; beyond it, clamped."""
    for powers in ((1,), (1, 2)):
        statistic = PowerSums("x", 0.0, 20.0, powers, signed=False)
        for count in (0, 1, 7, 19, 20, 25):
            share = Fraction(min(count, 20), 20)
            sums = statistic.batch_sum({"x": np.array([float(count)])})
            assert sums == [share**k * statistic.unit for k in powers]
    with_many = PowerSums("x", 0.0, 1e12, (1,), signed=False)
    assert with_many.steps == 2**30


def test_the_largest_batch_stays_exact():
    statistic = STATISTICS["signed, squares"]
    cells = np.full(statistic.batch_rows, 7.0)
    assert statistic.batch_sum({"x": cells}) == [statistic.batch_rows * statistic.unit] * 2


def test_a_record_is_a_total_function_of_its_cell():
    schema = Schema(x=(-3, 7))
    statistic = STATISTICS["signed, squares"]
    for cell in ("", "nan", "1e999", "-1e999", None, "seven"):
        sums = contribution(statistic, schema, {"x": cell})
        assert all(abs(v) <= statistic.unit for v in sums)


@pytest.mark.parametrize(
    "change", [{"powers": ()}, {"powers": (2,)}, {"powers": (1, 2, 3)}, {"low": 7.0}, {"high": float("inf")}]
)
def test_it_refuses_what_it_has_no_proof_for(change):
    with pytest.raises(InputError):
        PowerSums(**{"column": "x", "low": 0.0, "high": 7.0, "powers": (1,), "signed": True, **change})
