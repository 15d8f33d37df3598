"""The seeded twin of the boundary: made-up rows from the model, through the same path, with repeatable noise.

This is the only module with a seeded source of noise. It makes its own rows and takes none, so a seed can never meet
somebody's data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit._support.renamed import renamed_arguments
from tacit.boundary import collect, needed
from tacit.calibration.misspecification import SHAPES, Misspecification
from tacit.errors import InputError, expected
from tacit.infer import (
    check_settings,
    cohorts_of,
    numbers_of,
    posterior_arrays,
    prior_for,
    prior_of,
    problem_for,
    problem_of,
    summary_of,
)
from tacit.mechanisms.local import Local
from tacit.mechanisms.person import PERSON
from tacit.models.cohort_method import cohort_numbers, survey_sums
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Prior
from tacit.models.moment_regression import MomentRegression
from tacit.models.score_model import ScorePrior
from tacit.models.score_rows import draw_score_rows
from tacit.plan import Plan, as_plan
from tacit.release import Release
from tacit.reports import Group, Reports
from tacit.statistics.accumulator import Accumulator, Sums

_MOST_ROWS = 10**8


class SeededEntropy:
    """A repeatable stand-in for the operating system's generator. Not secret, hence not private."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        self._generator = np.random.default_rng([seed, 0x7AC17])

    def bytes(self, count: int) -> bytes:
        """Return ``count`` pseudo-random bytes."""
        return self._generator.bytes(count)


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated release with what a real one hides: the true parameters and the exact sums, where sums are taken.

    ``n`` is the true number of rows, or of people where each counts once, whether the release says it or not.
    """

    release: Release | Reports
    parameters: Mapping[str, Any]
    exact: tuple[int, ...]
    n: int

    def numbers(self, prior: Prior | None = None) -> Any:
        """What a method is given: the released integers, or the summary of the reports; with scores the prior, too."""
        problem = problem_of(self.release.plan, prior, self.n)
        if isinstance(self.release, Release):
            return numbers_of(problem, [self.release])
        if problem.sites:  # of scores, which come with their points
            groups = [(self.release.dataset, group) for group in self.release.groups]
            return cohort_numbers(problem, survey_sums(cohorts_of(problem.model, groups)))
        return [
            v
            for group in self.release.groups
            for v in summary_of(group.plan.model, group.local_randomizer, group.values)
        ]

    def non_private(self, *, seed: int = 0, draws: int = 1000, prior: Any = None) -> dict[str, Any]:
        """Draws (draws, ...) of the posterior that the exact statistic gives: what no noise would have bought."""
        release = self.release
        if not isinstance(release, Release):
            raise expected("kind", release.plan.mechanism.kind, "of [mechanism] to be one that takes sums of rows")
        if release.n is None:
            raise InputError("Expected the release to say its number of rows, for the posterior without noise.")
        problem = problem_for(release.plan.model, release.plan.schema, prior, release.n, release.noise)
        settings = check_settings(warmup=0, draws=draws, chains=1, seed=seed)
        arrays, _ = posterior_arrays(problem, "naive", settings, [self.exact], chains=1, seed=seed)
        return {name: array[0, 0] for name, array in arrays.items()}


@renamed_arguments(disturb="misspecification")
def simulate(
    plan: Plan | str | Path,
    *,
    n: int,
    seed: int,
    parameters: Mapping[str, Any] | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    misspecification: Misspecification | None = None,
) -> Simulation:
    """Draw parameters from the prior (unless given) and n rows, and release them as `privatize` would, but seeded.

    Parameters of a regression whose rows would lie outside the bounds are drawn anew (`Model.within_bounds`).
    ``misspecification`` makes the rows depart from the model; it cannot bring rows of its own.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> tacit.simulate(plan, n=600, seed=1).release.n
    600

    ```
    """
    import numpy as np

    from tacit.sources.open import open_source

    plan = as_plan(plan)
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST_ROWS:
        raise expected("n", n, f"to be a whole number of rows from 1 to {_MOST_ROWS}: they are all held in memory")
    check_settings(warmup=0, draws=4, chains=1, seed=seed)
    rng = np.random.default_rng(seed)
    if isinstance(plan.mechanism.default_prior(plan.model, plan.schema), ScorePrior):
        parameters, rows = _scored(plan, prior, parameters, n, misspecification, rng)
    elif parameters is None:
        whole = prior_for(plan.model, plan.schema, prior)
        if misspecification is not None and misspecification.kind == "clamped":  # rows are to lie outside the bounds
            parameters = plan.model.draw_parameters(whole, plan.schema, rng)
            rows = plan.model.draw_rows(dict(parameters), plan.schema, n, rng)
        else:
            parameters, rows = plan.model.draw_together(whole, plan.schema, n, rng)
    else:
        rows = plan.model.draw_rows(dict(parameters), plan.schema, n, rng)
    if misspecification is not None:
        rows = misspecification.applied(rows, dict(parameters), plan.model, plan.schema, rng)
    if isinstance(plan.mechanism, Local):
        return Simulation(_reports(rows, plan, seed), parameters, (), n)
    person = plan.mechanism.person
    if person is not None:
        if person.weight is None and n % person.max_rows:
            raise expected("n", n, f"to be a multiple of max_rows={person.max_rows}: everyone has that many rows")
        own = 1 if person.weight == PERSON else person.max_rows
        rows = {**rows, person.id: [i // own for i in range(n)]}
    source = open_source(rows, *needed(plan))
    seen: list[Accumulator] = []

    def read(empty: Accumulator) -> tuple[int, Accumulator]:
        found = collect(source, plan, empty=empty)
        seen.append(found[1])
        return found

    _, values, noise_parameters = plan.calibrated_mechanism().carry_out(read, SeededEntropy(seed))
    release = Release(
        plan=plan,
        n=_said(plan, n),
        values=values,
        noise_parameters=noise_parameters,
        dataset=f"simulated-{seed}",
        id=f"simulated-{seed}",
        simulated=True,
    )
    exact = [total for one in seen if isinstance(one, Sums) for total in one.totals]
    return Simulation(release, parameters, tuple(exact), n)


def _said(plan: Plan, n: int) -> int | None:
    """n as a release says it."""
    return n if plan.calibrated_mechanism().public_n else None


def _scored(
    plan: Plan,
    prior: Any,
    parameters: Mapping[str, Any] | None,
    n: int,
    misspecification: Misspecification | None,
    rng: Any,
) -> tuple[Mapping[str, Any], Any]:
    """Coefficients and rows for scores in rounds, which say nothing about how covariates are distributed."""
    import numpy as np

    model, said = plan.model, prior_of(plan, prior)
    assert isinstance(said, ScorePrior)
    if misspecification is not None and misspecification.kind in SHAPES:
        raise expected(
            "misspecification",
            misspecification.kind,
            "to be another: covariates of all shapes are made up for scores anyway",
        )
    if isinstance(model, LikelihoodModel):
        parameters = model.draw_parameters(said, plan.schema, rng) if parameters is None else parameters
        return parameters, model.draw_rows(dict(parameters), plan.schema, n, rng)
    assert isinstance(model, MomentRegression)
    if parameters is None:
        p = len(model.design(plan.schema).columns)
        mean, sd = model.score_link(plan.schema).pinned(np.zeros(p), np.full(p, said.fixed().theta_sd))
        parameters = {"theta": mean + sd * rng.standard_normal(p)}
    return parameters, draw_score_rows(model, plan.schema, parameters["theta"], n, rng)


def _reports(rows: Any, plan: Plan, seed: int) -> Reports:
    import numpy as np

    from tacit.sources.open import open_source

    randomizer, entropy = plan.local_randomizer(), SeededEntropy(seed)
    batches = open_source(rows, randomizer.columns, plan.schema).batches(plan.schema, randomizer.columns, 2**16)
    values = np.concatenate([randomizer.reports(batch.columns, entropy) for batch in batches if batch.rows])
    return Reports((Group(plan, randomizer.protocol, values),), f"simulated-{seed}", simulated=True)
