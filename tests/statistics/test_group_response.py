"""Sums of a response by group: exact whole numbers, and a sensitivity that records reach and none beats."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

import tacit
from tacit.audit.sensitivity import search_sensitivity

SCHEMA = tacit.Schema(y=(0, 10), g=["p", "q", "r", "s"])
STATISTIC = tacit.VaryingRegression("y ~ (1 | g)").statistic(SCHEMA)


def test_no_pair_of_records_beats_the_sensitivity_and_some_reach_it():
    """Seed 1; the planted fault, a claim 1% smaller in either norm, is beaten."""
    claimed, added = STATISTIC.sensitivity(), STATISTIC.addition()
    pairs = search_sensitivity(STATISTIC, SCHEMA, seed=1)
    assert (pairs.l1, pairs.l2_squared) == (claimed.l1, claimed.l2_squared)
    alone = search_sensitivity(STATISTIC, SCHEMA, seed=1, absent=True)
    assert (alone.l1, alone.l2_squared) == (added.l1, added.l2_squared)
    less = Fraction(99, 100)
    assert pairs.violates(replace(claimed, l1=claimed.l1 * less))
    assert pairs.violates(replace(claimed, l2_squared=claimed.l2_squared * less))


def test_the_noise_does_not_grow_with_the_number_of_groups():
    many = tacit.Schema(y=(0, 10), g=[str(i) for i in range(1000)])
    claimed = tacit.VaryingRegression("y ~ (1 | g)").statistic(many).sensitivity()
    assert (claimed.l1, claimed.l2_squared) == (STATISTIC.sensitivity().l1, STATISTIC.sensitivity().l2_squared)
    assert len(claimed.relative_scales) == 2001


def test_sums_are_those_of_the_rows_and_do_not_depend_on_batches():
    """Seed 2, 1,000 rows."""
    rng = np.random.default_rng(2)
    columns = {"g": rng.integers(0, 4, 1000), "y": rng.uniform(0, 10, 1000)}
    found, unit, steps = STATISTIC.batch_sum(columns), STATISTIC.unit, STATISTIC.steps
    halves = [STATISTIC.batch_sum({k: v[part] for k, v in columns.items()}) for part in (slice(300), slice(300, None))]
    assert found == [a + b for a, b in zip(*halves, strict=True)]
    y = STATISTIC.response.values(columns, steps)
    for code in range(4):
        low, high = found[2 * code : 2 * code + 2]
        here = columns["g"] == code
        assert low + high == int(here.sum()) * unit
        assert high - low == int(y[here].sum()) * steps
    assert found[-1] == int((y * y).sum())
    assert sum(found[i] for i in STATISTIC.row_entries) == 1000 * unit
