"""The plan of the next cohort of a survey: its point follows from the reports that earlier cohorts sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tacit.errors import InputError, expected
from tacit.mechanisms.local import Local
from tacit.models.cohort import rounded_point
from tacit.models.cohort_method import survey_sums
from tacit.models.local import LocalModel
from tacit.models.score_model import ScoreModel
from tacit.models.score_reports import of_scores
from tacit.plan import Plan
from tacit.reports import Reports, as_reports


def next_cohort(reports: Reports | str | Path | Sequence[Reports | str | Path], *, matrix: float | None = None) -> Plan:
    """The plan that the next cohort's devices read: that of the last group of ``reports`` at a better point.

    The point is computed from reports, which were private when they left their devices, so it costs nothing and may be
    published. Nobody may answer in two cohorts: each report costs its sender the whole budget. ``matrix`` is the part
    of a report that goes to the information, 0 for scores alone; left out, it stays what it was.
    """
    given = [reports] if isinstance(reports, Reports | str | Path) else list(reports)
    if not given:
        raise InputError("Expected reports to be one file of reports or more.")
    whole = Reports.merge([as_reports(one) for one in given])
    last = as_reports(given[-1]).groups[-1].plan
    model, mechanism = last.model, last.mechanism
    scores = all(of_scores(group.local_randomizer) for group in whole.groups)
    if not scores or not isinstance(model, ScoreModel) or not isinstance(mechanism, Local):
        raise expected("reports", whole.dataset, 'to be of the protocol "scores": only its cohorts have points')
    assert isinstance(model, LocalModel)
    cohorts = [
        (whole.dataset, group.local_randomizer, group.n, model.summary(group.local_randomizer, group.values))
        for group in whole.groups
    ]
    from tacit.models.cohort_data import point_after

    (survey,) = survey_sums(cohorts)
    point = rounded_point(point_after(survey, model.score_link(last.schema)))
    share = mechanism.matrix if matrix is None else matrix
    return replace(last, mechanism=Local(mechanism.protocol, point, share))
