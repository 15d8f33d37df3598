"""Means of groups whose sizes are latent: what the target says of a size before anything was released."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.runtime.backend import float64
from tacit.samplers import group_means
from tacit.samplers.group_means import _row_moments, log_mass, log_not_all_there


def test_the_mass_of_possible_sums_is_that_of_a_simulation():
    """Seed 2: 200,000 normal draws for each size, within 5 standard errors and half a hundredth of the table's own."""
    rng, prior = np.random.default_rng(2), (1.5, 1.0, 2.0, 3.0)
    draws, sizes = 200_000, np.array([1.0, 3.0, 12.0, 100.0])
    with float64():
        found = np.exp(np.asarray(log_mass(sizes, prior)))
        mean, ratio = rng.beta(*prior[:2], draws), rng.beta(*prior[2:], draws)
        m, s, va, cov, vs = map(np.asarray, _row_moments(mean, ratio))
        there = [1 - np.exp(np.asarray(log_not_all_there(n, mean))) for n in sizes]
    for n, mass, all_there in zip(sizes, found, there, strict=True):
        e, f = rng.standard_normal((2, draws)) / np.sqrt(n)
        first = m + np.sqrt(va) * e
        second = s + cov / np.sqrt(va) * e + np.sqrt(np.maximum(vs - cov**2 / va, 0)) * f
        inside = (first > 0) & (first < 1) & (second > first**2) & (second < first)
        drawn = (1 - all_there) * inside + all_there
        assert abs(mass - drawn.mean()) < 5 * drawn.std() / np.sqrt(draws) + 0.005, n


@pytest.mark.slow
def test_n_is_calibrated_with_many_small_groups(monkeypatch):
    """Seed 11: 20 groups of some 10 rows, 60 releases at epsilon = 1, level 1e-3. Planted: a flat size of each group,
    with which n comes out too large.
    """
    schema = tacit.Schema(v=(0, 30), g=[f"g{i}" for i in range(20)])
    plan = tacit.Plan(tacit.Mean("v", by="g"), schema, tacit.PureDP(1.0, neighbours="add-remove"), tacit.AddNoise())
    assert tacit.calibrate(plan, n=200, trials=60, seed=11).least_p()["n"] > 1e-3
    monkeypatch.setattr(group_means, "log_gamma_ratio", lambda n, a: 0.0 * n)
    monkeypatch.setattr(group_means, "_slope", lambda sizes, logs: 0.0)
    assert tacit.calibrate(plan, n=200, trials=60, seed=11).least_p()["n"] < 1e-3
