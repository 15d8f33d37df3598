"""The audit of scores in rounds finds no fault in the mechanism, and finds those that are planted."""

from __future__ import annotations

from unittest import mock

import pytest

import tacit
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.score_sums import ScoreSums

SCHEMA = tacit.Schema(y=["no", "yes"], x=(1, 5))


def plan(budget, **options):
    return tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, budget, tacit.Newton(rounds=2, **options))


@pytest.mark.parametrize("budget", [tacit.ApproxDP(1.0, 1e-6), tacit.PureDP(1.0)], ids=["approximate", "pure"])
def test_no_fault_is_found(budget):
    """False alarms: at most 1e-6, and only from the outcomes. The pair that is found uses most of the promise."""
    found = tacit.audit(plan(budget), runs=100)
    assert not found.violated, found.sentence()
    assert found.share is not None
    assert found.share > 0.7


def test_a_person_with_several_rows():
    found = tacit.audit(plan(tacit.GDP(1.0), unit=tacit.Person("id", 3)), runs=0)
    assert not found.violated, found.sentence()


def test_an_understated_claim_is_found():
    """The planted fault: half of the distance that a row can make."""
    real = ScoreSums.sensitivity

    def half(statistic):
        true = real(statistic)
        return Sensitivity(true.l1 / 2, true.l2_squared / 4, true.relative_scales)

    with mock.patch.object(ScoreSums, "sensitivity", half):
        found = tacit.audit(plan(tacit.GDP(1.0)), runs=0)
    assert found.violated


def test_rounds_that_are_not_added_up_are_found():
    """The planted fault: every round has the whole price."""
    real = ScoreRounds.round_at

    def whole(calibrated, place, point):
        from dataclasses import replace

        return real(replace(calibrated, shares=(1,) * calibrated.passes), place, point)

    with mock.patch.object(ScoreRounds, "round_at", whole):
        found = tacit.audit(plan(tacit.GDP(1.0)), runs=0)
    assert found.violated
