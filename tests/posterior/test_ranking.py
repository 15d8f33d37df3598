"""Ranks of groups."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import tacit
from tacit.posterior.ranking import ranking_of


def test_ranks_are_as_uncertain_as_what_is_ranked():
    """Seed 1: two groups that differ by a tenth of a sd change places in 47% of draws, a third never."""
    rng = np.random.default_rng(1)
    draws = rng.standard_normal((4, 1000, 3)) + np.array([0.0, 0.1, -50.0])
    array = xr.DataArray(draws, dims=("chain", "draw", "group"), coords={"group": ["a", "b", "c"]})
    first, second, last = ranking_of(array, "mean", 0.9)
    assert (first.name, second.name, last.name) == ("b", "a", "c")
    assert (first.low, first.high, last.low, last.high) == (1, 2, 3, 3)
    assert first.best + second.best == pytest.approx(1)
    assert abs(first.best - 0.528) < 0.05
    assert last.value == pytest.approx(draws[:, :, 2].mean())


def test_a_number_without_groups_has_no_ranking():
    array = xr.DataArray(np.zeros((2, 5)), dims=("chain", "draw"))
    with pytest.raises(tacit.InputError, match="a number of groups"):
        ranking_of(array, "sigma", 0.9)
