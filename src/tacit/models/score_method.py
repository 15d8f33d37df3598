"""The method for scores in rounds: what was released becomes the numbers of a chain, and the chain the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.models.model import Method, Problem
from tacit.models.score_model import ScoreModel, ScorePrior
from tacit.models.score_round import Round
from tacit.runtime.chain import Chain, Settings


def score_numbers(problem: Problem, sites: Sequence[tuple[Sequence[Round], Sequence[Any], int]]) -> list[float]:
    """What the chain of ``problem`` is given: of each site its rounds, their values in real units, and n.

    Points and scales differ between releases of one plan, so they are numbers like the values. So is the prior: its sds
    in mapped units follow from what was released about the covariates of the first site.
    """
    from tacit.models.score_data import pack
    from tacit.models.score_steps import default_prior, stand_in

    model, said = problem.model, problem.prior
    assert isinstance(model, ScoreModel)
    assert isinstance(said, ScorePrior)
    link = model.score_link(problem.schema)
    rounds, values, n = sites[0]
    prior = default_prior(stand_in(rounds, values, n, link), said.slope, said.intercept)
    return [float(number) for number in pack(sites, link, prior)]


def _score(problem: Problem, settings: Settings) -> Chain:
    from tacit.samplers.score_chain import Layout, score_chain
    from tacit.samplers.score_curve import curve_of

    model = problem.model
    assert isinstance(model, ScoreModel)
    link = model.score_link(problem.schema)
    layouts: list[Layout] = []
    for site in problem.sites:
        assert site.rounds is not None
        layouts.append(Layout(site.rounds.coefficients, site.rounds.matrix, site.rounds.laplace))
    return score_chain(tuple(layouts), curve_of(link.kind, link.clamp), settings)


SCORE = Method(_score, thin=2, sites=True)
