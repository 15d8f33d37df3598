"""How far one row can move what a private chain asks of the rows: the gradient of its loss, and a difference of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.errors import expected
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss
from tacit.mechanisms.targets.beta_densities import BernoulliDensity, NormalDensity, Softmax
from tacit.privacy.beta_gradients import (
    bernoulli_gradient_bound,
    normal_mean_gradient_bound,
    normal_scale_gradient_bound,
    softmax_gradient_bound,
)
from tacit.privacy.rounding import float_above


@dataclass(frozen=True)
class RowBounds:
    """``spread``: at least |l(theta', row) - l(theta, row)| for all of them; ``gradient_norm``: at least |grad l|_2,
    or inf.

    ``proved`` says that no gradient is longer than ``gradient_norm``. Where it does not hold, longer ones are clipped,
    which keeps privacy and bends the posterior.
    """

    spread: float
    gradient_norm: float
    proved: bool

    def difference(self, distance: float) -> float:
        """The most of |l(theta', row) - l(theta, row)| for |theta' - theta|_2 = ``distance``.

        Proof: it is at most sup l - inf l over theta, which `LossRange` proves to be at most ``spread``. On the segment
        between the two, which lies in the parameter space R^p, it is the integral of a directional derivative of at
        most ``gradient_norm``. Both hold, so the least of them does. Where ``gradient_norm`` is a clip the difference
        is clipped to it as well. []
        """
        return min(self.spread, self.gradient_norm * distance)


def row_bounds(loss: BetaLoss, beta: float, clip: float | None) -> RowBounds:
    """The bounds of a model's rows; ``clip`` is the longest gradient that is let through, where one was declared.

    Proof: of the gradient's bound, for the Euclidean norm. The predictor is linear in theta, theta'x, with |x|_2 at
    most the root of `RowMap.norm_squared` as every number is clamped. So a gradient is dl/d predictor times x: for two
    levels at most `bernoulli_gradient_bound` |x|; for more, the outer product of the gradient in the logits with x, at
    most `softmax_gradient_bound` |x|; for normal rows the coefficients' part is at most `normal_mean_gradient_bound`
    |x| and that of v `normal_scale_gradient_bound`, together the root of the sum of their squares. A model that is none
    of these, such as a network, whose gradients grow with its weights, has no bound. []
    """
    length = math.sqrt(float_above(loss.rows.norm_squared())) * (1 + 1e-12)
    density = loss.density
    gradient_norm = math.inf
    kind = type(density)  # not isinstance: another predictor in the same distribution has other gradients
    if kind is BernoulliDensity:
        gradient_norm = bernoulli_gradient_bound(beta) * length
    elif kind is Softmax:
        gradient_norm = softmax_gradient_bound(beta) * length
    elif isinstance(density, NormalDensity) and kind is NormalDensity:
        gradient_norm = math.hypot(
            normal_mean_gradient_bound(beta, density.sigma_min) * length, _scale_gradient_bound(density, beta)
        )
    proved = gradient_norm < math.inf and (clip is None or clip >= gradient_norm)
    if clip is None and gradient_norm == math.inf:
        raise expected("clip", None, "to be said: no bound on the gradient of this model's loss is proved")
    return RowBounds(density.loss_range.at(beta), gradient_norm if clip is None else min(gradient_norm, clip), proved)


def _scale_gradient_bound(density: NormalDensity, beta: float) -> float:
    return normal_scale_gradient_bound(beta, density.sigma_min)
