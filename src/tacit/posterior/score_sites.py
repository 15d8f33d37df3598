"""What releases of scores in rounds say about each dataset: rounds and values in real units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.errors import expected
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.score_method import ScoreSite, score_prior
from tacit.models.score_model import ScorePrior
from tacit.models.score_noise import ScoreNoise
from tacit.models.score_round import Round
from tacit.release import Release


def score_sites(releases: Sequence[Release]) -> list[ScoreSite]:
    """A site for each dataset. A number of rows that is not public stands for itself as it was released, or for its
    noise where that is more: the chain hardly asks for it. Rounds of several releases about the same rows follow each
    other: their noise is new."""
    found: dict[str, tuple[list[Round], list[Any], float]] = {}
    for one in releases:
        if not isinstance(one.noise_parameters, ScoreNoise):
            raise expected("release", one.id, "to have scores in rounds, like what it is pooled with")
        number, sd = one.noisy_n
        n = max(number, sd, 1.0) if one.n is None else one.n
        rounds, values, _ = found.setdefault(one.dataset, ([], [], n))
        rounds += one.noise_parameters.facts(one.unit)
        values += [[value / one.unit for value in some] for some in one.noise_parameters.split(one.values)]
    return list(found.values())


def score_prior_draws(releases: Sequence[Release], prior: ScorePrior, draws: int, seed: int) -> dict[str, Any]:
    """Independent draws of the coefficients from the prior, whose width follows from the first dataset."""
    import numpy as np

    rng = np.random.default_rng(seed)
    model = releases[0].plan.model if releases else None
    if isinstance(model, LikelihoodModel):
        from tacit.models.likelihood_steps import settled_prior

        schema = releases[0].plan.schema
        mean, sd = settled_prior(model, schema, *score_sites(releases)[0], prior)
        return model.named(mean + sd * rng.standard_normal((draws, len(mean))), schema, np)
    if prior.mapped:  # settled already, as with reports
        mean, sd = np.array(prior.mapped).T
    else:
        plan = releases[0].plan
        mean, sd = score_prior(prior, score_sites(releases)[0], plan.model, plan.schema)
    return {"theta": mean + sd * rng.standard_normal((draws, len(mean)))}
