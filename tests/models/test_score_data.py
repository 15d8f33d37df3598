"""What a release of scores says of responses that covariates separate nearly."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.models.score_data import information_left, separated
from tacit.models.score_round import Round


def rounds(n, share, left, noise):
    """A first round at 0 and a last one elsewhere, with J_00 = ``left`` n share (1 - share)."""
    first = Round((0.0, 0.0), matrix=True, score_scale=1.0, matrix_scale=1.0, laplace=False)
    last = Round((0.5, 9.0), matrix=True, score_scale=1.0, matrix_scale=noise, laplace=False)
    values = [[(share - 0.5) * n, 0, n / 4, 0, n / 9], [0, 0, left * n * share * (1 - share), 0, 1.0]]
    return [first, last], values, n


def test_what_is_left_to_explain_is_that_of_all_sites_together():
    left, most = information_left([rounds(1000, 0.3, 0.2, 21.0), rounds(1000, 0.3, 0.4, 0.0)])
    np.testing.assert_allclose([left, most], [0.3, 0.4])
    elsewhere = Round((0.1, 0.0), matrix=True, score_scale=1.0, matrix_scale=1.0, laplace=False)
    assert information_left([([elsewhere], [[0, 0, 1, 0, 1]], 10)]) is None


def test_nearly_separated_responses_are_refused_unless_the_coefficients_are_known():
    rng = np.random.default_rng(1)
    theta = np.column_stack([np.zeros(500), 9 + rng.standard_normal(500)])
    narrow = np.column_stack([np.zeros(500), 9 + 0.1 * rng.standard_normal(500)])
    usual, wide = np.full(500, 1.5), np.full(500, 4.5)
    assert "separate the responses" in separated(wide, theta)
    assert "separate the responses" in separated(usual, theta, (0.2, 0.3))
    assert separated(usual, theta, (0.2, 0.7)) is None  # noise may hide what is left
    assert separated(usual, theta, (0.5, 0.55)) is None
    assert separated(wide, narrow, (0.1, 0.1)) is None


@pytest.mark.slow
def test_a_table_that_one_covariate_separates_nearly_is_refused_and_another_is_not():
    """20,000 rows at epsilon 4, noise of the system: five values, all but one with responses of one kind. With
    responses that follow a slope of 1 there is a posterior.
    """
    rng = np.random.default_rng(7)
    x = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], 20_000, p=[0.02, 0.05, 0.16, 0.35, 0.42])
    plan = tacit.Plan(
        tacit.LogisticRegression("y ~ x"), tacit.Schema(y=["no", "yes"], x=(1, 5)), tacit.ApproxDP(4.0, 1e-6)
    )
    nearly = (x > 3) | ((x == 3) & (rng.random(len(x)) < 0.5))
    usual = rng.random(len(x)) < 1 / (1 + np.exp(3 - x))
    for yes, refused in ((nearly, True), (usual, False)):
        rows = {"x": x, "y": np.where(yes, "yes", "no")}
        release = tacit.privatize(rows, plan, dataset="rows", ledger=None)
        if not refused:
            assert tacit.infer(release, seed=1).failure() is None
            continue
        with pytest.raises(tacit.RefusedError, match="separate the responses"):
            tacit.infer(release, seed=1)
        assert "separate" in tacit.infer(release, seed=1, anyway=True).failure()
