"""The log-likelihood as a loss: the ordinary posterior, tempered (geumlek2017)."""

from __future__ import annotations

from tacit.errors import expected
from tacit.mechanisms.posterior_sample.conjugate import conjugate_loss
from tacit.mechanisms.posterior_sample.logistic_loss import logistic_loss
from tacit.mechanisms.posterior_sample.loss import Loss, Settings
from tacit.mechanisms.posterior_sample.softmax_loss import softmax_loss
from tacit.models.conjugate import ConjugateModel
from tacit.models.logistic import LogisticRegression
from tacit.models.model import Model
from tacit.models.softmax import SoftmaxRegression
from tacit.schema import Schema


def log_likelihood(model: Model, schema: Schema, settings: Settings) -> Loss:
    """Exact draws for conjugate families; logistic and softmax regressions by the Gaussian-DP bound.

    Linear and Poisson regressions have log-likelihoods whose gradient has no bound, so nothing can be proved for them.
    """
    if settings.public and not isinstance(model, ConjugateModel):
        raise expected("public", dict(settings.public), "to be left out: only conjugate priors take public rows in")
    if isinstance(model, ConjugateModel):
        return conjugate_loss(model, schema, settings)
    if isinstance(model, LogisticRegression):
        return logistic_loss(model, schema, settings)
    if isinstance(model, SoftmaxRegression):
        return softmax_loss(model, schema, settings)
    raise expected("family", model.family, "to be one whose log-likelihood has a bounded gradient, or a conjugate one")
