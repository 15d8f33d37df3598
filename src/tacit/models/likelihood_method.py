"""The method for a family that is a row's log-likelihood: what rounds released becomes the numbers of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.bibliography import HOFFMAN_2014
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Method, Problem
from tacit.models.score_model import ScorePrior
from tacit.models.score_round import Round
from tacit.runtime.chain import Chain, SamplerSettings

_MOVES = 8


def likelihood_numbers(problem: Problem, rounds: Sequence[Round], values: Sequence[Any], n: float) -> list[float]:
    """The packed numbers of `tacit.samplers.likelihood_chain`."""
    from tacit.models.likelihood_steps import fitted, in_one_unit
    from tacit.samplers.likelihood_chain import LikelihoodLayout

    model, said, p = problem.model, problem.prior, len(rounds[0].point)
    assert isinstance(model, LikelihoodModel)
    assert isinstance(said, ScorePrior)
    fit = fitted(model, problem.schema, rounds, values, float(n), said, _MOVES)
    with_matrix = [i for i, one in enumerate(rounds) if one.matrix]
    layout = LikelihoodLayout(
        p, model.covariates(problem.schema), tuple(one.matrix for one in rounds), rounds[0].laplace
    )
    scaled = [in_one_unit(one, value) for one, value in zip(rounds, values, strict=True)]
    arrays = {
        "n": [float(n)],
        "prior_mean": fit.prior_mean,
        "prior_sd": fit.prior_sd,
        "anchor": fit.anchor,
        "bend": fit.bend,
        "mean": fit.mean,
        "root": fit.root,
        "points": [one.point for one in rounds],
        "units": [one.units for one in scaled],
        "counts": [one.cut for one in scaled],
        "scores": [one.scores for one in scaled],
        "score_noise": [one.score_scale * scale.units for one, scale in zip(rounds, scaled, strict=True)],
        "matrices": [scaled[i].upper for i in with_matrix],
        "matrix_noise": [rounds[i].matrix_scale for i in with_matrix],
    }
    return [float(number) for number in layout.pack(arrays)]


def _likelihood(problem: Problem, settings: SamplerSettings) -> Chain:
    import jax.numpy as jnp

    from tacit.models.likelihood_steps import stand_in_of
    from tacit.samplers.likelihood_chain import LikelihoodLayout, likelihood_chain

    model, schema = problem.model, problem.schema
    assert isinstance(model, LikelihoodModel)
    (site,) = problem.sites
    assert site.rounds is not None
    layout = LikelihoodLayout(
        site.rounds.coefficients, model.covariates(schema), site.rounds.matrix, site.rounds.laplace
    )
    return likelihood_chain(layout, stand_in_of(model, schema), lambda t: model.named(t, schema, jnp), settings)


LIKELIHOOD = Method(_likelihood, thin=2, papers=(HOFFMAN_2014,))
