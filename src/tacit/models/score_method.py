"""The method for scores in rounds: what was released becomes the numbers of a chain, and the chain the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.models.model import Method, Problem
from tacit.models.score_model import ScoreModel
from tacit.models.score_round import Round
from tacit.runtime.chain import Chain, Settings


def score_numbers(
    problem: Problem, sites: Sequence[tuple[Sequence[Round], Sequence[Any], int]], prior: tuple[Any, Any] | None = None
) -> list[float]:
    """What the chain of ``problem`` is given: of each site its rounds, their values in real units, and n.

    Points and scales differ between releases of one plan, so they are numbers like the values. ``prior`` is the mean
    and the sd of each coefficient in mapped units; left out, it follows from what was released about the covariates.
    """
    from tacit.models.score_data import pack

    model = problem.model
    assert isinstance(model, ScoreModel)
    return [float(number) for number in pack(sites, model.score_link(problem.schema), prior)]


def _score(problem: Problem, settings: Settings) -> Chain:
    from tacit.models.score_curve import curve_of
    from tacit.samplers.score_chain import Layout, score_chain

    model = problem.model
    assert isinstance(model, ScoreModel)
    link = model.score_link(problem.schema)
    layouts: list[Layout] = []
    for site in problem.sites:
        assert site.rounds is not None
        layouts.append(Layout(site.rounds.coefficients, site.rounds.matrix, site.rounds.laplace))
    return score_chain(tuple(layouts), curve_of(link.kind, link.clamp), settings)


SCORE = Method(_score, thin=2, sites=True)
