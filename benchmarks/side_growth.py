"""How the cost of inference grows: with rows, reports, covariates, statistics, chains and datasets.

A point is the time of a call after one that compiled. The exponent is the slope of log time against log size by least
squares: 0 does not grow, 1 is proportional. Effective draws of a call stand beside, as a chain that mixes worse would
hide its cost. `REMARKS` says what a curve goes through on its way.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

WARMUP, DRAWS = 300, 300
REMARKS = {
    "rows n": "NUTS at 100 and 10,000 rows; at 1,000,000 the noise is small, and fresh noise is proposed instead",
    "covariates d": "fresh noise at 1 and 2 covariates, NUTS at 4 and 8",
    "statistics": "fresh noise at 5 and 9, NUTS at 20 and 54",
    "reports N, normal, sampling": "the grid of reports gets finer with their number, up to 4,097 points",
}


def measure(quick: bool) -> list[dict[str, Any]]:
    def few(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return sizes[:2] if quick else sizes

    rows: list[dict[str, Any]] = []
    rows += _curve("rows n, linear, 3 covariates", few((100, 10_000, 1_000_000)), lambda n: _linear(3, n), quick)
    rows += _curve("covariates d, linear, n = 10,000", few((1, 2, 4, 8)), lambda d: _linear(d, 10_000), quick)
    rows += _curve("chains, linear, 3 covariates", few((1, 8, 64)), lambda c: _linear(3, 1000, chains=c), quick)
    rows += _curve("datasets at once, linear, 3 covariates", few((4, 32, 256)), lambda m: _linear(3, 1000, m), quick)
    rows += _curve("reports N, normal, sampling", few((10_000, 100_000, 1_000_000)), _reports, quick)
    rows += _curve("reports N, normal, summing up", few((100_000, 1_000_000)), _summing, quick)
    statistics_of = {d: (d + 2) * (d + 3) // 2 - 1 for d in (1, 2, 4, 8)}
    own = next(row for row in rows if row["job"].startswith("covariates") and "points" in row)
    found = [(statistics_of[d], t) for d, t in own["points"]]
    rows.append(_fitted("statistics released, linear, n = 10,000", found))
    return [{name: value for name, value in row.items() if name != "points"} for row in rows]


def _curve(
    job: str, sizes: tuple[int, ...], build: Callable[[int], Callable[[], float]], quick: bool
) -> list[dict[str, Any]]:
    """A row a size, and one with the exponent."""
    rows: list[dict[str, Any]] = []
    points: list[tuple[int, float]] = []
    for size in sizes:
        call = build(size)
        call()
        seconds, effective = [], 0.0
        for _ in range(1 if quick else 3):
            begin = time.perf_counter()
            effective = call()
            seconds.append(time.perf_counter() - begin)
        rows.append({"job": f"{job}: {size:,}", "who": "tacit", "seconds": seconds, "effective": effective or None})
        points.append((size, statistics.median(seconds)))
    return [*rows, _fitted(job, points)]


def _fitted(job: str, points: list[tuple[int, float]]) -> dict[str, Any]:
    x, y = [math.log(size) for size, _ in points], [math.log(seconds) for _, seconds in points]
    slope = statistics.linear_regression(x, y).slope
    shown = ", ".join(f"{size:,}: {seconds:.2g} s" for size, seconds in points)
    last = (y[-1] - y[-2]) / (x[-1] - x[-2])
    remark = next((text for start, text in REMARKS.items() if job.startswith(start)), None)
    return {
        "job": job,
        "who": "tacit, exponent",
        "quality": f"**exponent {slope:.2f}**" + (f", {last:.2f} between the last two" if len(points) > 2 else ""),
        "note": "; ".join(filter(None, [shown, remark])),
        "points": points,
    }


def _linear(d: int, n: int, datasets: int = 1, chains: int = 4) -> Callable[[], float]:
    """Posteriors of releases of a linear regression; one chain each where there are several datasets."""
    from dataclasses import replace

    import numpy as np
    from numpyro.diagnostics import effective_sample_size

    import tacit
    from tacit.infer import method_for, posterior_arrays, problem_of
    from tacit.runtime.chain import Settings

    names = [f"x{i + 1}" for i in range(d)]
    schema = tacit.Schema(y=(-1, 1), **dict.fromkeys(names, (-1, 1)))
    plan = tacit.Plan(tacit.LinearRegression(f"y ~ {' + '.join(names)}"), schema, tacit.PureDP(1.0))
    parameters = {
        "theta": np.array([0.1, *(0.4 / np.sqrt(d) * (-1) ** i for i in range(d))]),
        "sigma": 0.15,
        "mu_x": np.full(d, 0.1),
        "Sigma_x": 0.05 * np.eye(d) + 0.01,
    }
    made = min(n, 10_000)
    releases = [tacit.simulate(plan, n=made, seed=s, parameters=parameters).release for s in range(datasets)]
    if n > made:  # the sums of so many copies of these rows
        releases = [replace(r, n=n, values=tuple(v * (n // made) for v in r.values)) for r in releases]
    problem, settings = problem_of(plan, None, n), Settings(WARMUP, DRAWS, leaps=16 if datasets > 1 else None)
    method, values = method_for(problem, None), [r.values for r in releases]
    each = chains if datasets == 1 else 1

    def call() -> float:
        arrays, _ = posterior_arrays(problem, method, settings, values, chains=each, seed=1)
        found = [np.asarray(effective_sample_size(one)).min() for one in arrays["theta"]]
        return float(np.sum(found))

    return call


def _group(n: int) -> tuple[Any, Any]:
    import tacit

    plan = tacit.Plan(tacit.Normal("height"), tacit.Schema(height=(140, 210)), tacit.PureDP(1.0), tacit.Local())
    truth = {"mean": 172.0, "sd": 9.0}
    return plan, tacit.simulate(plan, n=n, seed=1, parameters=truth).release.groups[0]


def _summing(n: int) -> Callable[[], float]:
    plan, group = _group(n)

    def call() -> float:
        plan.model.summary(group.client, group.values)
        return 0.0

    return call


def _reports(n: int) -> Callable[[], float]:
    import numpy as np
    from numpyro.diagnostics import effective_sample_size

    from tacit.infer import method_for, posterior_arrays, problem_of
    from tacit.runtime.chain import Settings

    plan, group = _group(n)
    values = [list(plan.model.summary(group.client, group.values))]
    problem, settings = problem_of(plan, None, n), Settings(WARMUP, DRAWS)
    method = method_for(problem, None)

    def call() -> float:
        arrays, _ = posterior_arrays(problem, method, settings, values, chains=4, seed=1)
        return min(float(np.min(effective_sample_size(array[0]))) for array in arrays.values())

    return call
