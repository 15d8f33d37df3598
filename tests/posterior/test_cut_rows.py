"""The share of rows whose score was cut: read from the last round, and warned of where it is large."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tacit.models.score_noise import NoisyRound, ScoreNoise
from tacit.posterior.cut_rows import CutRows, cut_rows

UNIT = 2**20


def a_release(shares, n=1000, *, counted=True):
    """Two rounds of two scores, the last number of each that of rows that were cut."""
    scales = (10 * UNIT, 3 * UNIT) if counted else (10 * UNIT,)
    rounds = tuple(NoisyRound((0, 0), matrix=False, scales=scales) for _ in shares)
    values = [value for share in shares for value in (5 * UNIT, 7 * UNIT, round(share * n * UNIT))[: 2 + counted]]
    return SimpleNamespace(noise_parameters=ScoreNoise("rounded-gaussian", rounds), n=n, unit=UNIT, values=values)


def test_it_is_that_of_the_last_round():
    """The planted fault is the first round's, where the point is far from the estimate."""
    found = cut_rows(a_release([0.4, 0.05]))
    assert found.share == pytest.approx(0.05)
    assert found.sd == pytest.approx(0.003, rel=0.01)
    assert "About 5.0% of the rows" in found.sentence()


def test_releases_without_cut_scores_say_nothing():
    assert cut_rows(a_release([0.4, 0.05], counted=False)) is None
    assert cut_rows(SimpleNamespace(noise_parameters=None)) is None


@pytest.mark.parametrize(("share", "sd", "warned"), [(0.05, 0.003, True), (0.021, 0.003, False), (0.3, 0.2, False)])
def test_many_are_warned_of_and_noise_is_not(share, sd, warned):
    assert (CutRows(share, sd).warning() is not None) == warned
