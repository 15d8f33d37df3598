"""The softmax loss: draws of the coefficients of a multinomial regression.

l(theta, x, y) = log sum_k exp(theta_k'x) - theta_y'x, theta (K, p) in all, |x|_2 <= R in mapped units. Every level has
coefficients of its own; the prior keeps them apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.mechanisms.posterior_sample.loss import Numbers, Settings
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.mechanisms.posterior_sample.rows import Codes, RowMap
from tacit.models.regression import as_radius
from tacit.models.softmax import SoftmaxRegression
from tacit.privacy.events import Price
from tacit.schema import Schema


@dataclass(frozen=True)
class SoftmaxLoss(RowLoss):
    """The log-likelihood of a softmax regression with ``classes`` levels of the response."""

    names: tuple[str, ...]
    classes: int

    @property
    def parameters(self) -> tuple[str, ...]:
        """The coefficients, level by level, in mapped units."""
        return self.names

    def record_losses(self, theta: Any, x: Any, y: Any, numbers: Numbers) -> Any:
        """log sum_k exp(theta_k'x) - theta_y'x."""
        import jax
        import jax.numpy as jnp

        logits = x @ theta.reshape(self.classes, -1).T
        own = jnp.take_along_axis(logits, y.astype(jnp.int32)[:, None], axis=1)[:, 0]
        return jax.scipy.special.logsumexp(logits, axis=1) - own

    @property
    def convex(self) -> bool:
        """It is."""
        return True

    @property
    def curvature_known(self) -> bool:
        """R^2 / 2."""
        return True

    def curvature(self, numbers: Numbers) -> float:
        """R^2 / 2: the Hessian is (diag p - p p') x x' in the Kronecker sense, and the first factor is at most 1/2.

        Proof: v'(diag p - p p')v is the variance of v_k under p, at most (max v - min v)^2 / 4 <= |v|^2 / 2. []
        """
        return float(self.rows.norm_squared()) / 2

    @property
    def third_to_second(self) -> float:
        """sqrt(2) R: a third cumulant E[a b^2] of centred numbers is at most (max a - min a) times E[b^2], and the
        numbers (u_k'x) have a range of at most sqrt(2) |u| R.
        """
        return math.sqrt(2 * float(self.rows.norm_squared())) * (1 + 1e-12)

    def difference_slope_squared(self, numbers: Numbers) -> Price:
        """G^2 = 8 R^2; 2 R^2 where only the response is private.

        Proof: the gradient is (p - e_y) x' with |p - e_y| <= sqrt(2): sqrt(2) R for one record, twice that for two.
        With the same x it differs by (e_y' - e_y) x', of norm sqrt(2) |x|. []
        """
        return self.rows.norm_squared() * (2 if self.settings.private == "response" else 8)


def softmax_loss(model: SoftmaxRegression, schema: Schema, settings: Settings) -> SoftmaxLoss:
    """The softmax loss of a plan."""
    design = model.design(schema)
    column = design.formula.response
    levels = schema.category(column).levels
    names = tuple(f"{level}: {name}" for level in levels for name in design.names)
    rows = RowMap(design.columns, Codes(column, column), as_radius(model.radius))
    loss = SoftmaxLoss(rows, settings, names, len(levels))
    _ = loss.sampler, loss.prior_precision()
    return loss
