"""The logistic loss: draws of the coefficients of a logistic regression (geumlek2017, section 4).

l(theta, x, y) = log(1 + exp(-y theta'x)), y = -1 or 1, |x|_2 <= R in mapped units (`RowMap.norm_squared`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.mechanisms.posterior_sample.loss import DrawSettings, LossParameters
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.mechanisms.posterior_sample.rows import RowMap
from tacit.models.logistic import LogisticRegression
from tacit.models.regression import as_radius
from tacit.privacy.events import Price
from tacit.schema import Schema
from tacit.statistics.design import sign

# sup over x, x' in [-1, 1], both labels and theta of |dl/dtheta - dl'/dtheta|, rounded up in the last digit.
_ONE_COEFFICIENT = Fraction("1.0516339916")


@dataclass(frozen=True)
class LogisticLoss(RowLoss):
    """The log-likelihood of a logistic regression; ``names`` are those of the coefficients."""

    names: tuple[str, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The coefficients, in mapped units."""
        return self.names

    def record_losses(self, theta: Any, x: Any, y: Any, numbers: LossParameters) -> Any:
        """log(1 + exp(-y theta'x)), without overflow."""
        import jax.numpy as jnp

        return jnp.logaddexp(0.0, -y * (x @ theta))

    @property
    def convex(self) -> bool:
        return True

    @property
    def curvature_known(self) -> bool:
        return True

    def curvature(self, numbers: LossParameters) -> float:
        """R^2 / 4: the Hessian is s (1 - s) x x' with s in (0, 1)."""
        return float(self.rows.norm_squared()) / 4

    @property
    def third_to_second(self) -> float:
        """R: the third derivative of log(1 + e^-t) is at most its second, times x'u <= R |u| for the chain rule."""
        return math.sqrt(float(self.rows.norm_squared())) * (1 + 1e-12)

    def minorant(self, theta: Any, x: Any, metric: Any, numbers: LossParameters) -> Callable[[float], Any]:
        """precision I + weight * X' diag(h) X, h_i the least curvature of row i that the ellipsoid allows.

        Proof: |x_i'delta| <= R |x_i|, in the norm of the inverse metric, by the Cauchy-Schwarz inequality; between the
        two ends of x_i'theta so moved the loss is at least its tangent plus h_i (x_i'delta)^2 / 2, which is proved in
        `private_samplers.ball_rejection` for any interval: the mean of l'' that h_i bounds rises and then falls as one
        goes away from x_i'theta to one side, and only falls to the other, so it is least at an end. []
        """
        import numpy as np

        from tacit.private_samplers.ball_rejection import least_between

        at = x @ theta
        reach = np.sqrt(np.einsum("ij,jk,ik->i", x, np.linalg.inv(metric), x)) * (1 + 1e-9)
        weight, precision = float(numbers["weight"]), float(numbers["precision"])

        def least(radius: float) -> Any:
            h = least_between(at, at - radius * reach, at + radius * reach)
            return precision * np.eye(len(theta)) + weight * (x.T * h) @ x

        return least

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Those of the design."""
        return self.rows.parts

    def of_part(self, part: tuple[int, ...]) -> LogisticLoss:
        """One loss for all parts of a size, so that its programs are compiled once."""
        return replace(self, names=tuple(f"{i}" for i in range(len(part))))

    @property
    def most_rejected(self) -> int:
        """Shells keep rejection fast here."""
        return 12

    def difference_lipschitz_squared(self, numbers: LossParameters) -> Price:
        """G^2 for the difference of two records' losses.

        Proof: the gradient of l is -y s x with s = 1/(1 + exp(y theta'x)) in (0, 1), of norm below |x| <= R, so for two
        records it differs by less than 2R; with two or more coefficients that is approached (labels +1 and -1, x near
        x', a long theta that separates them). Only the response private: x is the same, and l(theta, x, 1) -
        l(theta, x, -1) = -theta'x is linear with slope |x| <= R. One coefficient: the gradients at u = theta x and
        u' = theta x' are tied together. For labels both 1 the difference is R times at most 1 when signs of x agree
        (both terms in (0, 1)) and s(u) |x| + s(u') |x'| with u u' <= 0 otherwise; labels that differ are the same with
        x' replaced by -x'. By symmetry put theta > 0 and t = theta R: the largest value over |x|, |x'| <= R is that of
        max over a, b in [0, 1] of a s(t a) + b s(-t b), s(t) = 1/(1 + e^t), where b = 1 is best and a s(t a) is
        maximised over a; over all t this is 1.0516339915453... (found to 1e-15 by bisection on its derivative). []
        """
        square = self.rows.norm_squared()
        if self.settings.private == "response":
            return square
        return square * (4 if len(self.names) > 1 else _ONE_COEFFICIENT**2)

    def hessian(self, theta: Any, x: Any, y: Any, numbers: LossParameters) -> Any:
        """weight * X' diag(s (1 - s)) X + precision I."""
        import jax
        import jax.numpy as jnp

        s = jax.nn.sigmoid(x @ theta)
        return numbers["weight"] * (x.T * (s * (1 - s))) @ x + numbers["precision"] * jnp.eye(len(self.names))


def logistic_rows(model: LogisticRegression, schema: Schema) -> tuple[RowMap, tuple[str, ...]]:
    """How rows become x and y, and the names of the coefficients."""
    design = model.design(schema)
    response = sign(design.formula.response, schema)
    return RowMap(design.columns, response, as_radius(model.radius)), tuple(design.names)


def logistic_loss(model: LogisticRegression, schema: Schema, settings: DrawSettings) -> LogisticLoss:
    """The logistic loss of a plan."""
    rows, names = logistic_rows(model, schema)
    return checked(LogisticLoss(rows, settings, names))


def checked(loss: LogisticLoss) -> LogisticLoss:
    """Refuse settings that do not fit."""
    _ = loss.sampler, loss.prior_precision()
    return loss
