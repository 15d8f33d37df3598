"""The losses by name: what a plan's ``[mechanism] loss`` may say."""

from __future__ import annotations

from tacit.bibliography import GEUMLEK_2017, JEWSON_2023
from tacit.errors import did_you_mean, expected
from tacit.mechanisms.posterior_sample.beta_divergence import KEYS, beta_divergence
from tacit.mechanisms.posterior_sample.bounded_logistic import bounded_logistic
from tacit.mechanisms.posterior_sample.log_likelihood import log_likelihood
from tacit.mechanisms.posterior_sample.loss import Loss, LossKind, Settings
from tacit.models.model import Model
from tacit.schema import Schema

LOSSES: dict[str, LossKind] = {
    "log-likelihood": LossKind(log_likelihood, papers=(GEUMLEK_2017,)),
    "bounded-log-likelihood": LossKind(bounded_logistic, ("bound",), papers=(GEUMLEK_2017,)),
    "beta-divergence": LossKind(beta_divergence, KEYS, unclamped=True, papers=(JEWSON_2023,)),
}


def loss_for(model: Model, schema: Schema, settings: Settings) -> Loss:
    """The density that a plan draws from."""
    kind = loss_kind(settings.loss)
    for name in settings.options:
        if name not in kind.keys:
            known = ", ".join(kind.keys) or "nothing more"
            raise expected("mechanism key", name, f"to be one of the loss's own: {known}")
    return kind.build(model, schema, settings)


def loss_kind(name: object) -> LossKind:
    """The kind of that name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise expected("loss", name, f"to be one of {', '.join(LOSSES)}{did_you_mean(name, LOSSES)}")
    return LOSSES[name]
