"""The approximation beside the real thing: one cell of a study, simulated and inferred in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.calibration.calibrate import calibrate
from tacit.design.families import PRIOR_DRAWS
from tacit.design.points import Points, noise_of
from tacit.errors import expected
from tacit.infer import prior_for
from tacit.mechanisms.newton import Newton
from tacit.models.linear import LinearRegression
from tacit.models.model import Prior
from tacit.models.prior_draws import prior_draws
from tacit.plan import Plan, as_plan


@dataclass(frozen=True, eq=False)
class Comparison:
    """Widths of 95% intervals by number, (trials,) each, at the same parameters: approximated, and inferred."""

    n: int
    approximate: Mapping[str, Any]
    inferred: Mapping[str, Any]

    def table(self) -> list[dict[str, Any]]:
        """For each number the median of both widths over the trials, and the median of their ratio."""
        import numpy as np

        return [
            {
                "name": name,
                "approximate": float(np.median(self.approximate[name])),
                "inferred": float(np.median(self.inferred[name])),
                "ratio": float(np.median(self.approximate[name] / self.inferred[name])),
            }
            for name in self.inferred
        ]


def compare(
    plan: Plan | str | Path,
    *,
    n: int,
    trials: int = 24,
    prior: Prior | Mapping[str, Any] | None = None,
    method: str | None = None,
    seed: int = 0,
) -> Comparison:
    """Simulate ``trials`` releases of n rows, infer them all, and approximate each at the parameters it had."""
    import numpy as np

    from tacit.design.numbers import numbers_of
    from tacit.design.regressions import by_normal_equations

    plan = as_plan(plan)
    if isinstance(plan.mechanism, Newton):
        raise expected("check", True, "to be left out: for scores in rounds the widths are those of inference in full")
    noise = noise_of(plan)
    whole = prior_for(plan.model, plan.schema, prior)
    draws = prior_draws(plan.model, plan.schema, whole, draws=PRIOR_DRAWS, seed=seed)
    found = calibrate(
        plan, n=n, trials=trials, seed=seed, prior=whole, method=method, draws=199, thin=1, keep_draws=True
    )
    shapes = {name: values.shape[1:] for name, values in draws.items()}
    truths = {name: _array(found.truths, name, shape) for name, shape in shapes.items() if _has(found.truths, name)}
    missing = [name for name in draws if name not in truths]
    if missing:  # a method may integrate some out; where the study looks they then do not matter much
        truths |= {name: draws[name][:trials] for name in missing}
    if by_normal_equations(plan):
        approximate = _by_normal_equations(plan, whole, truths, n, seed)
    else:
        points = Points.of(plan, draws, truths, seed)
        approximate, _ = points.widths(points.evidence(plan, noise).information(n))
    assert found.sample is not None
    sample = found.sample
    every = {name: _array(sample, name, shape) for name, shape in shapes.items() if _has(sample, name)}
    inferred: dict[str, list[float]] = {}
    for trial in range(trials):
        numbers = numbers_of(plan, {name: values[trial] for name, values in every.items()})
        for name, values in numbers.items():
            low, high = np.quantile(values, [0.025, 0.975])
            inferred.setdefault(name, []).append(float(high - low))
    kept = ~np.asarray(found.failed)
    return Comparison(
        n,
        {name: approximate[name][kept] for name in inferred},
        {name: np.array(values)[kept] for name, values in inferred.items()},
    )


def _by_normal_equations(plan: Plan, prior: Any, truths: Mapping[str, Any], n: int, seed: int) -> dict[str, Any]:
    """Widths by number, (trials,), at the moments that rows of each trial's parameters have."""
    import numpy as np

    from tacit.calibration.plausible_tables import ROWS, PlausibleTable
    from tacit.design.information import parsed_rows
    from tacit.design.normal_equations import normal_equations

    model, noise = plan.model, noise_of(plan)
    assert isinstance(model, LinearRegression)
    assert noise is not None
    columns, design = model.statistic(plan.schema).columns, model.design(plan.schema)
    tables: list[PlausibleTable] = []
    for trial in range(len(truths["theta"])):
        one = {name: values[trial] for name, values in truths.items()}
        cells = parsed_rows(plan, columns, one, ROWS, [seed, trial])
        tables.append(PlausibleTable(cells, np.asarray(design.matrix(cells)), one["theta"], float(one["sigma"])))
    found = normal_equations(plan, noise.sds(n), prior, tables, n)
    return {name: widths.width for name, widths in found.items()}


def _has(numbers: Mapping[str, Any], name: str) -> bool:
    return name in numbers or f"{name}[0]" in numbers


def _array(numbers: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Any:
    """One parameter's array again, from its single numbers as `Calibration` holds them."""
    import numpy as np

    size = int(np.prod(shape, dtype=int))
    flat = [numbers[name]] if size == 1 else [numbers[f"{name}[{i}]"] for i in range(size)]
    stacked = np.stack(flat, axis=-1)
    return stacked.reshape(*stacked.shape[:-1], *shape)
