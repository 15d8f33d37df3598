"""Is the posterior calibrated? Simulation-based calibration through the whole path.

Draw parameters from the prior, rows from the model, a release from the rows, a posterior from the release. If all of
that is right, the rank of the true parameter among L independent posterior draws is uniform on 0..L (Talts et al. 2018,
Theorem 1). Any error on the way, in clamping, rounding, noise or inference, shows as ranks that are not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit._support.renamed import renamed_arguments
from tacit.calibration.misspecification import Misspecification, as_misspecification
from tacit.calibration.ranks import counted_draws, ranks_of, without_others
from tacit.calibration.simulate import Simulation, simulate
from tacit.errors import InputError, did_you_mean, expected
from tacit.infer import check_settings, method_for, posterior_arrays, problem_of
from tacit.mechanisms.local import Local
from tacit.models.model import Prior
from tacit.models.score_model import ScorePrior
from tacit.plan import Plan, as_plan
from tacit.posterior.convergence import MOST_DIVERGING
from tacit.posterior.tree import LATENT_N
from tacit.runtime.progress import Asked, percent, share, tell

PROBABILITIES = (0.5, 0.8, 0.95)
_MANY_ROWS = 10_000  # from here on numpy's share of a simulation is large enough for threads to help


@dataclass(frozen=True, eq=False)
class Calibration:
    """What came out of the trials, number by number: every array has shape (trials,).

    ``ranks`` lie in 0..``draws``. ``truths`` are the parameters that the rows were drawn with; ``means``, ``sds`` and
    ``intervals`` belong to the posterior, the last by probability (0.5, 0.8, 0.95) and then by number as two arrays,
    the lower and the upper ends of central intervals. ``diagnostics`` are the sampler's own, averaged over each trial's
    draws. ``released`` (trials, entries) holds the noisy statistic in mapped units. ``failed`` marks trials with a draw
    that is not a finite number: their ranks count, as nothing is below such a draw, and their sums are left out.

    ``sample`` holds the ranked draws (trials, draws) where they were kept. ``non_private`` is the same study of the
    posterior that the exact statistic gives, where it was asked for.
    """

    ranks: Mapping[str, Any]
    draws: int
    truths: Mapping[str, Any]
    means: Mapping[str, Any]
    sds: Mapping[str, Any]
    intervals: Mapping[float, Mapping[str, tuple[Any, Any]]]
    diagnostics: Mapping[str, Any]
    released: Any
    failed: Any
    sample: Mapping[str, Any] | None = None
    non_private: Calibration | None = None

    def __repr__(self) -> str:
        """The size of the study and its worst number, not its arrays."""
        p = self.least_p()
        worst = min(p, key=lambda name: p[name])
        numbers = "1 number" if len(p) == 1 else f"{len(p)} numbers"
        return f"Calibration({len(self.failed)} trials, {numbers}, least p {p[worst]:.2g} for {worst})"

    def _repr_html_(self) -> str:
        from tacit.pages.notebook import calibration_card

        return calibration_card(self)

    @property
    def refused(self) -> Any:
        """The trials that `tacit.infer` would refuse, as most of their draws diverged or some are no finite numbers.

        Their ranks count all the same: a posterior must not be called calibrated because its failures are left out.
        """
        diverging = self.diagnostics.get("diverging")
        return self.failed if diverging is None else self.failed | (diverging > MOST_DIVERGING)

    def ks(self) -> dict[str, float]:
        """For each number, the Kolmogorov-Smirnov distance between its ranks and the uniform distribution."""
        return {name: float(test.statistic) for name, test in self._tests().items()}

    def p_values(self) -> dict[str, float]:
        """For each number, the p-value of the Kolmogorov-Smirnov test that its ranks are uniform.

        Each rank is spread uniformly over its cell, which makes the null distribution exactly uniform.
        """
        return {name: float(test.pvalue) for name, test in self._tests().items()}

    def least_p(self) -> dict[str, float]:
        """For each number, the least p-value of four tests, after Bonferroni over the tests of all numbers.

        They are the Kolmogorov-Smirnov test that ranks are uniform, and exact binomial tests of how often the intervals
        of each of `PROBABILITIES` held the truth. The former sees a bias best; intervals that are too narrow on both
        sides show in the latter.
        """
        from scipy.stats import binomtest

        trials, p_values = len(self.failed), self.p_values()
        covers = {probability: self.coverage(probability) for probability in PROBABILITIES}
        tests = (1 + len(PROBABILITIES)) * len(p_values)
        found: dict[str, float] = {}
        for name, p in p_values.items():
            held = [binomtest(round(covers[q][name] * trials), trials, q).pvalue for q in PROBABILITIES]
            found[name] = min(1.0, min(p, *map(float, held)) * tests)
        return found

    def calibrated(self, level: float) -> bool:
        """Whether no trial failed and `least_p` rejects no number; ``level`` is the most that a false alarm has."""
        _check_share("level", level)
        return not self.failed.any() and min(self.least_p().values()) >= level

    def coverage(self, probability: float) -> dict[str, float]:
        """For each number, how often the central interval of that probability held the truth.

        By ranks spread over their cells, so that any probability is met exactly if the posterior is right.
        """
        import numpy as np

        _check_share("probability", probability)
        tail = (1 - probability) / 2
        return {name: float(np.mean((place > tail) & (place < 1 - tail))) for name, place in self.positions().items()}

    def contraction(self) -> dict[str, float]:
        """For each number, 1 - (mean posterior variance) / (variance of the truths): 0 learnt nothing, 1 everything."""
        import numpy as np

        return {
            name: float(1 - np.mean(np.square(self.sds[name][~self.failed])) / np.var(truth, ddof=1))
            for name, truth in self.truths.items()
        }

    def width_ratio(self, probability: float = 0.95) -> dict[str, float]:
        """For each number, how many times wider privacy makes the interval: the median over trials."""
        import numpy as np

        _check_share("probability", probability)
        if probability not in self.intervals:
            raise expected("probability", probability, f"to be one of {', '.join(map(str, self.intervals))}")
        exact = self._exact().intervals[probability]
        private = self.intervals[probability]
        return {
            name: float(np.median(((high - low) / (exact[name][1] - exact[name][0]))[~self.failed]))
            for name, (low, high) in private.items()
            if name in exact
        }

    def mmd(self, names: Iterable[str] | None = None, *, bandwidth: float = 1.0) -> float:
        """The squared maximum mean discrepancy between private and non-private posterior, averaged over trials.

        For each trial the unbiased estimate of bernstein2019, section 4.2 (Gretton et al. 2012, Lemma 6), from its m
        = ``draws`` ranked draws p_i of the private and q_i of the non-private posterior of all ``names`` together,

            MMD^2 = 1/(m(m-1)) sum_{i != j} k(p_i, p_j) + k(q_i, q_j) - k(p_i, q_j) - k(p_j, q_i),

        with the normal kernel k(p, q) = exp(-|p - q|^2 / (2 bandwidth^2)), the paper's "standard normal kernel" at
        bandwidth 1. The distance is in mapped units, so the bandwidth is, too. It may be a little below 0.
        """
        import numpy as np

        exact = self._exact().sample
        if not (isinstance(bandwidth, int | float) and 0 < bandwidth < float("inf")):
            raise expected("bandwidth", bandwidth, "to be a positive number")
        assert self.sample is not None
        assert exact is not None
        shared = [name for name in self.sample if name in exact]
        chosen = shared if names is None else [names] if isinstance(names, str) else list(names)
        for name in chosen:
            if name not in shared:
                raise expected("names", name, f"to be some of {', '.join(shared)}{did_you_mean(name, shared)}")
        ours = np.stack([self.sample[name] for name in chosen], axis=2) / bandwidth
        theirs = np.stack([exact[name] for name in chosen], axis=2) / bandwidth
        return float(np.mean([_mmd_squared(ours[i], theirs[i]) for i in np.flatnonzero(~self.failed)]))

    def positions(self) -> dict[str, Any]:
        """Each rank as a number in [0, 1], spread uniformly over its cell (seeded): exactly uniform if all is well."""
        import numpy as np

        rng = np.random.default_rng(0)
        return {name: (ranks + rng.random(len(ranks))) / (self.draws + 1) for name, ranks in self.ranks.items()}

    def _tests(self) -> dict[str, Any]:
        from scipy.stats import kstest

        return {name: kstest(place, "uniform") for name, place in self.positions().items()}

    def _exact(self) -> Calibration:
        if self.non_private is None:
            raise InputError("Expected calibrate to be called with non_private=True for a comparison.")
        return self.non_private


@renamed_arguments(leaps="num_leapfrog_steps", disturb="misspecification")
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
    non_private: bool = False,
    keep_draws: bool = False,
    misspecification: Misspecification | str | None = None,
    num_leapfrog_steps: int | None = None,
    progress: Asked = None,
) -> Calibration:
    """Simulate ``trials`` releases, infer all of them with one compiled program, and rank each true parameter.

    Of every ``thin`` draws one is ranked, ``draws`` in all; left out, the method says how many make draws independent.
    Means, standard deviations and intervals are those of all draws. ``non_private`` also draws the posterior from the
    exact statistic of every trial, for comparison; it keeps the ranked draws, as ``keep_draws`` does.
    ``misspecification`` makes the rows depart from the model, see `Misspecification`. The same seed gives the same rows
    and noise to every method.

    Where a method follows Hamiltonian trajectories, ``num_leapfrog_steps`` gives all of them that many leapfrog steps.
    Left out, each goes on until it turns back, as in `tacit.infer`, and a whole batch waits for the longest: 16
    leapfrog steps can be several times faster, and are what a GPU takes. Where they are too few draws are not
    independent, and a right posterior is called uncalibrated.

    Where n is not public every trial has a number of rows of its own, Poisson with a mean that is uniform from n/2 to
    3n/2, and n is ranked like a parameter.

    With scores in rounds the width of the default prior follows from the release, and nothing could be drawn from it
    beforehand: coefficients have the standard deviation `tacit.models.score_model.USUAL_SD` here, unless ``prior`` has
    a ``theta_sd``.

    Parameters whose rows would lie outside the bounds are not drawn, and draws of them are not looked at, where a
    family says which they are (`Model.within_bounds`).

    ``progress`` is told how far it is, in percent, as in `tacit.infer`.
    """
    plan = as_plan(plan)
    local = isinstance(plan.mechanism, Local)
    problem = problem_of(plan, prior, n)
    if non_private and not local and not plan.calibrated_mechanism().public_n:
        raise expected("non_private", non_private, "to be left out where n is not public")
    if isinstance(problem.prior, ScorePrior):
        problem = replace(problem, prior=problem.prior.fixed())
    chosen = method_for(problem, method)
    thin = thin if thin is not None else problem.methods[chosen].thin
    for name, value in (("trials", trials), ("thin", thin)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise expected(name, value, "to be a whole number, at least 1")
    few = check_settings(warmup=warmup, draws=draws, chains=1, seed=seed, num_leapfrog_steps=num_leapfrog_steps)
    try:
        settings = check_settings(
            warmup=warmup, draws=draws * thin, chains=1, seed=seed, num_leapfrog_steps=num_leapfrog_steps
        )
    except InputError:
        raise expected("draws", draws, f"to be fewer, as {thin} are drawn for each one that is ranked") from None
    departure = None if misspecification is None else as_misspecification(misspecification)
    within = None if departure is not None and departure.kind == "clamped" else plan
    if departure is not None:
        restated = departure.restated(plan.model, plan.schema, problem.prior)
        problem = problem_of(plan, restated, n)
    keep, seeds = keep_draws or non_private, [_trial_seed(seed, trial) for trial in range(trials)]
    with percent(progress, "Simulating, compiling and sampling"):
        simulations: list[Simulation] = []
        with share(0.2):
            for one in _simulations(plan, n, seeds, problem.prior, departure):
                simulations.append(one)
                tell(1 / trials)
        drawn = {name: [s.parameters[name] for s in simulations] for name in simulations[0].parameters}
        if problem.unknown_n:
            drawn[LATENT_N] = [s.n for s in simulations]
        truths = _by_number(drawn, 0)
        values = [s.numbers(problem.prior) for s in simulations]
        exact = None
        if non_private:
            # Another seed: private and non-private draws are independent, also where both come from the same formula.
            sums, other = [s.exact for s in simulations], _trial_seed(seed, trials)
            with share(0.2):
                found = posterior_arrays(problem, "naive", few, sums, chains=1, seed=other)
            asked: dict[str, Any] = {"within": within, "draws": draws, "thin": 1, "keep": True, "seed": other}
            exact = _studied(found, truths, sums, plan.statistic().unit, **asked)
        with share(0.6 if non_private else 0.8):
            found = posterior_arrays(problem, chosen, settings, values, chains=1, seed=seed)
        unit = 1 if isinstance(plan.mechanism, Local) else problem.released()[1]
        asked = {"within": within, "draws": draws, "thin": thin, "keep": keep, "seed": seed}
        return _studied(found, truths, values, unit, **asked, non_private=exact)


def _simulations(
    plan: Plan, n: int, seeds: Sequence[int], prior: Prior, departure: Misspecification | None
) -> Iterator[Simulation]:
    """One simulated release a seed, in order."""

    def one(seed: int) -> Simulation:
        return simulate(plan, n=_rows(plan, n, seed), seed=seed, prior=prior, misspecification=departure)

    yield one(seeds[0])  # alone, so that what it imports is there when threads need it
    if n < _MANY_ROWS:
        yield from map(one, seeds[1:])
        return
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        yield from pool.map(one, seeds[1:])


def _rows(plan: Plan, n: int, seed: int) -> int:
    """n, or where that is not public about as many."""
    import numpy as np

    if isinstance(plan.mechanism, Local) or plan.calibrated_mechanism().public_n:
        return n
    rng = np.random.default_rng([seed, 2])
    return max(1, int(rng.poisson(rng.uniform(0.5, 1.5) * n)))


def _studied(
    found: tuple[Mapping[str, Any], Mapping[str, Any]],
    truths: Mapping[str, Any],
    values: Sequence[Sequence[int]],
    unit: int,
    *,
    within: Plan | None = None,
    draws: int,
    thin: int,
    keep: bool,
    seed: int,
    non_private: Calibration | None = None,
) -> Calibration:
    """Rank every truth among the draws of its trial, and sum the draws up: those that are ``within`` the bounds."""
    import numpy as np

    arrays, diagnostics = found
    rng = np.random.default_rng([seed, 1])
    counted = None if within is None else counted_draws(within.model, within.schema, {**diagnostics, **arrays})
    numbers = _by_number({name: array[:, 0] for name, array in arrays.items()}, 1)
    numbers = {name: numbers[name] for name in truths if name in numbers}
    ranks = {name: ranks_of(one, truths[name], counted, thin=thin, rng=rng) for name, one in numbers.items()}
    failed = np.any([~np.isfinite(sample).all(axis=1) for sample in numbers.values()], axis=0)
    sample = {name: one[:, thin - 1 :: thin].copy() for name, one in numbers.items()} if keep else None
    numbers = without_others(numbers, counted)
    quantile, mean, sd = (np.quantile, np.mean, np.std) if counted is None else (np.nanquantile, np.nanmean, np.nanstd)
    intervals: dict[float, dict[str, tuple[Any, Any]]] = {}
    for probability in PROBABILITIES:
        tail = (1 - probability) / 2
        ends = {name: quantile(one, [tail, 1 - tail], axis=1) for name, one in numbers.items()}
        intervals[probability] = {name: (pair[0], pair[1]) for name, pair in ends.items()}
    with np.errstate(invalid="ignore"):  # a failed trial has no standard deviation
        sds = {name: sd(one, axis=1, ddof=1) for name, one in numbers.items()}
    return Calibration(
        ranks=ranks,
        draws=draws,
        truths={name: truths[name] for name in numbers},
        means={name: mean(one, axis=1) for name, one in numbers.items()},
        sds=sds,
        intervals=intervals,
        diagnostics={name: np.mean(array, axis=tuple(range(1, array.ndim))) for name, array in diagnostics.items()},
        released=np.array([[value / unit for value in row] for row in values]),
        failed=failed,
        sample=sample,
        non_private=non_private,
    )


def _by_number(arrays: Mapping[str, Any], axes: int) -> dict[str, Any]:
    """Every number of every parameter by its name: behind the trials and ``axes`` more come the parameter's own."""
    import numpy as np

    found: dict[str, Any] = {}
    for name, array in arrays.items():
        flat = np.asarray(array)
        flat = flat.reshape(*flat.shape[: axes + 1], -1)
        for i in range(flat.shape[-1]):
            found[name if flat.shape[-1] == 1 else f"{name}[{i}]"] = flat[..., i]
    return found


def _mmd_squared(p: Any, q: Any) -> float:
    """The unbiased estimate for two samples (m, numbers), bandwidth 1; pairs i = j are left out."""
    import numpy as np

    def total(a: Any, b: Any) -> float:
        squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None, :] - 2 * a @ b.T
        kernel = np.exp(-np.maximum(squares, 0) / 2)
        return float(kernel.sum() - np.trace(kernel))

    m = len(p)
    return (total(p, p) + total(q, q) - 2 * total(p, q)) / (m * (m - 1))


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise expected(name, value, "to be a number between 0 and 1")


def _trial_seed(seed: int, trial: int) -> int:
    import numpy as np

    return int(np.random.SeedSequence([seed, trial]).generate_state(1, np.uint64)[0] >> 1)
