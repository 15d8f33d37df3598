"""Ranks of groups."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.posterior.parts import PosteriorParts
from tacit.posterior.ranking import ranking_of


def parts(draws, *axes):
    return PosteriorParts({"mean": draws}, {}, {"mean": axes}, {"group": ["a", "b", "c"]}, {}, {})


def test_ranks_are_as_uncertain_as_what_is_ranked():
    """Seed 1: two groups that differ by a tenth of a sd change places in 47% of draws, a third never."""
    rng = np.random.default_rng(1)
    draws = rng.standard_normal((4, 1000, 3)) + np.array([0.0, 0.1, -50.0])
    first, second, last = ranking_of(parts(draws, "group"), "mean", 0.9)
    assert (first.name, second.name, last.name) == ("b", "a", "c")
    assert (first.low, first.high, last.low, last.high) == (1, 2, 3, 3)
    assert first.best + second.best == pytest.approx(1)
    assert abs(first.best - 0.528) < 0.05
    assert last.value == pytest.approx(draws[:, :, 2].mean())


def test_a_number_without_groups_has_no_ranking():
    for name in ("mean", "meen"):
        with pytest.raises(tacit.InputError, match="a number of groups"):
            ranking_of(parts(np.zeros((2, 5))), name, 0.9)
