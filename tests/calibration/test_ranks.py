"""Ranks among the draws that count, and simulated rows that the bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import tacit
from tacit.calibration.ranks import counted_draws, ranks_of, without_others
from tacit.infer import prior_for
from tacit.models.prior_draws import extent, largest_share_outside

LINEAR = tacit.LinearRegression("y ~ age + dose"), tacit.Schema(y=(0, 10), age=(18, 90), dose=(0, 5))
CELLS = (
    tacit.LogisticRegression("ill ~ age + smokes"),
    tacit.Schema(ill=["no", "yes"], age=(18, 90), smokes=["no", "yes"]),
)


def test_a_truth_that_is_positive_has_uniform_ranks_among_the_positive_draws():
    """theta ~ N(0, 1) where positive, z | theta ~ N(theta, 1), 4,000 trials of 19 draws, seed 3; false alarm 1e-4.

    Planted: ranks among all draws, the negative ones included.
    """
    rng = np.random.default_rng(3)
    truth = np.abs(rng.standard_normal(4000))
    z = truth + rng.standard_normal(4000)
    draws = z[:, None] / 2 + rng.standard_normal((4000, 38)) / np.sqrt(2)

    def p_value(counted):
        ranks = ranks_of(draws, truth, counted, thin=2, rng=rng)
        assert ranks.min() == 0
        assert ranks.max() == 19
        return kstest((ranks + rng.random(4000)) / 20, "uniform").pvalue

    assert p_value(draws > 0) > 1e-4
    assert p_value(None) < 1e-9


def test_draws_that_do_not_count_are_left_out_unless_hardly_any_is_left():
    counted = np.array([[True, True, False], [True, False, False]])
    found = without_others({"theta": np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 3.0]])}, counted)["theta"]
    assert np.array_equal(found, [[1.0, 2.0, np.nan], [1.0, 2.0, 3.0]], equal_nan=True)
    assert without_others({"theta": counted}, None)["theta"] is counted


@pytest.mark.parametrize(("case", "changes"), [(LINEAR, {"explained": (0.5, 0.5)}), (LINEAR, None), (CELLS, None)])
def test_simulated_rows_lie_within_the_bounds(case, changes):
    """20 tables of 2,000 rows each, seed 4. Without `within_bounds` some table has a twentieth of its rows outside."""
    model, schema = case
    prior, rng = prior_for(model, schema, changes), np.random.default_rng(4)
    for _ in range(20):
        parameters, rows = model.draw_together(prior, schema, 2000, rng)
        assert model.within_bounds(parameters, schema)
        assert largest_share_outside({name: one for name, one in rows.items() if name != "y"}, schema) < 0.004
    outside = []
    for _ in range(40):
        rows = model.draw_rows(model.draw_parameters(prior, schema, rng), schema, 200, rng)
        outside.append(largest_share_outside(rows, schema))
    assert max(outside) > 0.05


def test_only_draws_with_a_distribution_of_the_covariates_can_be_judged():
    model, schema = LINEAR
    inside = {"theta": [0.0, 0.1, 0.0], "sigma": 0.1, "mu_x": [0.0, 0.2], "Sigma_x": 0.04 * np.eye(2)}
    far = {**inside, "mu_x": [0.0, 0.5]}
    both = {name: np.stack([inside[name], far[name]])[None, None] for name in inside}  # trials, chains, draws
    assert counted_draws(model, schema, both).tolist() == [[True, False]]
    assert counted_draws(model, schema, {name: one[:, :, :1] for name, one in both.items()}) is None
    none = {name: one[:, :, 1:] for name, one in both.items()}
    joined = {name: np.concatenate([both[name][:, :, :1], none[name]]) for name in both}
    assert counted_draws(model, schema, joined).tolist() == [[True], [True]], "of the second trial none lies inside"
    wide = {**inside, "sigma": 0.3}
    assert not model.within_bounds({name: np.asarray(one) for name, one in wide.items()}, schema)
    assert counted_draws(model, schema, {"theta": both["theta"], "sigma": both["sigma"]}) is None
    assert tacit.Bernoulli("ill").within_bounds({"p": 0.5}, tacit.Schema(ill=["no", "yes"])) is None


@pytest.mark.parametrize("changes", [{"explained": (0.5, 0.5)}, None])
def test_with_levels_the_moments_of_simulated_rows_lie_within_the_bounds(changes):
    """20 tables of 300 rows and 5 of 1,500, seed 5; the sampler says of every draw how far its rows would reach."""
    model = tacit.LinearRegression("y ~ age + sex")
    schema = tacit.Schema(y=(0, 10), age=(18, 90), sex=["f", "m"])
    prior, rng = prior_for(model, schema, changes), np.random.default_rng(5)
    for n in [300] * 20 + [1500] * 5:
        _, rows = model.draw_together(prior, schema, n, rng)
        assert extent(rows, schema) <= 1
    assert model.within_bounds({"extent": np.array([[0.9, 1.1]])}, schema).tolist() == [[True, False]]
    assert extent({"y": np.array([2.0, 8.0])}, schema) == pytest.approx(3.5 * 0.6)
