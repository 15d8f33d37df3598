"""The seeded twin of the boundary: made-up rows from the model, through the same path, with repeatable noise.

This is the only module with a seeded source of noise. It makes its own rows and takes none, so a seed can never meet
somebody's data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.boundary import collect, needed
from tacit.calibration.misspecification import Disturbance
from tacit.errors import expected
from tacit.infer import check_settings, posterior_arrays, prior_for, problem_for, summary_of
from tacit.mechanisms.local import Local
from tacit.models.model import Prior
from tacit.plan import Plan, as_plan
from tacit.release import Release
from tacit.reports import Group, Reports
from tacit.statistics.collector import Sums

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
    """A simulated release with what a real one hides: the true parameters and the exact sums, where sums are taken."""

    release: Release | Reports
    parameters: Mapping[str, Any]
    exact: tuple[int, ...]

    def numbers(self) -> Any:
        """What a method is given: the released integers, or the summary of the reports."""
        if isinstance(self.release, Release):
            return self.release.values
        return [v for group in self.release.groups for v in summary_of(group.plan.model, group.client, group.values)]

    def non_private(self, *, seed: int = 0, draws: int = 1000, prior: Any = None) -> dict[str, Any]:
        """Draws (draws, ...) of the posterior that the exact statistic gives: what no noise would have bought."""
        release = self.release
        if not isinstance(release, Release):
            raise expected("kind", release.plan.mechanism.kind, "of [mechanism] to be one that takes sums of rows")
        problem = problem_for(release.plan.model, release.plan.schema, prior, release.n, release.noise)
        settings = check_settings(warmup=0, draws=draws, chains=1, seed=seed)
        arrays, _ = posterior_arrays(problem, "naive", settings, [self.exact], chains=1, seed=seed)
        return {name: array[0, 0] for name, array in arrays.items()}


def simulate(
    plan: Plan | str | Path,
    *,
    n: int,
    seed: int,
    parameters: Mapping[str, Any] | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    disturb: Disturbance | None = None,
) -> Simulation:
    """Draw parameters from the prior (unless given) and n rows, and release them as `privatize` would, but seeded.

    ``disturb`` makes the rows depart from the model; it cannot bring rows of its own.
    """
    import numpy as np

    from tacit.sources.open import open_source

    plan = as_plan(plan)
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST_ROWS:
        raise expected("n", n, f"to be a whole number of rows from 1 to {_MOST_ROWS}: they are all held in memory")
    check_settings(warmup=0, draws=4, chains=1, seed=seed)
    rng = np.random.default_rng(seed)
    if parameters is None:
        whole = prior_for(plan.model, plan.schema, prior)
        parameters, rows = plan.model.draw_together(whole, plan.schema, n, rng)
    else:
        rows = plan.model.draw_rows(dict(parameters), plan.schema, n, rng)
    if disturb is not None:
        rows = disturb.applied(rows, dict(parameters), plan.model, plan.schema, rng)
    if isinstance(plan.mechanism, Local):
        return Simulation(_reports(rows, plan, seed), parameters, ())
    person = plan.mechanism.person
    if person is not None:
        if n % person.max_rows:
            raise expected("n", n, f"to be a multiple of max_rows={person.max_rows}: everyone has that many rows")
        rows = {**rows, person.id: [i // person.max_rows for i in range(n)]}
    _, collected = collect(open_source(rows, *needed(plan)), plan)
    crossing = plan.crossing()
    release = Release(
        plan=plan,
        n=n,
        values=crossing.cross(collected, n, SeededEntropy(seed)),
        dataset=f"simulated-{seed}",
        id=f"simulated-{seed}",
        simulated=True,
    )
    return Simulation(release, parameters, tuple(collected.totals) if isinstance(collected, Sums) else ())


def _reports(rows: Any, plan: Plan, seed: int) -> Reports:
    import numpy as np

    from tacit.sources.open import open_source

    client, entropy = plan.client(), SeededEntropy(seed)
    batches = open_source(rows, client.columns, plan.schema).batches(plan.schema, client.columns, 2**16)
    values = np.concatenate([client.reports(batch.columns, entropy) for batch in batches if batch.rows])
    return Reports((Group(plan, client.protocol, values),), f"simulated-{seed}", simulated=True)
