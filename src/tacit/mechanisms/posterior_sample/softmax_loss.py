"""The softmax loss: draws of the coefficients of a multinomial regression.

l(theta, x, y) = log sum_k exp(theta_k'x) - theta_y'x, theta (K, p) in all, |x|_2 <= R in mapped units. Every level has
coefficients of its own; the prior keeps them apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tacit.mechanisms.posterior_sample.loss import DrawSettings, LossParameters
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

    def record_losses(self, theta: Any, x: Any, y: Any, numbers: LossParameters) -> Any:
        """log sum_k exp(theta_k'x) - theta_y'x."""
        import jax
        import jax.numpy as jnp

        logits = x @ theta.reshape(self.classes, -1).T
        own = jnp.take_along_axis(logits, y.astype(jnp.int32)[:, None], axis=1)[:, 0]
        return jax.scipy.special.logsumexp(logits, axis=1) - own

    @property
    def convex(self) -> bool:
        return True

    @property
    def curvature_known(self) -> bool:
        return True

    def curvature(self, numbers: LossParameters) -> float:
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

    def minorant(self, theta: Any, x: Any, metric: Any, numbers: LossParameters) -> Callable[[float], Any]:
        """precision I + weight * the sum over rows of 2 phi(s_i) H_i, H_i the row's Hessian at ``theta``.

        Proof: s_i is R times the largest |x_i (e_k - e_l)'|, over pairs of levels, in the norm of the inverse metric:
        by the Cauchy-Schwarz inequality the numbers delta_k'x_i differ by s_i at most. By `third_to_second` the second
        derivative of the loss along delta then falls at most like e^{-s_i t}, so the loss is at least its tangent plus
        delta'H_i delta phi(s_i), phi(s) = (e^-s + s - 1) / s^2 (`private_samplers.rejection`). []
        """
        import numpy as np
        from scipy.special import softmax

        classes, (rows, size) = self.classes, x.shape
        probabilities = softmax(x @ np.reshape(theta, (classes, size)).T, axis=1)
        inverse = np.linalg.inv(metric).reshape(classes, size, classes, size)
        apart = np.zeros(rows)
        for k in range(classes):
            for other in range(k):
                block = inverse[k, :, k] + inverse[other, :, other] - inverse[k, :, other] - inverse[other, :, k]
                apart = np.maximum(apart, np.einsum("ij,jk,ik->i", x, block, x))
        apart = np.sqrt(apart) * (1 + 1e-9)
        weight, precision = float(numbers["weight"]), float(numbers["precision"])

        def least(radius: float) -> Any:
            s = np.maximum(radius * apart, 1e-6)
            kept = np.where(s < 1e-3, 1 - s / 3, 2 * (np.expm1(-s) + s) / s**2) * (1 - 1e-9)
            whole = precision * np.eye(classes * size).reshape(classes, size, classes, size)
            for k in range(classes):
                for other in range(classes):
                    h = kept * probabilities[:, k] * ((k == other) - probabilities[:, other])
                    whole[k, :, other] += weight * (x.T * h) @ x
            return whole.reshape(classes * size, classes * size)

        return least

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Those of the design, for all levels of the response together."""
        size = len(self.rows.design)
        return tuple(tuple(k * size + j for k in range(self.classes) for j in part) for part in self.rows.parts)

    def columns_of(self, part: tuple[int, ...]) -> list[int]:
        return list(part[: len(part) // self.classes])

    def of_part(self, part: tuple[int, ...]) -> SoftmaxLoss:
        """One loss for all parts of a size, so that its programs are compiled once."""
        return replace(self, names=tuple(f"{i}" for i in range(len(part))))

    @property
    def most_rejected(self) -> int:
        """Shells keep rejection fast here."""
        return 12

    def difference_lipschitz_squared(self, numbers: LossParameters) -> Price:
        """G^2 = 8 R^2; 2 R^2 where only the response is private.

        Proof: the gradient is (p - e_y) x' with |p - e_y| <= sqrt(2): sqrt(2) R for one record, twice that for two.
        With the same x it differs by (e_y' - e_y) x', of norm sqrt(2) |x|. []
        """
        return self.rows.norm_squared() * (2 if self.settings.private == "response" else 8)


def softmax_loss(model: SoftmaxRegression, schema: Schema, settings: DrawSettings) -> SoftmaxLoss:
    """The softmax loss of a plan."""
    design = model.design(schema)
    column = design.formula.response
    levels = schema.category(column).levels
    names = tuple(f"{level}: {name}" for level in levels for name in design.names)
    rows = RowMap(design.columns, Codes(column, column), as_radius(model.radius))
    loss = SoftmaxLoss(rows, settings, names, len(levels))
    _ = loss.sampler, loss.prior_precision()
    return loss
