"""What a reader should know before trusting a posterior: about the sampler, about the data, about the method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.models.logistic import LEARNED
from tacit.models.prior_draws import BALL, clamped_share
from tacit.models.replicated_sums import distances
from tacit.models.score_model import ScorePrior
from tacit.models.score_noise import ScoreNoise
from tacit.posterior.convergence import divergent, failure_of, finite
from tacit.posterior.cut_rows import FEW_TABLES, cut_rows

if TYPE_CHECKING:
    from tacit.posterior import Posterior

_LARGEST_R_HAT, _FEWEST_DRAWS, _SOME_DIVERGING = 1.01, 400, 0.001
_HARDLY_MOVED = 0.9  # of the prior's spread is left in every number
_FAR_FROM_PRIOR = 1.5  # of the prior's spreads, from its median to the posterior's
_MISFIT = 8.0  # standard deviations; Laplace noise alone is that far off once in 80,000 numbers
_MUCH_CLAMPED, _MUCH_MOVED = 0.01, 0.1  # of a column's values; of the rows
_MORE_THAN_EVEN = 0.1  # of a column's values


def warnings_about(posterior: Posterior) -> tuple[str, ...]:
    """One sentence or two for each thing that may be wrong, the gravest first; empty when all is well."""
    grave = grave_warnings_about(posterior)
    numbers, failure = finite(posterior), failure_of(posterior)
    found = [*grave, *_about_the_cells(posterior)]
    cuts = [cut for one in posterior.releases if (cut := cut_rows(one)) is not None]
    found += [said for cut in cuts if (said := cut.warning())]
    found += [FEW_TABLES] if cuts else []
    if failure is None:
        found += _about_the_sampler(posterior)
    if numbers:
        found += _about_the_data(posterior, fits=not _about_the_fit(posterior))
    if any(one.simulated for one in posterior.evidence):
        found.append("The release was simulated: it is about made-up rows.")
    return tuple(found)


def grave_warnings_about(posterior: Posterior) -> tuple[str, ...]:
    """Those that forbid trusting the intervals."""
    found = _about_the_rounds(posterior)
    found += _about_the_fit(posterior) if finite(posterior) else []
    failure = failure_of(posterior)
    if failure is not None:
        found.append(f"The chains failed, and these numbers must not be used. {failure}")
    if posterior.method == "naive":
        found.append("The naive method ignores the noise that privacy added: its intervals are too narrow.")
    return tuple(found)


def _about_the_fit(posterior: Posterior) -> list[str]:
    """Whether a released number lies far from what the posterior expects: then the model is wrong for these rows."""
    model, schema = posterior.plan.model, posterior.plan.schema
    releases = [one for one in posterior.releases if one.plan.mechanism.kind == "noise"]
    if not model.sums_must_fit or not releases:
        return []
    arrays = posterior.joined()
    sites = list(dict.fromkeys(one.dataset for one in posterior.evidence))
    several = "site" in posterior.parts.axes
    worst = ("", 0.0)
    for release in releases:
        site = sites.index(release.dataset)
        own = {n: v[:, site] if several and n in model.site_parameters else v for n, v in arrays.items()}
        values = [value / release.unit for value in release.values]
        sds = [float(sd) / release.unit for sd in release.noise.sd]
        n = max(1, round(release.noisy_n[0]))
        found = distances(model, release.plan.statistic(), schema, own, n, values, sds)
        for entry, distance in () if found is None else zip(release.entries, found, strict=True):
            if abs(distance) > abs(worst[1]):
                worst = (entry, float(distance))
    if abs(worst[1]) <= _MISFIT:
        return []
    return [
        f"The release does not fit the model: the released sum {worst[0]} is {abs(worst[1]):.0f} standard deviations "
        "from what this posterior expects. Do not trust its intervals. The columns are distributed differently than "
        "the model says, or the prior excludes what the rows say."
    ]


def _about_the_cells(posterior: Posterior) -> list[str]:
    """What screens have counted in the columns that the releases read: it decides what all else is about."""
    several = len(posterior.screens) > 1
    return [
        f"{f'Dataset {screen.dataset}, ' if several else ''}{warning}"
        for screen in posterior.screens
        for warning in screen.warnings(posterior.plan.reads)
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
    entries += sum(protocol.reports.size for one in posterior.surveys for protocol in one.protocols)
    return warnings(reach.reshape(-1, 1), misfit.reshape(-1, 1, 1), entries)


def _about_the_sampler(posterior: Posterior) -> list[str]:
    """Whether the chains agree, have drawn enough, and went everywhere."""
    found: list[str] = []
    rows = posterior.summary()
    worst = max((r.r_hat for r in rows if r.r_hat == r.r_hat), default=1.0)
    if worst > _LARGEST_R_HAT:
        found.append(f"The chains disagree (largest R-hat {worst:.3f}, above 1.01): ask for more draws.")
    least = min((min(r.ess_bulk, r.ess_tail) for r in rows if r.ess_bulk == r.ess_bulk), default=math.inf)
    if least < _FEWEST_DRAWS:
        found.append(f"Few effective draws (least {least:.0f}, below 400): ask for more draws.")
    share = divergent(posterior)
    if share > _SOME_DIVERGING:
        found.append(f"{100 * share:.1f}% of the draws diverged: the sampler may have missed something.")
    return found


def _about_the_data(posterior: Posterior, *, fits: bool) -> list[str]:
    """Whether the release says something, and whether the bounds are wide enough, in the model's eyes."""
    import numpy as np

    found: list[str] = []
    model = posterior.plan.model
    shared = [name for name in posterior.arrays() if name not in model.site_parameters]
    before, after = posterior.prior_draws(1000), {name: posterior.parameter(name) for name in shared}
    spreads, moves = [], []
    for name in after:
        if name in before:
            low, middle, high = np.quantile(before[name], [0.25, 0.5, 0.75], axis=0)
            own = np.quantile(after[name], [0.25, 0.5, 0.75], axis=0)
            spreads.append(np.min((own[2] - own[0]) / (high - low)))
            moves.append(np.max(np.abs(own[1] - middle) / (high - low)))
    if spreads and min(spreads) > _HARDLY_MOVED and fits:
        if max(moves) < _FAR_FROM_PRIOR:
            found.append(
                "The release hardly says anything: no interval is clearly narrower than the prior's. There are too few "
                "rows for so small a budget."
            )
        else:
            found.append(
                "The release and the prior contradict each other: the posterior lies where the prior has hardly any "
                "weight. Say a wider prior."
            )
    # Of coefficients alone a prior says nothing about covariates, and learned ones lie between their bounds.
    alone = isinstance(posterior.whole_prior(), ScorePrior) or posterior.method == LEARNED
    clamped = {} if model.models_clamping or alone else _clamped(posterior)
    if (moved := clamped.pop(BALL, 0.0)) > _MUCH_MOVED:
        found.append(
            f"About {100 * moved:.0f}% of the rows have covariates outside the ball, as the model sees it, and were "
            "moved into it. Coefficients then come out too large; a larger radius would cost more noise."
        )
    # Where any distribution will do, a share is told from even spread only above what even spread gives: 8.3%.
    least = _MUCH_CLAMPED if model.sums_must_fit else _MORE_THAN_EVEN
    shape = (
        " If you know that hardly any do, the values are not bell-shaped as this method assumes, and its answer is "
        "wrong for that reason."
        if model.sums_must_fit
        else ""
    )
    for column, share in clamped.items():
        if share > least:
            found.append(
                f"About {100 * share:.0f}% of the values of {column} lie outside its bounds, as the model sees it, "
                f"and were clamped. Results are about the clamped values; wider bounds would cost more noise.{shape}"
            )
    return found


def _clamped(posterior: Posterior) -> dict[str, float]:
    """The largest share of each number that any site has outside its bounds, by the posterior mean of the
    distribution.
    """
    model, schema = posterior.plan.model, posterior.plan.schema
    arrays = posterior.joined()
    every = slice(None, None, max(1, len(next(iter(arrays.values()))) // 50))
    sites = len(posterior.parts.coords["site"]) if "site" in posterior.parts.axes else 0
    most: dict[str, float] = {}
    for site in range(sites or 1):
        own = {
            name: (values[every, site] if sites and name in model.site_parameters else values[every])
            for name, values in arrays.items()
        }
        for column, share in clamped_share(model, schema, own, rows=200, seed=0).items():
            most[column] = max(share, most.get(column, 0.0))
    return most
