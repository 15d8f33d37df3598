"""One posterior sample of a logistic regression whose log-likelihood is bounded (Wang, Fienberg, Smola 2015).

The logistic loss with theta kept in the ball |theta| <= c / R, so that |theta'x| <= c for every record. It is the
baseline that geumlek2017 compares with; it has a pure epsilon, and pays for that with the ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.losses.logistic_loss import LogisticLoss, checked, logistic_rows
from tacit.losses.loss import Loss, Numbers, Settings
from tacit.models.logistic import LogisticRegression
from tacit.models.model import Model
from tacit.privacy.events import Price
from tacit.schema import Schema


@dataclass(frozen=True)
class BoundedLogisticLoss(LogisticLoss):
    """The logistic loss on the ball where no logit exceeds ``bound``."""

    bound: float

    def difference_range(self, numbers: Numbers) -> Price:
        """2 c, c = ``bound``, over theta in the ball; also where only the response is private.

        Proof: log f(y | x, theta) = -log(1 + exp(-y theta'x)) with |theta'x| <= c lies in an interval of length exactly
        log(1 + e^c) - log(1 + e^-c) = c. So the difference of two records' losses has a range of at most 2c. With the
        same x and the other label it is theta'x, of range 2c as well. []
        """
        return 2 * Fraction(self.bound)

    @property
    def sampler(self) -> str:
        """``mcmc`` unless another is asked for: rejection waits for ever where the ball cuts off nearly everything."""
        if self.settings.sampler == "langevin":
            raise expected("sampler", "langevin", "to be rejection or mcmc: its proof needs a density without walls")
        return "mcmc" if self.settings.sampler is None else super().sampler

    def open_potential(self, theta: Any, x: Any, y: Any, numbers: Numbers) -> Any:
        """The logistic one on the whole space: what falls outside the ball is refused."""
        import jax.numpy as jnp

        losses = self.record_losses(theta, x, y, numbers)
        return numbers["weight"] * jnp.sum(losses) + numbers["precision"] / 2 * (theta @ theta)

    def prior_potential(self, theta: Any, numbers: Numbers) -> Any:
        """The Gaussian prior's inside the ball, infinite outside."""
        import jax.numpy as jnp

        square = theta @ theta
        inside = square <= self.bound**2 / float(self.rows.norm_squared())
        return jnp.where(inside, numbers["precision"] / 2 * square, jnp.inf)


def bounded_logistic(model: Model, schema: Schema, settings: Settings) -> Loss:
    """The bounded logistic loss of a plan; ``bound`` must be said."""
    if not isinstance(model, LogisticRegression):
        raise expected("family", model.family, "to be logistic for loss bounded-log-likelihood")
    bound = settings.options.get("bound")
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not (math.isfinite(bound) and bound > 0):
        raise expected("bound", bound, "to be the largest logit, a number above 0")
    if settings.tempering == "concentrated":
        raise expected("tempering", settings.tempering, "to be diffused: a prior does not change a bounded range")
    rows, names = logistic_rows(model, schema)
    return checked(BoundedLogisticLoss(rows, settings, names, float(bound)))
