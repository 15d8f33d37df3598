"""The method for reports of scores: the sums of cohorts become the numbers of a chain, and the chain the posterior."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacit.bibliography import HOFFMAN_2014
from tacit.models.model import Method, Problem
from tacit.models.score_method import score_prior
from tacit.models.score_model import ScoreModel, ScorePrior
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.runtime.chain import Arrays, Chain, SamplerSettings

if TYPE_CHECKING:
    from tacit.models.cohort_data import SurveySums

CohortReports = tuple[str, LocalRandomizer, int, Any]
"""The dataset of a cohort, what its devices did, how many reports there are, and their sum in real units."""


def survey_sums(cohorts: Iterable[CohortReports]) -> list[SurveySums]:
    """The cohorts of each dataset together."""
    from tacit.models.cohort_data import CohortSums, SurveySums

    found: dict[str, list[CohortSums]] = {}
    for dataset, randomizer, n, values in cohorts:
        found.setdefault(dataset, []).append(CohortSums.of(randomizer, n, values))
    return [SurveySums(tuple(some)) for some in found.values()]


def cohort_numbers(problem: Problem, surveys: Sequence[SurveySums]) -> list[float]:
    """What the chain of ``problem`` is given: points, scales and values of every cohort, and the prior."""
    from tacit.models.cohort_data import pack_surveys

    model = problem.model
    assert isinstance(model, ScoreModel)
    link = model.score_link(problem.schema)
    return [float(number) for number in pack_surveys(surveys, link, cohort_prior(problem, surveys))]


def cohort_prior(problem: Problem, surveys: Sequence[SurveySums]) -> tuple[Any, Any]:
    """Mean and sd of each coefficient in mapped units: as said, and as the covariates of the first survey spread."""
    from tacit.models.cohort_data import survey_rounds

    model, said = problem.model, problem.prior
    assert isinstance(model, ScoreModel)
    assert isinstance(said, ScorePrior)
    site = survey_rounds(surveys[0], model.score_link(problem.schema))
    return score_prior(said, site, problem.model, problem.schema)


def settled_prior(problem: Problem, surveys: Sequence[SurveySums]) -> ScorePrior:
    """The prior with its mean and sd of every coefficient, which follow from the reports."""
    assert isinstance(problem.prior, ScorePrior)
    mean, sd = cohort_prior(problem, surveys)
    settled = tuple((float(a), float(b)) for a, b in zip(mean, sd, strict=True))
    return replace(problem.prior, mapped=settled)


def _cohorts(problem: Problem, settings: SamplerSettings) -> Chain:
    from tacit.samplers.cohort_chain import CohortLayout, cohort_chain
    from tacit.samplers.score_curve import curve_of

    model = problem.model
    assert isinstance(model, ScoreModel)
    link = model.score_link(problem.schema)
    found = [site.cohorts for site in problem.sites if site.cohorts is not None]
    layouts = tuple(CohortLayout(one.coefficients, one.matrix) for one in found)
    drawn = cohort_chain(layouts, curve_of(link.kind, link.clamp), settings)

    def chain(key: Any, packed: Any) -> tuple[Arrays, Arrays]:
        draws, info = drawn(key, packed)
        worst = {name: draws[name].reshape(len(draws[name]), -1).max(axis=1) for name in ("reach", "misfit")}
        return {"theta": draws["theta"]}, {**info, **worst}

    return chain


COHORTS = Method(_cohorts, thin=2, sites=True, releases=False, central=False, surveys=True, papers=(HOFFMAN_2014,))
