"""Every method for a private logistic regression side by side: one estimate of theta for each of many data sets.

The prior is theta ~ N(0, sd^2), the same for all; where a method minimises, the penalty is that prior's. Rows are +-1
responses y and covariates x. A method that needs covariates within a bound has it as `Bounds`, in public, and moves
rows there. Prices are those of ideal arithmetic. This is for comparisons on rows that may be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from comparisons.logistic_draws import logistic_draws
from comparisons.tempering import (
    LOGISTIC_SLOPE,
    LOGISTIC_SLOPE_ONE,
    gaussian_weight,
    gibbs_weight,
    logistic_range,
    minami_weight,
)
from tacit.studies import (
    ObjectivePerturbation,
    OutputPerturbation,
    Probabilities,
    beta_for,
    default_beta,
    minimiser,
    weight_for,
)

REACH = 8.0  # |theta|, in units of sd sqrt(d) / 3, up to which the Gibbs posterior goes


@dataclass(frozen=True)
class Bounds:
    """Public bounds: |x|_2 <= ``norm``, and ``entry``, if it is said, on each |x_j|."""

    norm: float
    entry: float | None = None


@dataclass(frozen=True)
class Problem:
    """What a method is given: rows x (data sets, n, d), y (data sets, n), the budget and what is public."""

    x: Any
    y: Any
    epsilon: float
    delta: float
    sd: float
    bounds: Bounds
    seed: int

    @property
    def within(self) -> Any:
        """x moved into the ball."""
        import numpy as np

        sizes = np.linalg.norm(self.x, axis=2, keepdims=True)
        return self.x * np.minimum(1.0, self.bounds.norm / np.maximum(sizes, 1e-300))


@dataclass(frozen=True)
class LogisticMethod:
    """A method: whether its guarantee is ``pure``, whether covariates may be unbounded, and how it estimates theta.

    ``assumed`` says that the guarantee is that of an exact draw, which no sampler is proved to make.
    """

    pure: bool
    unbounded: bool
    estimate: Callable[[Problem], Any]
    assumed: bool = False


def _beta(given: Problem, weight: float | None) -> Any:
    loss_range = Probabilities()
    if weight is None:
        beta = default_beta(given.epsilon)
        weight = weight_for(loss_range, beta, given.epsilon)
    else:
        beta = beta_for(loss_range, given.epsilon, weight)
    found, _ = logistic_draws(given.x, given.y, weight=weight, beta=beta, theta_sd=given.sd, seed=given.seed)
    return found[:, 0]


def _tempered(given: Problem, weight: float, reach: float | None = None) -> Any:
    found, _ = logistic_draws(given.within, given.y, weight=weight, theta_sd=given.sd, reach=reach, seed=given.seed)
    return found[:, 0]


def _gibbs(given: Problem) -> Any:
    reach = REACH * given.sd / 3 * math.sqrt(given.x.shape[2] / 2)
    low, high = logistic_range(reach * given.bounds.norm)
    return _tempered(given, gibbs_weight(given.epsilon, low=low, high=high), reach)


def _slope(given: Problem) -> float:
    return given.bounds.norm * (LOGISTIC_SLOPE if given.x.shape[2] > 1 else LOGISTIC_SLOPE_ONE)


def _minami(given: Problem) -> Any:
    weight = minami_weight(given.epsilon, given.delta, slope=_slope(given), precision=given.sd**-2)
    return _tempered(given, weight)


def _gaussian(given: Problem) -> Any:
    weight = gaussian_weight(given.epsilon, given.delta, slope=_slope(given), precision=given.sd**-2)
    return _tempered(given, weight)


def _perturbed(given: Problem, form: str, fixed: bool) -> Any:
    """Output (or, with form "objective", objective) perturbation on x / scale, whose coefficients are theta * scale."""
    import numpy as np

    m, n, d = given.x.shape
    by_entry = form in ("coordinates", "sphere")
    scale = (given.bounds.entry or given.bounds.norm) if by_entry else given.bounds.norm
    ridge = given.sd**-2 / scale**2 / (1 if fixed else n)
    rng = np.random.default_rng(given.seed)
    within = given.within / scale
    if form == "objective":
        method = ObjectivePerturbation(n, d, ridge, given.epsilon)
        return np.stack([method.draw(within[i], given.y[i], rng) for i in range(m)]) / scale
    delta = given.delta if form == "gaussian" else 0.0
    output = OutputPerturbation(form, n, d, ridge, given.epsilon, delta)
    return np.stack([output.draw(within[i], given.y[i], rng) for i in range(m)]) / scale


def _minimised(given: Problem) -> Any:
    import numpy as np

    n = given.x.shape[1]
    return np.stack([minimiser(x, y, given.sd**-2 / n) for x, y in zip(given.x, given.y, strict=True)])


def _posterior_draw(given: Problem) -> Any:
    return logistic_draws(given.x, given.y, weight=1.0, theta_sd=given.sd, seed=given.seed)[0][:, 0]


METHODS: dict[str, LogisticMethod] = {
    "beta-divergence": LogisticMethod(True, True, lambda g: _beta(g, None), assumed=True),
    "beta-divergence, weight 1": LogisticMethod(True, True, lambda g: _beta(g, 1.0), assumed=True),
    "Gibbs, bounded": LogisticMethod(True, False, _gibbs),
    "Minami": LogisticMethod(False, False, _minami),
    "Gaussian-DP tempering": LogisticMethod(False, False, _gaussian),
    "output, coordinates": LogisticMethod(True, False, lambda g: _perturbed(g, "coordinates", False)),
    "output, sphere": LogisticMethod(True, False, lambda g: _perturbed(g, "sphere", False)),
    "output, ball": LogisticMethod(True, False, lambda g: _perturbed(g, "ball", False)),
    "output, ball, fixed ridge": LogisticMethod(True, False, lambda g: _perturbed(g, "ball", True)),
    "output, Gaussian": LogisticMethod(False, False, lambda g: _perturbed(g, "gaussian", False)),
    "output, Gaussian, fixed ridge": LogisticMethod(False, False, lambda g: _perturbed(g, "gaussian", True)),
    "objective": LogisticMethod(True, False, lambda g: _perturbed(g, "objective", False)),
}
NOT_PRIVATE: dict[str, LogisticMethod] = {
    "posterior draw, not private": LogisticMethod(False, True, _posterior_draw),
    "minimiser, not private": LogisticMethod(False, True, _minimised),
}
