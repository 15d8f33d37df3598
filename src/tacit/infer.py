"""From a release to a posterior. Nothing here can see a row, and nothing here costs privacy."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit._support.renamed import renamed_arguments
from tacit.cell_screen import Screen, as_screen
from tacit.errors import InputError, RefusedError, expected
from tacit.mechanisms.local import Local
from tacit.mechanisms.person import STAND_INS
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.models.coefficient_statements import of_single_coefficients
from tacit.models.cohort_method import CohortReports, cohort_numbers, settled_prior, survey_sums
from tacit.models.conjugate import ConjugateModel
from tacit.models.draw_parameters import FAILED, DrawParameters
from tacit.models.likelihood_method import likelihood_numbers
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.local import LocalModel
from tacit.models.method_names import current_method
from tacit.models.method_names import method_name as method_name
from tacit.models.model import Model, Prior, Problem, Site, Survey
from tacit.models.pooling import check_pools
from tacit.models.regression import Regression
from tacit.models.score_method import score_numbers
from tacit.models.score_model import ScorePrior
from tacit.models.score_noise import ScoreNoise
from tacit.models.score_reports import RowScore, of_scores
from tacit.models.score_round import ScoreLayout
from tacit.noise.noise import Noise
from tacit.plan import Plan
from tacit.posterior import Posterior
from tacit.posterior.parts import PosteriorParts
from tacit.posterior.score_sites import score_sites
from tacit.posterior.tree import check_screens, observed_data, posterior_axes
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.release import Release, as_release, check_disjoint
from tacit.release import sites_in_order as sites_in_order
from tacit.reports import Group, Reports, as_reports, is_reports_file
from tacit.runtime.chain import Chain, SamplerSettings
from tacit.runtime.forks import check_not_forked
from tacit.runtime.memory import check_address_space
from tacit.runtime.progress import Asked, percent
from tacit.runtime.quiet import quiet_compiler
from tacit.schema import Schema

_log = logging.getLogger(__name__)
_MOST_DRAWS = 10**7
_MOST_LEAPFROG_STEPS = 1024


AnyRelease = Release | Reports | str | Path
AnyScreen = Screen | str | Path


@renamed_arguments(leaps="num_leapfrog_steps")
def infer(
    release: AnyRelease | Sequence[AnyRelease],
    *,
    same_rows: bool = False,
    disjoint: bool = False,
    screen: AnyScreen | Sequence[AnyScreen] = (),
    method: str | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    seed: int = 0,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 500,
    num_leapfrog_steps: int | None = None,
    anyway: bool = False,
    progress: Asked = None,
) -> Posterior:
    """Draw from p(parameters | release), the noise that privacy added included.

    ``release`` is a release, local reports, or a list of both; a path may stand for either. Several releases of one
    model are pooled: each dataset, and each survey, is a site of its own, and nobody may be in two of them, which
    ``disjoint=True`` says. Releases about the same dataset share its exact sums, which ``same_rows=True`` confirms.
    ``screen`` is what `tacit.screen` has counted in the cells of a dataset (or its path, or a list with one for each
    dataset): it adds warnings, and no draw depends on it. ``method`` picks another sampler of the family, ``prior``
    changes some of the prior's numbers (or gives a whole prior), ``seed`` makes the draws repeatable: this side of the
    boundary nothing is secret.

    Hamiltonian trajectories go on until they turn back. ``num_leapfrog_steps`` gives all of them that many leapfrog
    steps instead. Where JAX runs on a GPU they have 16 unless something else is said: that does for most posteriors,
    and the effective draws and R-hat of the summary show where it does not.

    A posterior whose chains failed is refused: `RefusedError` says why and what to try, and the release stays as it is.
    ``anyway=True`` returns it all the same, with that as its first warning.

    ``progress`` is told how far it is, in percent: whole numbers that add up to 100. True shows a bar, False none, and
    left out there is one on a terminal and in a notebook. Most of the first run of a plan goes into compiling.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> release = tacit.simulate(plan, n=600, seed=1).release
    >>> posterior = tacit.infer(release, draws=500)
    >>> posterior.title
    'How many have smoker = yes?'

    ```
    """
    if not isinstance(anyway, bool):
        raise expected("anyway", anyway, "to be True or False")
    found, surveys = _evidence(release)
    releases = sites_in_order(found, same_rows=same_rows) if found else []
    check_disjoint(len(releases) + len({one.dataset for one in surveys}), disjoint)
    settings = check_settings(
        warmup=warmup, draws=draws, chains=chains, seed=seed, num_leapfrog_steps=num_leapfrog_steps
    )
    everything = [one for site in releases for one in site]
    plan = (everything or surveys)[0].plan
    for other in surveys:
        if (other.plan.model.unchecked, other.plan.schema) != (plan.model.unchecked, plan.schema):
            raise expected("reports", other.dataset, "to have the model and the schema of what they are pooled with")
    screens = [as_screen(one) for one in ([screen] if isinstance(screen, AnyScreen) else screen)]
    check_screens(screens, everything)
    groups = [(one.dataset, group) for one in surveys for group in one.groups]
    scored = survey_sums(cohorts_of(plan.model, groups)) if _of_scores(groups, central=bool(releases)) else []
    problem = Problem(
        plan.model,
        plan.schema,
        prior_of(plan, prior),
        (*(_site(site) for site in releases), *(Site(one.n, (), cohorts=one.layout) for one in scored)),
        () if scored else tuple(Survey(group.n, group.local_randomizer) for _, group in groups),
    )
    name = method_for(problem, method)
    check_pools(problem, name)
    _log.info("infer: %s by the method %s, %d chains of %d draws", plan.model.family, name, chains, draws)
    if scored:
        values, said = cohort_numbers(problem, scored), settled_prior(problem, scored)
    else:
        values, said = numbers_of(problem, everything), problem.prior
        for _, group in groups:
            values += list(summary_of(problem.model, group.local_randomizer, group.values))
    with percent(progress, "Compiling and sampling"):
        arrays, diagnostics = posterior_arrays(problem, name, settings, [values], chains=chains, seed=seed)
    evidence = [*everything, *(one.publish() for one in surveys)]
    dims, coords = posterior_axes(evidence)
    parts = PosteriorParts(
        {name: arrays[name][0] for name in dims if name in arrays},
        {name: array[0] for name, array in diagnostics.items()},
        dims,
        coords,
        observed_data(evidence),
        {
            "release": json.dumps([one.to_plain() for one in evidence], ensure_ascii=True, allow_nan=False),
            "prior": json.dumps(said.to_plain()),
            "method": name,
            "seed": str(seed),
            "warmup": str(warmup),
            "inference_library": "tacit",
            **({"screens": json.dumps([one.to_plain() for one in screens])} if screens else {}),
        },
    )
    posterior = Posterior(parts)
    _log.info("infer: drawn, seed %d", seed)
    if not anyway and (failure := posterior.failure()) is not None:
        raise RefusedError(failure)
    return posterior


def _site(releases: Sequence[Release]) -> Site:
    """The rows that some releases are about; posterior draws stand alone."""
    first = releases[0]
    if any(isinstance(one.noise_parameters, ScoreNoise) for one in releases):
        layouts = [one.noise_parameters.layout for one in releases if isinstance(one.noise_parameters, ScoreNoise)]
        if len(layouts) < len(releases) or len({layout.laplace for layout in layouts}) > 1:
            raise expected(
                "release",
                first.id,
                "to be pooled with releases of the same rows that have scores and noise of its kind",
            )
        matrix = tuple(one for layout in layouts for one in layout.matrix)
        return Site(first.n, (), rounds=replace(layouts[0], matrix=matrix))
    if not any(isinstance(one.noise_parameters, DrawParameters) for one in releases):
        if any(one.plan.filled for one in releases):
            raise expected("weight", None, STAND_INS)
        return Site(first.n, tuple(one.noise for one in releases))
    if len(releases) > 1:
        raise expected("release", len(releases), "to be one alone: posterior draws are not pooled with other releases")
    if FAILED in first.values:
        raise expected("release", first.id, "to hold draws: one of them failed, which its sampler may do")
    assert isinstance(first.noise_parameters, DrawParameters)
    return Site(first.n, (), first.noise_parameters)


def numbers_of(problem: Problem, releases: Sequence[Release]) -> list[Any]:
    """What a method is given of releases: their values, and with scores in rounds the points and scales, too."""
    if not any(site.rounds is not None for site in problem.sites):
        return [value for one in releases for value in one.values]
    sites = score_sites(releases)
    if isinstance(problem.model, LikelihoodModel):
        ((rounds, values, n),) = sites
        return likelihood_numbers(problem, rounds, values, n)
    return score_numbers(problem, sites)


def cohorts_of(model: Model, groups: Sequence[tuple[str, Group]]) -> list[CohortReports]:
    """What each group of reports of scores adds up to, with the name of its survey."""
    return [
        (dataset, group.local_randomizer, group.n, summary_of(model, group.local_randomizer, group.values))
        for dataset, group in groups
    ]


def _of_scores(groups: Sequence[tuple[str, Group]], *, central: bool) -> bool:
    """Whether reports are of scores; refuse them beside anything else."""
    scores = [of_scores(group.local_randomizer) for _, group in groups]
    if any(scores) and (central or not all(scores)):
        raise expected("reports", len(groups), "of scores to be pooled with other reports of scores alone")
    return any(scores)


def _evidence(given: Any) -> tuple[list[Release], list[Reports]]:
    """Releases and reports, told apart by what they are or by the suffix of their file."""
    several = [given] if isinstance(given, Release | Reports | str | Path) else given
    if not isinstance(several, Sequence) or not several:
        raise InputError("Expected release to be a Release, Reports, the path of one, or a list of these.")
    releases: list[Release] = []
    surveys: list[Reports] = []
    for one in several:
        if isinstance(one, Reports) or (not isinstance(one, Release) and is_reports_file(one)):
            surveys.append(as_reports(one))
        else:
            releases.append(as_release(one))
    return releases, surveys


def summary_of(model: Model, randomizer: LocalRandomizer, reports: Any) -> Any:
    """All that the family needs of reports."""
    assert isinstance(model, LocalModel)  # or the plan would have no client
    return model.summary(randomizer, reports)


def problem_for(model: Model, schema: Schema, prior: Prior | Mapping[str, Any] | None, n: int, noise: Noise) -> Problem:
    """Put together what a method needs for one release, the prior checked."""
    return Problem(model, schema, prior_for(model, schema, prior), (Site(n, (noise,)),))


def problem_of(plan: Plan, prior: Prior | Mapping[str, Any] | None, n: int) -> Problem:
    """What a method needs for n rows under a plan, as one release or as n reports."""
    whole = prior_of(plan, prior)
    if isinstance(plan.mechanism, Local):
        randomizer = plan.local_randomizer()
        if isinstance(randomizer.encoder, RowScore):
            layout = ScoreLayout(len(randomizer.encoder.sums.design), (randomizer.encoder.sums.matrix,), laplace=False)
            return Problem(plan.model, plan.schema, whole, (Site(n, (), cohorts=layout),))
        return Problem(plan.model, plan.schema, whole, (), (Survey(n, randomizer),))
    calibrated = plan.calibrated_mechanism()
    noise_parameters = calibrated.noise_parameters
    if isinstance(calibrated, ScoreRounds):
        matrix = tuple(share > 0 for share in calibrated.matrix)
        layout = ScoreLayout(len(calibrated.sums.coordinates), matrix, calibrated.sums.laplace)
        return Problem(plan.model, plan.schema, whole, (Site(n, (), rounds=layout),))
    said = n if calibrated.public_n else None
    site = (
        Site(n, (), noise_parameters) if isinstance(noise_parameters, DrawParameters) else Site(said, (plan.noise(),))
    )
    return Problem(plan.model, plan.schema, whole, (site,))


def prior_of(plan: Plan, prior: Prior | Mapping[str, Any] | None) -> Prior:
    """`prior_for` the plan's model, and then the public rows that a plan of posterior draws names: counted once."""
    mechanism = plan.mechanism
    default = mechanism.default_prior(plan.model, plan.schema)
    found = _changed(plan.model, plan.schema, default, prior)
    if isinstance(found, ScorePrior) and isinstance(plan.model, LikelihoodModel):
        x = plan.model.covariates(plan.schema)
        plan.model.coordinate_prior(found, (0.0,) * x, (1.0,) * x, plan.schema)  # refuses names that it does not have
    elif isinstance(found, ScorePrior) and isinstance(plan.model, Regression):
        of_single_coefficients(found.coefficients, plan.model.design(plan.schema))  # refuses what moves with others
    if not isinstance(mechanism, PosteriorSample) or not mechanism.public:
        return found
    assert isinstance(plan.model, ConjugateModel)  # or the plan would not be one
    return plan.model.with_public(found, mechanism.public, plan.schema)


def prior_for(model: Model, schema: Schema, prior: Prior | Mapping[str, Any] | None) -> Prior:
    """The family's default prior, that prior with some numbers changed, or another one of its kind."""
    return _changed(model, schema, model.default_prior(schema), prior)


def _changed(model: Model, schema: Schema, default: Prior, prior: Prior | Mapping[str, Any] | None) -> Prior:
    if prior is None:
        return default
    if isinstance(prior, Mapping):
        return model.changed_prior(default, prior, schema)
    if type(prior) is not type(default):
        named = ", ".join(f"{name!r}: {value!r}" for name, value in list(default.to_plain().items())[:2])
        example = f"{{{named}}}" if named else f"a {type(default).__name__}"
        raise expected(
            "prior", prior, f"to be a mapping of its numbers such as {example}, or a {type(default).__name__}"
        )
    return prior


def method_for(problem: Problem, method: str | None) -> str:
    """The method that was asked for, or the default one for the problem's evidence."""
    method = current_method(method)
    if any(site.sample is not None or site.scored for site in problem.sites):
        known = problem.methods
        if not known:
            raise expected(
                "family", problem.model.family, "to be one that is inferred from draws; `tacit draws` reads them"
            )
        if method is not None and method not in known:
            first = problem.sites[0]
            kind = "scores in rounds" if first.rounds else "reports of scores" if first.cohorts else "posterior draws"
            raise expected("method", method, f"to be one for {kind}: {', '.join(known)}")
        return method if method is not None else next(iter(known))
    central, local = bool(problem.sites), bool(problem.surveys)
    if method is None and local and not central:
        assert isinstance(problem.model, LocalModel)  # or there would be no reports
        usual = {problem.model.survey_method(one.local_randomizer) for one in problem.surveys}
        method = usual.pop() if len(usual) == 1 else None
    return method_name(
        problem.model,
        problem.schema,
        method,
        central=central,
        local=local,
        unknown_n=problem.unknown_n,
        sites=len(problem.sites) > 1,
        releases=any(len(site.noises) > 1 for site in problem.sites),
    )


def check_settings(
    *, warmup: int, draws: int, chains: int, seed: int, num_leapfrog_steps: int | None = None
) -> SamplerSettings:
    """Refuse sizes that make no sense."""
    for name, value, least in (("warmup", warmup, 0), ("draws", draws, 4), ("chains", chains, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise expected(name, value, f"to be a whole number, at least {least}")
    if seed >= 2**63:
        raise expected("seed", seed, "to be below 2^63")
    for name, value in (("chains", chains), ("draws", draws), ("warmup", warmup)):
        if (value if name == "chains" else value * chains) > _MOST_DRAWS:  # compiled code aborts for want of memory
            raise expected(name, value, f"to be at most {_MOST_DRAWS} of all chains together")
    if num_leapfrog_steps is not None and (
        isinstance(num_leapfrog_steps, bool)
        or not isinstance(num_leapfrog_steps, int)
        or not 1 <= num_leapfrog_steps <= _MOST_LEAPFROG_STEPS
    ):
        raise expected(
            "num_leapfrog_steps",
            num_leapfrog_steps,
            f"to be a whole number from 1 to {_MOST_LEAPFROG_STEPS}, or to be left out",
        )
    return SamplerSettings(warmup, draws, num_leapfrog_steps)


def posterior_arrays(
    problem: Problem, method: str, settings: SamplerSettings, values: Any, *, chains: int, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draws and diagnostics for many releases of one plan at once: arrays (releases, chains, draws, ...)."""
    import numpy as np

    check_not_forked()
    check_address_space()
    quiet_compiler()
    from tacit.runtime.backend import run

    central, unit = problem.released()
    released = np.array([[*(v / unit for v in row[:central]), *row[central:]] for row in values], np.float64)
    arrays, diagnostics = run(
        _chain(problem, method, settings), released, chains=chains, seed=seed, purpose=(problem, method, settings)
    )
    return {k: np.asarray(v) for k, v in arrays.items()}, {k: np.asarray(v) for k, v in diagnostics.items()}


@lru_cache(maxsize=64)
def _chain(problem: Problem, method: str, settings: SamplerSettings) -> Chain:
    """The same object for the same problem, so that what was compiled for it is found again."""
    return problem.methods[method].build(problem, settings)
