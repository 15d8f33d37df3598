"""One posterior sample of a logistic regression whose log-likelihood is bounded (Wang, Fienberg, Smola 2015).

The logistic loss with theta kept in the ball |theta| <= c / R, so that |theta'x| <= c for every record. It is the
baseline that geumlek2017 compares with; it has a pure epsilon, and pays for that with the ball.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.mechanisms.posterior_sample.logistic_loss import LogisticLoss, checked, logistic_rows
from tacit.mechanisms.posterior_sample.loss import DrawSettings, Loss, LossParameters
from tacit.models.logistic import LogisticRegression
from tacit.models.model import Model
from tacit.noise.entropy import Entropy
from tacit.privacy.events import Price
from tacit.privacy.rounding import float_above
from tacit.schema import Schema

_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class BoundedLogisticLoss(LogisticLoss):
    """The logistic loss on the ball where no logit exceeds ``bound``."""

    bound: float

    def difference_range(self, numbers: LossParameters) -> Price:
        """2 c, c = ``bound``, over theta in the ball; also where only the response is private.

        Proof: log f(y | x, theta) = -log(1 + exp(-y theta'x)) with |theta'x| <= c lies in an interval of length exactly
        log(1 + e^c) - log(1 + e^-c) = c. So the difference of two records' losses has a range of at most 2c. With the
        same x and the other label it is theta'x, of range 2c as well. Draws outside the ball would void this: the
        sampler makes none. []
        """
        return 2 * Fraction(self.bound)

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """All together: the ball ties them to each other."""
        return (tuple(range(len(self.names))),)

    def about_draws(self, numbers: LossParameters) -> str:
        """What `ball_rejection` proves of the share that is accepted."""
        share = cosh_share(self.bound, len(self.names))
        return (
            "Draws are exact: by rejection under a certified envelope. For every table at least "
            f"{share:.1g} of the proposals are accepted that a Gaussian cut off at the ball would have. That takes "
            "nothing of the budget, only time: how long depends on the rows."
        )

    @property
    def radius(self) -> float:
        """c / R, of the ball that theta is kept in."""
        return self.bound / math.sqrt(float_above(self.rows.norm_squared())) * (1 - 1e-12)

    @property
    def bounds(self) -> tuple[float, float]:
        """The ball's, and a step of the grid for rounding; earlier releases may hold draws from outside."""
        most = math.inf if self.settings.earlier else self.radius + 1 / self.settings.grid
        return -most, most

    @property
    def sampler(self) -> str:
        """``rejection`` inside the ball, in as many dimensions as it is sure to come to an end.

        Proof: see `tacit.private_samplers.ball_rejection`: draws are exact, lie in the ball and never fail. []
        """
        wanted = self.settings.sampler
        if self.settings.earlier:
            return "mcmc" if wanted is None else wanted
        if wanted not in (None, "rejection"):
            raise expected("sampler", wanted, f"to be rejection for loss {self.settings.loss}: its draws are exact")
        share = cosh_share(self.bound, len(self.names))
        if wanted is None and share < _LEAST_SHARE:
            raise expected(
                "bound",
                self.bound,
                f"to be smaller for {len(self.names)} coefficients: a draw may take more than {1 / _LEAST_SHARE:g} "
                'proposals; say sampler = "rejection" to wait for it',
            )
        return "rejection"

    def prior_potential(self, theta: Any, numbers: LossParameters) -> Any:
        """The Gaussian prior's inside the ball, infinite outside."""
        import jax.numpy as jnp

        square = theta @ theta
        return jnp.where(square <= self.radius**2, numbers["precision"] / 2 * square, jnp.inf)

    def draw(
        self, numbers: LossParameters, collected: Any, n: int, entropy: Entropy
    ) -> Sequence[Sequence[float] | None]:
        """By rejection inside the ball."""
        from tacit.private_samplers.ball_rejection import draw_in_ball

        x, y = collected.arrays()
        weight, precision = float(numbers["weight"]), float(numbers["precision"])
        found = draw_in_ball(
            x, y, weight=weight, precision=precision, radius=self.radius, draws=self.settings.draws, source=entropy
        )
        return [[float(v) for v in draw] for draw in found]


def cosh_share(bound: float, size: int) -> float:
    """cosh(bound / 2)^-size: what every table leaves of the acceptance (`private_samplers.ball_rejection`)."""
    return math.exp(-size * (bound / 2 + math.log1p(math.exp(-bound)) - math.log(2)))


def bounded_logistic(model: Model, schema: Schema, settings: DrawSettings) -> Loss:
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
