"""What a reader should know before trusting a posterior: about the sampler, about the data, about the method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.models.prior_draws import BALL, clamped_share
from tacit.models.score_noise import ScoreNoise

if TYPE_CHECKING:
    from tacit.posterior import Posterior

_LARGEST_R_HAT, _FEWEST_DRAWS, _MOST_DIVERGING = 1.01, 400, 0.001
_HARDLY_MOVED = 0.9  # of the prior's standard deviation is left in every number
_MUCH_CLAMPED, _MUCH_MOVED = 0.01, 0.1  # of a column's values; of the rows
_IF_NOT_NORMAL = {
    False: "and this does not apply.",
    True: "and this method assumes that they are: its coefficients may be wrong, and more rows do not help. "
    'kind = "newton" assumes nothing about them (docs/real-tables.md).',
}


def warnings_about(posterior: Posterior) -> tuple[str, ...]:
    """One sentence or two for each thing that may be wrong; empty when all is well."""
    found: list[str] = []
    finite = all(math.isfinite(row.mean) for row in posterior.summary())
    if not finite:
        found.append("Some draws are not finite numbers: do not use this posterior.")
    found += _about_the_rounds(posterior)
    found += _about_the_cells(posterior)
    found += _about_the_sampler(posterior)
    if posterior.method == "naive":
        found.append("The naive method ignores the noise that privacy added: its intervals are too narrow.")
    if finite:
        found += _about_the_data(posterior)
    if any(one.simulated for one in posterior.evidence):
        found.append("The release was simulated: it is about made-up rows.")
    return tuple(found)


def _about_the_cells(posterior: Posterior) -> list[str]:
    """What screens have counted in the columns that the releases read: it decides what all else is about."""
    several = len(posterior.screens) > 1
    return [
        f"{f'Dataset {screen.dataset}, ' if several else ''}{warning}"
        for screen in posterior.screens
        for warning in screen.warnings(posterior.plan.calibrated_mechanism().columns)
    ]


def _about_the_rounds(posterior: Posterior) -> list[str]:
    """Whether scores that were released are what the posterior predicts, and whether it reaches beyond them."""
    reach, misfit = posterior.diagnostic("reach"), posterior.diagnostic("misfit")
    if (
        reach is None
        or misfit is None
        or not all(isinstance(one.noise_parameters, ScoreNoise) for one in posterior.releases)
    ):
        return []
    from tacit.models.score_data import warnings

    entries = sum(len(one.values) for one in posterior.releases)
    return warnings(reach.reshape(-1, 1), misfit.reshape(-1, 1, 1), entries)


def _about_the_sampler(posterior: Posterior) -> list[str]:
    """Whether the chains agree, have drawn enough, and went everywhere."""
    found: list[str] = []
    rows = posterior.summary()
    worst = max((r.r_hat for r in rows if r.r_hat == r.r_hat), default=1.0)
    if worst > _LARGEST_R_HAT:
        found.append(f"The chains disagree (largest R-hat {worst:.3f}, above 1.01): draw more.")
    least = min((min(r.ess_bulk, r.ess_tail) for r in rows if r.ess_bulk == r.ess_bulk), default=math.inf)
    if least < _FEWEST_DRAWS:
        found.append(f"Few effective draws (least {least:.0f}, below 400): draw more.")
    diverging = posterior.diagnostic("diverging")
    divergent = 0.0 if diverging is None else float(diverging.mean())
    if divergent > _MOST_DIVERGING:
        found.append(f"{100 * divergent:.1f}% of the draws diverged: the sampler may have missed something.")
    return found


def _about_the_data(posterior: Posterior) -> list[str]:
    """Whether the release says something, and whether the bounds are wide enough, in the model's eyes."""
    import numpy as np

    found: list[str] = []
    model = posterior.plan.model
    shared = [name for name in posterior.arrays() if name not in model.site_parameters]
    before, after = posterior.prior_draws(1000), {name: posterior.draws(name) for name in shared}
    spreads = [np.std(after[name], axis=0) / np.std(before[name], axis=0) for name in after if name in before]
    if spreads and min(float(np.min(s)) for s in spreads) > _HARDLY_MOVED:
        found.append(
            "The release hardly says anything: no interval is clearly narrower than the prior's. There are too few "
            "rows for so small a budget."
        )
    clamped = {} if model.models_clamping else _clamped(posterior)
    if (moved := clamped.pop(BALL, 0.0)) > _MUCH_MOVED:
        found.append(
            f"About {100 * moved:.0f}% of the rows have covariates outside the ball, as the model sees it, and were "
            "moved into it. Coefficients then come out too large; a larger radius would cost more noise."
        )
    assumes = posterior.method in ("gaussian-covariates", "taylor")
    for column, share in clamped.items():
        if share > _MUCH_CLAMPED:
            found.append(
                f"About {100 * share:.0f}% of the values of {column} lie outside its bounds, as the model sees it, "
                "and were clamped. Results are about the clamped values; wider bounds would cost more noise. If you "
                f"know that hardly any do, the values are only not bell-shaped, {_IF_NOT_NORMAL[assumes]}"
            )
    return found


def _clamped(posterior: Posterior) -> dict[str, float]:
    """The largest share of each number that any site has outside its bounds, by the posterior mean of the
    distribution.
    """
    model, schema = posterior.plan.model, posterior.plan.schema
    arrays = {name: posterior.draws(name) for name in posterior.arrays()}
    every = slice(None, None, max(1, len(next(iter(arrays.values()))) // 50))
    dims = posterior.tree["posterior"].sizes
    most: dict[str, float] = {}
    for site in range(dims.get("site", 1)):
        own = {
            name: (values[every, site] if "site" in dims and name in model.site_parameters else values[every])
            for name, values in arrays.items()
        }
        for column, share in clamped_share(model, schema, own, rows=200, seed=0).items():
            most[column] = max(share, most.get(column, 0.0))
    return most
