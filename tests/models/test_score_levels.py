"""Levels in which the release of a Poisson regression cannot tell whether there is any count above 0."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.models.score_levels import empty_level, level_totals
from tacit.models.score_round import Round

SCHEMA = tacit.Schema(y=(0, 20), age=(0, 100), g=["a", "b", "c"])
DESIGN = tacit.PoissonRegression("y ~ g + age", link="log").design(SCHEMA)
POINTS = ((0.0,) * 4, (0.3, -0.2, 0.5, 0.1))


def released(means, noise=0.0, *, seed=1, rows=900):
    """One site: a round at 0, one with scores alone, one elsewhere; and the sums of counts by level, of ``means``."""
    rng = np.random.default_rng(seed)
    level = np.arange(rows) % 3
    y = rng.poisson(np.array(means)[level])
    x = DESIGN.matrix({"g": level, "age": rng.uniform(0, 100, rows)})
    rounds, values = [], []
    for point in (POINTS[0], None, POINTS[1]):
        mu = np.exp(x @ np.array(point or POINTS[0]))
        matrix = (x.T @ (mu[:, None] * x))[np.triu_indices(4)] if point else np.zeros(0)
        exact = np.concatenate([(y - mu) @ x, matrix])
        sds = np.concatenate([np.full(4, noise), np.full(len(matrix), noise / np.sqrt(2))])
        values.append(exact + sds * rng.standard_normal(len(exact)))
        rounds.append(Round(point or POINTS[0], point is not None, noise or 1e-6, noise or 1e-6, False))
    return [(rounds, values, float(rows))], [float(y[level == i].sum()) for i in range(3)]


def test_the_sums_of_levels_are_those_of_the_rows():
    sites, sums = released((1.0, 2.0, 0.5))
    found = {one.name: one.sum for one in level_totals(DESIGN, sites)}
    assert found == {
        "g[b]": pytest.approx(sums[1], abs=1e-6),
        "g[c]": pytest.approx(sums[2], abs=1e-6),
        "g, its first": pytest.approx(sums[0], abs=1e-6),
    }
    both = {one.name: one.sum for one in level_totals(DESIGN, sites * 2)}
    assert both["g[b]"] == pytest.approx(2 * sums[1], abs=1e-6)


def test_a_level_without_counts_is_refused_unless_draws_are_as_wide_as_the_prior():
    """Seed 1, noise of sd 4; sums of 100 and more are told from 0. Planted: a level with none, and its narrow draws."""
    narrow, wide, prior = np.full(4, 0.5), np.full(4, 4.0), np.full(4, 6.0)
    for means, name in (((0.4, 0.5, 0.6), None), ((0.4, 0.5, 0.0), "g[c]"), ((0.0, 0.5, 0.4), "g, its first")):
        totals = level_totals(DESIGN, released(means, 4.0)[0])
        said = empty_level(totals, narrow, prior)
        assert (name in said) if name else said is None
        assert empty_level(totals, wide, prior) is None


def test_the_noise_of_a_sum_is_the_noise_of_what_it_is_made_of():
    """Seeds 0 to 399: within 15%, four standard errors."""
    errors = []
    for seed in range(400):
        sites, sums = released((1.0, 2.0, 3.0), 5.0, seed=seed, rows=90)
        one = level_totals(DESIGN, sites)[0]
        errors.append((one.sum - sums[1]) / one.sd)
    assert np.std(errors) == pytest.approx(1, rel=0.15)


def test_rounds_without_a_matrix_say_nothing():
    ((rounds, values, n),), _ = released((1.0, 2.0, 3.0))
    assert level_totals(DESIGN, [([rounds[1]], [values[1]], n)]) == []
