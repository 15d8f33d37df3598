"""Is the posterior calibrated? Simulation-based calibration through the whole path.

Draw parameters from the prior, rows from the model, a release from the rows, a posterior from the release. If all of
that is right, the rank of the true parameter among L independent posterior draws is uniform on 0..L (Talts et al. 2018,
Theorem 1). Any error on the way, in clamping, rounding, noise or inference, shows as ranks that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import expected
from tacit.infer import check_settings, method_name, posterior_arrays, problem_for
from tacit.models.model import Prior
from tacit.plan import Plan, as_plan
from tacit.simulate import simulate


@dataclass(frozen=True, eq=False)
class Calibration:
    """Ranks of the truth, one array (trials,) a parameter number, each rank in 0..``draws``."""

    ranks: Mapping[str, Any]
    draws: int

    def p_values(self) -> dict[str, float]:
        """For each number, the p-value of the Kolmogorov-Smirnov test that its ranks are uniform.

        Each rank is spread uniformly over its cell, which makes the null law exactly uniform.
        """
        from scipy.stats import kstest

        return {name: float(kstest(place, "uniform").pvalue) for name, place in self._positions().items()}

    def calibrated(self, level: float) -> bool:
        """Whether no number is rejected at ``level`` after Bonferroni: the false-alarm rate is at most ``level``."""
        p_values = self.p_values()
        return min(p_values.values()) >= level / len(p_values)

    def coverage(self, probability: float) -> dict[str, float]:
        """For each number, how often the central interval of that probability held the truth."""
        import numpy as np

        tail = (1 - probability) / 2
        return {name: float(np.mean((place > tail) & (place < 1 - tail))) for name, place in self._positions().items()}

    def _positions(self) -> dict[str, Any]:
        """Each rank as a number in [0, 1], spread uniformly over its cell (seeded): exactly uniform if all is well."""
        import numpy as np

        rng = np.random.default_rng(0)
        return {name: (ranks + rng.random(len(ranks))) / (self.draws + 1) for name, ranks in self.ranks.items()}


def calibrate(
    plan: Plan | str | Path,
    *,
    n: int,
    trials: int,
    seed: int = 0,
    method: str | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    draws: int = 99,
    thin: int | None = None,
    warmup: int = 300,
    progress: Callable[[int], None] | None = None,
) -> Calibration:
    """Simulate ``trials`` releases, infer all of them in one batched call, and rank each true parameter.

    Of every ``thin`` draws one is ranked, ``draws`` in all; left out, the method says how many make draws independent.
    """
    import numpy as np

    plan = as_plan(plan)
    chosen = method_name(plan.model, plan.schema, method)
    thin = thin if thin is not None else plan.model.methods[chosen].thin
    for name, value in (("trials", trials), ("thin", thin)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise expected(name, value, "to be a whole number, at least 1")
    settings = check_settings(warmup=warmup, draws=draws * thin, chains=1, seed=seed)
    problem = problem_for(plan.model, plan.schema, prior, n, plan.noise())
    truths: list[Mapping[str, Any]] = []
    values: list[tuple[int, ...]] = []
    for trial in range(trials):
        simulation = simulate(plan, n=n, seed=_trial_seed(seed, trial), prior=problem.prior)
        truths.append(simulation.parameters)
        values.append(simulation.release.values)
        if progress is not None:
            progress(1)
    arrays, _ = posterior_arrays(problem, chosen, settings, values, chains=1, seed=seed)
    rng = np.random.default_rng([seed, 1])
    ranks: dict[str, Any] = {}
    for name in (name for name in truths[0] if name in arrays):
        truth = np.array([np.ravel(t[name]) for t in truths])
        sample = arrays[name][:, 0, thin - 1 :: thin].reshape(trials, draws, -1)
        for i in range(truth.shape[1]):
            below = (sample[:, :, i] < truth[:, None, i]).sum(axis=1)
            ties = (sample[:, :, i] == truth[:, None, i]).sum(axis=1)
            ranks[name if truth.shape[1] == 1 else f"{name}[{i}]"] = below + rng.integers(0, ties + 1)
    return Calibration(ranks, draws)


def _trial_seed(seed: int, trial: int) -> int:
    import numpy as np

    return int(np.random.SeedSequence([seed, trial]).generate_state(1, np.uint64)[0] >> 1)
