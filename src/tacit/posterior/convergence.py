"""Whether the chains of a posterior can be used at all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.posterior.posterior import Posterior

MOST_DIVERGING = 0.5  # of the draws; beyond it, and beyond the R-hat, a posterior is refused
_FAILED_R_HAT = 1.1
_FALSE_ALARM = 1e-6  # probability that independent draws of one number are refused, however few


def failure_of(posterior: Posterior) -> str | None:
    """Why the chains of a posterior cannot be used and what to try, in one sentence; None where they can."""
    what = None
    if not finite(posterior):
        what = "to have drawn finite numbers"
    elif (share := divergent(posterior)) > MOST_DIVERGING:
        what = f"not to diverge in most of their draws ({100 * share:.0f}% did)"
    elif (worst := _largest_r_hat(posterior)) > _FAILED_R_HAT and worst > (most := _r_hat_by_chance(posterior)):
        what = f"to agree (largest R-hat {worst:.3f}, above {max(_FAILED_R_HAT, most):.3g})"
    if what is None:
        return _separated(posterior) or _empty_level(posterior)
    return (
        f"Expected the chains of method {posterior.method!r} {what}: try more warmup and draws, another method, or a "
        "prior that says more; the release is as good as before, and anyway=True or --anyway shows these draws."
    )


def _separated(posterior: Posterior) -> str | None:
    spread = posterior.diagnostic("spread")
    if spread is None:
        return None
    from tacit.models.score_data import information_left, separated
    from tacit.models.score_noise import ScoreNoise
    from tacit.posterior.score_sites import score_sites

    theta, left = posterior.draws("theta"), None
    if all(isinstance(one.noise_parameters, ScoreNoise) for one in posterior.releases):
        left = information_left(score_sites(posterior.releases))
    return separated(spread.reshape(-1), theta.reshape(-1, theta.shape[-1]), left)


def _empty_level(posterior: Posterior) -> str | None:
    if posterior.diagnostic("misfit") is None:  # no rounds of scores: its plan need not be read
        return None
    from tacit.models.poisson_regression import PoissonRegression
    from tacit.models.score_levels import empty_level, level_totals
    from tacit.models.score_noise import ScoreNoise
    from tacit.posterior.score_sites import score_sites

    model, schema, releases = posterior.plan.model, posterior.plan.schema, posterior.releases
    if not releases or posterior.surveys or not isinstance(model, PoissonRegression) or model.link != "log":
        return None
    if not all(isinstance(one.noise_parameters, ScoreNoise) for one in releases):
        return None
    totals = level_totals(model.design(schema), score_sites(releases))
    if not any(one.doubtful for one in totals):
        return None
    theta = posterior.parameter("theta")
    return empty_level(totals, theta.std(axis=0), posterior.prior_draws(400)["theta"].std(axis=0))


def finite(posterior: Posterior) -> bool:
    """Whether every draw is a finite number."""
    import numpy as np

    return all(bool(np.isfinite(array).all()) for array in posterior.arrays().values())


def divergent(posterior: Posterior) -> float:
    """The share of draws whose trajectory diverged; 0 for methods that have none."""
    found = posterior.diagnostic("diverging")
    return 0.0 if found is None else float(found.mean())


def r_hat(values: Any) -> float:
    """R-hat of one number from its draws (chains, draws); not a number where one chain or one value is all there is."""
    import numpy as np

    from tacit.posterior import mixing

    if len(values) < 2 or bool((values == values[0, 0]).all()):
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):  # chains that stand still at different places: infinite R-hat
        return mixing.r_hat(values)


def _largest_r_hat(posterior: Posterior) -> float:
    arrays = (array.reshape(*array.shape[:2], -1) for array in posterior.arrays().values())
    found = (r_hat(array[:, :, i]) for array in arrays for i in range(array.shape[2]))
    return max((value for value in found if not math.isnan(value)), default=1.0)


def _r_hat_by_chance(posterior: Posterior) -> float:
    """The R-hat that independent draws exceed with probability `_FALSE_ALARM`: above 1.1 for some ten draws per chain.

    R-hat^2 = (k - 1 + F) / k for m halves of chains with k draws each, and F has the F distribution with m - 1 and
    m (k - 1) degrees of freedom where the draws are independent and normal, as rank normalisation makes them.
    """
    from scipy.special import fdtri

    chains, draws = next(iter(posterior.arrays().values())).shape[:2]
    halves, each = 2 * chains, draws // 2
    if each < 2:
        return math.inf
    return math.sqrt((each - 1 + float(fdtri(halves - 1, halves * (each - 1), 1 - _FALSE_ALARM))) / each)
