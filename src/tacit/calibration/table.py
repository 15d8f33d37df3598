"""Does the posterior of a plan agree with what the rows of a public table say? Repeated releases of that one table.

`calibrate` makes up its rows from the model, so it cannot see what real rows, which no model made, do to a posterior.
This can. It is the one part of calibration that reads rows, and its result shows them: it is for public tables alone.
Noise comes from the operating system here too, so that a seed never meets rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.boundary import collect, needed
from tacit.calibration.own_posterior import from_likelihood, from_rows, from_sums
from tacit.errors import NO_ROWS, InputError, expected
from tacit.infer import check_settings, method_for, numbers_of, posterior_arrays, problem_of
from tacit.mechanisms.add_noise import AddNoise, NoisySums
from tacit.mechanisms.mechanism import CalibratedMechanism, Read
from tacit.mechanisms.request import Request
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Prior, Problem, Site
from tacit.models.moment_regression import MomentRegression
from tacit.noise.entropy import OSEntropy
from tacit.plan import Plan, as_plan
from tacit.privacy.guarantees import PureDP
from tacit.release import Release
from tacit.runtime.progress import Asked, percent, share, tell
from tacit.statistics.accumulator import Accumulator
from tacit.version import __version__

if TYPE_CHECKING:
    from tacit.engines.accepted import Table

LEVEL = 0.01
_HELD = 0.95
_BATCH_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class TableCalibration:
    """Repeated releases of one public table beside the table's own posterior; arrays have shape (releases,).

    ``own`` has the mean and the sd of the rows' own posterior, number by number. ``means``, ``sds`` and ``intervals``
    (lower and upper ends, central 95%) are those of the posteriors from releases. ``diverging`` is the share of draws
    that the sampler itself distrusts. ``level`` is the most that a right posterior is accused with.
    """

    plan: Plan
    method: str
    n: int
    releases: int
    seed: int
    level: float
    own: Mapping[str, tuple[float, float]]
    means: Mapping[str, Any]
    sds: Mapping[str, Any]
    intervals: Mapping[str, tuple[Any, Any]]
    diverging: float

    def __repr__(self) -> str:
        """The verdict, not the arrays."""
        return f"TableCalibration({self.plan.model.family}, n = {self.n}, {self.releases} releases: {self.verdict})"

    def rows(self) -> list[dict[str, Any]]:
        """One line a number.

        ``held`` is the share of 95% intervals with the rows' own posterior mean in them, and ``p`` the probability of
        so few if each holds it 95 times in 100 (binomial, times the numbers). ``spread`` is the root of the mean of
        (mean - own mean)^2 over the mean of sd^2 - own sd^2: about 1 where the noise is accounted for, above where an
        interval is too narrow for it, below where it is wide for other reasons. (Both means are over releases: of one
        release the difference of two sds that were estimated from draws may be anything.) ``ratio`` is the median of
        sd / own sd, and ``error`` the root mean square of (mean - own mean) / own sd.
        """
        import numpy as np
        from scipy.stats import binom

        lines: list[dict[str, Any]] = []
        for name, (own, own_sd) in self.own.items():
            (low, high), mean, sd = self.intervals[name], self.means[name], self.sds[name]
            held = int(np.sum((low <= own) & (own <= high)))  # an interval that is not a number holds nothing
            beyond = max(float(np.mean(sd**2)) - own_sd**2, (0.1 * own_sd) ** 2)
            lines.append(
                {
                    "number": name,
                    "own_mean": own,
                    "own_sd": own_sd,
                    "held": held / self.releases,
                    "p": min(1.0, float(binom.cdf(held, self.releases, _HELD)) * len(self.own)),
                    "spread": float(np.sqrt(np.mean((mean - own) ** 2) / beyond)),
                    "ratio": float(np.median(sd / own_sd)),
                    "error": float(np.sqrt(np.mean(((mean - own) / own_sd) ** 2))),
                }
            )
        return lines

    @property
    def holds(self) -> bool:
        """Whether no number's intervals held the rows' own posterior mean too seldom."""
        return all(row["p"] >= self.level for row in self.rows())

    @property
    def verdict(self) -> str:
        """``holds`` or ``does not hold``."""
        return "holds" if self.holds else "does not hold"

    def sentence(self) -> str:
        """The verdict in plain words."""
        rows = self.rows()
        worst = min(rows, key=lambda row: (row["held"], row["p"]))
        low, high = (f"{100 * pick(row['held'] for row in rows):.0f}" for pick in (min, max))
        held = f"held the rows' own posterior mean {low if low == high else f'{low} to {high}'} times in 100"
        start = f"In {self.releases:,} releases of the table's {self.n:,} rows the 95% intervals {held}"
        if self.holds:
            return f"{start}, which does not contradict 95."
        return f"{start}; for {worst['number']} that is too seldom (p = {worst['p']:.2g} over {len(rows)} numbers)."

    def to_plain(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "holds": self.holds,
            "sentence": self.sentence(),
            "method": self.method,
            "n": self.n,
            "releases": self.releases,
            "seed": self.seed,
            "level": self.level,
            "diverging": self.diverging,
            "numbers": [
                {k: v if isinstance(v, str) or math.isfinite(v) else None for k, v in row.items()}
                for row in self.rows()
            ],
            "plan": self.plan.to_plain(),
            "tacit": __version__,
        }

    def to_json(self) -> str:
        """`to_plain` as text."""
        return json.dumps(self.to_plain(), indent=2, ensure_ascii=True, allow_nan=False)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the JSON text."""
        from tacit._support.files import write_atomically

        return write_atomically(path, self.to_json().encode(), name="study", overwrite=overwrite)


def calibrate_table(
    plan: Plan | str | Path,
    table: Table,
    *,
    public: bool = False,
    releases: int = 100,
    seed: int = 0,
    method: str | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    level: float = LEVEL,
    draws: int = 500,
    warmup: int = 300,
    progress: Asked = None,
) -> TableCalibration:
    """Release a public table ``releases`` times, infer every release, and compare with the rows' own posterior.

    Never use it on private rows: nothing is charged to any ledger, and the result shows what the rows say without
    noise. ``public=True`` says that everybody may see them; without it nothing is read. ``table`` is whatever
    `privatize` takes, but for partials.

    The rows' own posterior has the same prior. For shares, one column and linear regression it is what the exact sums
    give, which is all that the likelihood needs of the rows. For logistic and Poisson regression, whose exact sums
    would give the answer of rows with normally distributed covariates, and for families that are a row's log-likelihood
    it comes from the likelihood of every row.

    ``seed`` makes the posterior draws repeatable; noise is new each time. ``level`` is the most that a posterior whose
    intervals hold the rows' own posterior mean 95 times in 100 is accused with, over all numbers together.
    """
    plan = as_plan(plan)
    if public is not True:
        raise InputError(
            "Expected public=True to say that everybody may see the rows of the table, because the result shows them."
        )
    _check(releases, level)
    settings = check_settings(warmup=warmup, draws=draws, chains=1, seed=seed)
    calibrated = _calibrated(plan)
    problem_of(plan, prior, 1)  # whatever is wrong with the prior is said before the table is read
    rows = _read(plan, table)
    problem = problem_of(plan, prior, rows.n)
    chosen = method_for(problem, method)
    own = _own(problem, calibrated, rows, seed)
    values = []
    once = (
        rows.into(calibrated.accumulator()) if isinstance(calibrated, NoisySums) else None
    )  # they are always the same
    with percent(progress, "Releasing, compiling and sampling"):
        with share(0.2):
            for _ in range(releases):
                values.append(_released(problem, plan, calibrated, rows.into if once is None else lambda _: once))
                tell(1 / releases)
        with share(0.8):
            arrays, info = posterior_arrays(problem, chosen, settings, values, chains=1, seed=seed)
    return _compared(
        own, {name: array[:, 0] for name, array in arrays.items()}, info, (plan, chosen, rows.n, releases, seed, level)
    )


def _check(releases: object, level: object) -> None:
    if isinstance(releases, bool) or not isinstance(releases, int) or not 2 <= releases <= 10**6:
        raise expected("releases", releases, "to be a whole number from 2 to a million")
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise expected("level", level, "to be a number between 0 and 1")


def _calibrated(plan: Plan) -> NoisySums | ScoreRounds:
    kind = plan.mechanism.kind
    found = None if kind == "local" else plan.calibrated_mechanism()
    if not isinstance(found, NoisySums | ScoreRounds):
        raise expected("kind", kind, 'of [mechanism] to be "noise" or "newton" for a study of a table')
    return found


class _Rows(Accumulator):
    """All parsed rows, and how often each counts. ``n`` is what a release would say."""

    def __init__(self) -> None:
        self.parts: list[tuple[Mapping[str, Any], int]] = []
        self.n = 0

    @property
    def batch_rows(self) -> int:
        return _BATCH_ROWS

    def add(self, columns: Mapping[str, Any], *, times: int = 1) -> None:
        if times:
            self.parts.append((columns, times))

    def into(self, empty: Accumulator) -> tuple[int, Accumulator]:
        """What reading the table into ``empty`` gives."""
        for columns, times in self.parts:
            empty.add(columns, times=times)
        return self.n, empty

    def whole(self) -> tuple[dict[str, Any], Any]:
        """Every column in one piece, and how often each row counts."""
        import numpy as np

        names = self.parts[0][0]
        sizes = [len(next(iter(columns.values()))) for columns, _ in self.parts]
        return (
            {name: np.concatenate([columns[name] for columns, _ in self.parts]) for name in names},
            np.repeat([float(times) for _, times in self.parts], sizes),
        )


def _read(plan: Plan, table: Any) -> _Rows:
    """The public rows, parsed and clamped as a release has them."""
    from tacit.sources.derived import open_rows

    columns, schema = needed(plan)
    source = open_rows(table, columns, schema, plan.row_filter)
    if source.has_no_rows(columns):
        raise InputError(NO_ROWS)
    found = _Rows()
    found.n, _ = collect(source, plan, empty=found)
    if plan.row_filter is not None and plan.mechanism.person is None:
        found.n = sum(len(next(iter(columns.values()))) for columns, _ in found.parts)  # those that pass
    return found


def _own(problem: Problem, calibrated: CalibratedMechanism, rows: _Rows, seed: int) -> dict[str, Any]:
    """Draws (draws, ...) of the rows' own posterior."""
    if isinstance(problem.model, MomentRegression):
        return from_rows(problem, *rows.whole(), seed=seed)
    if isinstance(problem.model, LikelihoodModel):
        return from_likelihood(problem, *rows.whole(), seed=seed)
    assert isinstance(calibrated, NoisySums)
    if problem.unknown_n:  # the rows themselves say it
        calibrated = AddNoise().calibrated_mechanism(Request(problem.model, problem.schema, PureDP(1.0)))
        problem = replace(problem, sites=(Site(rows.n, (calibrated.noise,)),))
    return from_sums(problem, rows.into(calibrated.accumulator())[1].totals, seed=seed)  # type: ignore[attr-defined]


def _released(problem: Problem, plan: Plan, calibrated: CalibratedMechanism, read: Read) -> list[Any]:
    """The numbers of one release. None is shown: only what is inferred from all of them is."""
    n, values, noise_parameters = calibrated.carry_out(read, OSEntropy())
    said, name = n if calibrated.public_n else None, "public-table"
    release = Release(plan=plan, n=said, values=values, noise_parameters=noise_parameters, dataset=name, id=name)
    return numbers_of(problem, [release])


def _compared(
    own: Mapping[str, Any], arrays: Mapping[str, Any], info: Mapping[str, Any], said: tuple[Any, ...]
) -> TableCalibration:
    """Sums of the draws (releases, draws, ...) of every number that the rows' own posterior leaves in doubt."""
    import numpy as np

    plan = said[0]
    # how covariates are distributed is nobody's question, and a model of it seldom fits
    shared = [name for name in own if name in arrays and name not in plan.model.site_parameters]
    theirs = _by_label(plan, {name: own[name][None] for name in shared})
    ours = _by_label(plan, {name: arrays[name] for name in shared})
    sums = {name: (float(x.mean()), float(x.std(ddof=1))) for name, x in theirs.items()}
    sums = {name: pair for name, pair in sums.items() if pair[1] > 0}  # a count of the rows is not in doubt
    with np.errstate(invalid="ignore"):  # draws that are not numbers have neither mean nor sd
        ends = {name: np.quantile(ours[name], [0.025, 0.975], axis=1) for name in sums}
        return TableCalibration(
            *said,
            own=sums,
            means={name: ours[name].mean(axis=1) for name in sums},
            sds={name: ours[name].std(axis=1, ddof=1) for name in sums},
            intervals={name: (pair[0], pair[1]) for name, pair in ends.items()},
            diverging=float(np.mean(info["diverging"])) if "diverging" in info else 0.0,
        )


def _by_label(plan: Plan, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Every number (releases, draws) by the name of its parameter and its labels along the axes."""
    import itertools

    dims, coords = plan.model.dims(plan.schema), plan.model.coords(plan.schema)
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        axes = [coords[axis] for axis in dims.get(name, ())]
        if tuple(map(len, axes)) != array.shape[2:]:
            axes = [[str(i) for i in range(size)] for size in array.shape[2:]]
        for place in itertools.product(*(range(len(axis)) for axis in axes)):
            labels = ", ".join(axis[i] for axis, i in zip(axes, place, strict=True))
            found[f"{name}[{labels}]" if labels else name] = array[(slice(None), slice(None), *place)]
    return found
