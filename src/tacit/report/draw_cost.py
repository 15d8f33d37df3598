"""What a posterior draw pays for the way it is made: nothing, time alone, or a part of delta."""

from __future__ import annotations

import math

from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.privacy.basis import Basis
from tacit.privacy.guarantees import ApproxDP


def about_sampler(calibrated: PosteriorDraws, budget: object) -> str:
    """The class of the guarantee, and what the sampler costs beside the density."""
    if calibrated.basis is Basis.PROVED:
        found = "The guarantee is proved, for every table."
    else:
        found = "The guarantee is assumed: nobody bounds how far such draws are from the density."
    loss = calibrated.loss
    if not isinstance(loss, RowLoss):
        return found
    gamma = loss.gamma()
    if gamma > 0 and isinstance(budget, ApproxDP):
        part = min(1.0, loss.settings.draws * gamma * (1 + math.exp(budget.epsilon)))
        return f"{found} That takes about {part / float(budget.delta):.0%} of delta."
    return f"{found} {loss.about_draws(dict(calibrated.noise_parameters.numbers))}".strip()
