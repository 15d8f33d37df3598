"""The method for scores in rounds: what was released becomes the numbers of a chain, and the chain the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.bibliography import HOFFMAN_2014
from tacit.errors import expected
from tacit.models.coefficient_statements import of_single_coefficients
from tacit.models.model import Method, Model, Problem
from tacit.models.regression import Regression
from tacit.models.score_model import ScoreModel, ScorePrior
from tacit.models.score_round import Round
from tacit.runtime.chain import Arrays, Chain, SamplerSettings, Shaped
from tacit.schema import Schema

ScoreSite = tuple[Sequence[Round], Sequence[Any], float]
"""The rounds of a site, their values in real units, and n."""


def score_numbers(problem: Problem, sites: Sequence[ScoreSite]) -> list[float]:
    """What the chain of ``problem`` is given: of each site its rounds, their values in real units, and n.

    Points and scales differ between releases of one plan, so they are numbers like the values. So is the prior: its sds
    in mapped units follow from what was released about the covariates of the first site.
    """
    from tacit.models.score_data import pack

    model, said = problem.model, problem.prior
    assert isinstance(model, ScoreModel)
    assert isinstance(said, ScorePrior)
    link = model.score_link(problem.schema)
    return [float(number) for number in pack(sites, link, score_prior(said, sites[0], model, problem.schema))]


def score_prior(said: ScorePrior, site: ScoreSite, model: Model, schema: Schema) -> tuple[Any, Any]:
    """Mean and sd of each coefficient in mapped units: as ``said``, and as the covariates of a site are spread."""
    import numpy as np

    from tacit.models.score_steps import default_prior, stand_in

    assert isinstance(model, ScoreModel)
    assert isinstance(model, Regression)
    rounds, values, n = site
    if said.mapped:
        if len(said.mapped) != len(rounds[0].point):
            raise expected("mapped", len(said.mapped), f"to have {len(rounds[0].point)} entries, one a coefficient")
        mean, sd = np.array(said.mapped).T
        return mean, sd
    if said.theta_sd is not None:
        p = len(rounds[0].point)
        mean, sd = np.zeros(p), np.full(p, float(said.theta_sd))
    else:
        mean, sd = default_prior(stand_in(rounds, values, n, model.score_link(schema)), said.slope, said.intercept)
    mean, sd = model.score_link(schema).pinned(mean, sd)
    for place, own in of_single_coefficients(said.coefficients, model.design(schema)).items():
        mean[place], sd[place] = own
    return mean, sd


def _score(problem: Problem, settings: SamplerSettings) -> Chain:
    from tacit.samplers.score_chain import Layout, score_chain
    from tacit.samplers.score_curve import curve_of

    model = problem.model
    assert isinstance(model, ScoreModel)
    link = model.score_link(problem.schema)
    layouts: list[Layout] = []
    for site in problem.sites:
        assert site.rounds is not None
        layouts.append(Layout(site.rounds.coefficients, site.rounds.matrix, site.rounds.laplace))
    drawn = score_chain(tuple(layouts), curve_of(link.kind, link.clamp), settings)

    def chain(key: Any, packed: Any) -> tuple[Arrays, Arrays]:
        found, info = drawn(key, packed)
        shown = ("reach", "misfit", "spread") if link.kind == "logistic" else ("reach", "misfit")
        worst = {name: found[name].reshape(len(found[name]), -1).max(axis=1) for name in shown}
        return {"theta": found["theta"]}, {**info, **worst}

    # All that differs between releases is among the numbers: n, points, scales, anchors.
    return Shaped(lambda _: chain, (), ("score", tuple(layouts), link.kind, link.clamp, settings))


SCORE = Method(_score, thin=2, sites=True, releases=True, papers=(HOFFMAN_2014,))
