"""How far one row can move what a private chain asks of the rows: the gradient of its loss, and a difference of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.errors import expected
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss
from tacit.mechanisms.targets.beta_densities import Bernoulli, Normal, Softmax
from tacit.privacy.beta_slopes import bernoulli_slope, normal_mean_slope, normal_scale_slope, softmax_slope
from tacit.privacy.rounding import float_above


@dataclass(frozen=True)
class RowBounds:
    """``spread``: at least |l(theta', row) - l(theta, row)| for all of them; ``slope``: at least |grad l|_2, or inf.

    ``proved`` says that no gradient is longer than ``slope``. Where it does not hold, longer ones are clipped, which
    keeps privacy and bends the posterior.
    """

    spread: float
    slope: float
    proved: bool

    def difference(self, distance: float) -> float:
        """The most of |l(theta', row) - l(theta, row)| for |theta' - theta|_2 = ``distance``.

        Proof: it is at most sup l - inf l over theta, which `LossRange` proves to be at most ``spread``. On the segment
        between the two, which lies in the parameter space R^p, it is the integral of a directional derivative of at
        most ``slope``. Both hold, so the least of them does. Where ``slope`` is a clip the difference is clipped to it
        as well. []
        """
        return min(self.spread, self.slope * distance)


def row_bounds(loss: BetaLoss, beta: float, clip: float | None) -> RowBounds:
    """The bounds of a model's rows; ``clip`` is the longest gradient that is let through, where one was declared.

    Proof: of the slope, for the Euclidean norm. The predictor is linear in theta, theta'x, with |x|_2 at most the root
    of `RowMap.norm_squared` as every number is clamped. So a gradient is dl/d predictor times x: for two levels at most
    `bernoulli_slope` |x|; for more, the outer product of the gradient in the logits with x, at most `softmax_slope`
    |x|; for normal rows the coefficients' part is at most `normal_mean_slope` |x| and that of v `normal_scale_slope`,
    together the root of the sum of their squares. A model that is none of these, such as a network, whose gradients
    grow with its weights, has no bound. []
    """
    length = math.sqrt(float_above(loss.rows.norm_squared())) * (1 + 1e-12)
    density = loss.density
    slope = math.inf
    kind = type(density)  # not isinstance: another predictor in the same law has other gradients
    if kind is Bernoulli:
        slope = bernoulli_slope(beta) * length
    elif kind is Softmax:
        slope = softmax_slope(beta) * length
    elif isinstance(density, Normal) and kind is Normal:
        slope = math.hypot(normal_mean_slope(beta, density.sigma_min) * length, _scale_slope(density, beta))
    proved = slope < math.inf and (clip is None or clip >= slope)
    if clip is None and slope == math.inf:
        raise expected("clip", None, "to be said: no bound on the gradient of this model's loss is proved")
    return RowBounds(density.loss_range.at(beta), slope if clip is None else min(slope, clip), proved)


def _scale_slope(density: Normal, beta: float) -> float:
    return normal_scale_slope(beta, density.sigma_min)
