"""Covariates of made-up rows: levels with the weight of as many rows, and numbers that end where real ones do."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.models.stand_in_covariates import stand_in_covariates

SCHEMA = tacit.Schema(health=["bad", "fair", "good"], age=(20, 80), sex=["f", "m"], place=["a", "b", "c"], dose=(0, 10))


def made(formula, count=48):
    return stand_in_covariates(tacit.OrdinalRegression(formula).design(SCHEMA).columns, SCHEMA, count)


def test_numbers_end_and_levels_are_0_or_1():
    """The planted fault is the normal distribution itself, which passes the end."""
    mean, root = np.array([1.0, 0.8, 0.1]), np.diag([0.0, 0.6, 0.6])
    rows = made("health ~ age + sex")
    x, weights = rows.placed(mean, root, np)
    assert (x[:, 0] == 1).all()
    assert x[:, 1].min() > -1 < x[:, 1].max() == 1
    assert set(x[:, 2]) == {0.0, 1.0}
    assert (0.8 + 0.6 * rows.normal).max() > 1
    assert np.isclose(weights.mean(), 1)


@pytest.mark.parametrize("share", [0.5, 0.02])
def test_a_level_has_the_weight_of_its_rows(share):
    """And numbers have the mean that they have among them: covariance over variance, a little less for a rare level."""
    root = np.zeros((3, 3))
    covariance = np.array([[0.2, 0.1 * share * (1 - share)], [0.1 * share * (1 - share), share * (1 - share)]])
    root[1:, 1:] = np.linalg.cholesky(covariance)
    x, weights = made("health ~ age + sex").placed(np.array([1.0, 0.1, share]), root, np)
    assert np.isclose(np.average(x[:, 2], weights=weights), share)
    inside = [np.average(x[x[:, 2] == k, 1], weights=weights[x[:, 2] == k]) for k in (0, 1)]
    assert 0.05 < inside[1] - inside[0] < 0.13
    assert not np.isclose(np.average(x[:, 2]), 0.02, atol=0.1)  # the planted fault: rows that weigh the same


def test_products_are_0_where_their_level_is_another():
    rows = made("health ~ age * place")
    size = rows.holds.shape[1]
    x, weights = rows.placed(np.array([1.0, 0.0, 0.3, 0.2, 0.0, 0.0]), np.diag([0.0] + [0.3] * (size - 1)), np)
    assert np.allclose([np.average(x[:, j], weights=weights) for j in (2, 3)], [0.3, 0.2])
    assert (x[:, 2] * x[:, 3] == 0).all()
    for level, product in ((2, 4), (3, 5)):
        assert (x[x[:, level] == 0, product] == 0).all()
        assert (x[x[:, level] == 1, product] != 0).any()


def test_the_constant_alone_is_one_row():
    x, weights = made("health ~ 1").placed(np.ones(1), np.zeros((1, 1)), np)
    assert x.tolist() == [[1.0]]
    assert weights.tolist() == [1.0]
