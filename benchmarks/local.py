"""Local reports: how long to 1,000 effective draws from a million reports, from a fresh process, compilation included.

    python benchmarks/local.py [--reports 1000000] [--epsilon 1] [case ...]

Effective draws: the least bulk effective sample size over all parameters, 4 chains together. Every case runs in a new
process with an empty compilation cache and starts from a file of simulated reports, so the time holds reading, counting
or binning the reports, compiling, and sampling:

    normal, exponential, poisson, geometric    Laplace noise on one number, or Gaussian noise where the case says so
    response 16, unary 16, unary 50            randomized response and unary encoding with so many levels
    logistic inputs                            two covariates with Gaussian noise, the label by randomized response

A run has a fixed length, which need not give 1,000 effective draws. The time is then scaled: what comes before the
first kept draw counts once, the rest in proportion.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fresh import tacit_times, timed

COLUMNS = ("seconds", "effective", "measured", "memory")
REPORTS, EPSILON = 1_000_000, 1.0
LIMIT = 900  # seconds a process may take
WARMUP, DRAWS, CHAINS = 300, 500, 4
if os.environ.get("TACIT_BENCH_QUICK"):  # does it run?
    WARMUP, DRAWS, CHAINS = 30, 30, 2
CASES = (
    "normal",
    "normal, gaussian",
    "exponential",
    "poisson",
    "geometric",
    "response 16",
    "unary 16",
    "unary 50",
    "logistic inputs",
)


def rows(cases: tuple[str, ...] = CASES, reports: int = REPORTS, epsilon: float = EPSILON) -> list[dict[str, Any]]:
    """One row a case."""
    table: list[dict[str, Any]] = []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reports.parquet"
            _write_reports(path, case, reports, epsilon)
            table.append({"case": case, "reports": reports, "epsilon": epsilon, **_measure(path)})
    return table


def _plan(case: str, epsilon: float) -> tuple[Any, dict[str, Any]]:
    import numpy as np

    import tacit

    schema = tacit.Schema(height=(140, 210), wait=(0, 30), visits=(0, 12), attempts=(0, 15))
    numbers: dict[str, tuple[Any, dict[str, Any]]] = {
        "normal": (tacit.Normal("height"), {"mean": 172.0, "sd": 9.0}),
        "exponential": (tacit.Exponential("wait"), {"rate": 0.1}),
        "poisson": (tacit.Poisson("visits"), {"rate": 3.5}),
        "geometric": (tacit.Geometric("attempts"), {"p": 0.2}),
    }
    family, _, detail = case.partition(", ")
    if family in numbers:
        model, truth = numbers[family]
        if detail == "gaussian":
            return tacit.Plan(model, schema, tacit.ZCDP(epsilon**2 / 2), tacit.Local("noisy-vector")), truth
        return tacit.Plan(model, schema, tacit.PureDP(epsilon), tacit.Local()), truth
    if case == "logistic inputs":
        inputs = tacit.Schema(y=["no", "yes"], a=(-1, 1), b=(-1, 1))
        plan = tacit.Plan(
            tacit.LogisticRegression("y ~ a + b"), inputs, tacit.ApproxDP(epsilon, 1e-6), tacit.Local("inputs")
        )
        return plan, {"theta": np.array([0.2, 1.0, -1.0]), "mu_x": np.zeros(2), "Sigma_x": 0.08 * np.eye(2)}
    kind, levels = case.split()
    names = [f"level {i}" for i in range(int(levels))]
    protocol = {"response": "randomized-response", "unary": "unary-encoding"}[kind]
    shares = 1 / np.arange(1, len(names) + 1)
    plan = tacit.Plan(
        tacit.Categorical("answer"), tacit.Schema(answer=names), tacit.PureDP(epsilon), tacit.Local(protocol)
    )
    return plan, {"theta": shares / shares.sum()}


def _write_reports(path: Path, case: str, reports: int, epsilon: float) -> None:
    import tacit

    plan, truth = _plan(case, epsilon)
    release: Any = tacit.simulate(plan, n=reports, seed=1, parameters=truth).release
    release.save(path)


def _measure(path: Path) -> dict[str, Any]:
    found = timed(__file__, str(path), limit=LIMIT)
    if "seconds" not in found:
        return {**dict.fromkeys(COLUMNS), **found}
    note = f"R-hat {found['rhat']:.3f}"
    return {**{name: found[name] for name in COLUMNS}, "warm": round(found["sampling"], 1), "note": note}


def main() -> None:
    if "--time" in sys.argv:
        sizes = {"warmup": WARMUP, "draws": DRAWS, "chains": CHAINS}
        import tacit

        path = Path(sys.argv[-2])
        normal = tacit.Reports.load(path).plan.model.family == "logistic"  # what the model beside it assumes of inputs
        method = "gaussian-covariates" if normal else None
        print(json.dumps(tacit_times(path, method, sizes, float(sys.argv[-1]), "")))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--reports", type=int, default=REPORTS)
    parser.add_argument("--epsilon", type=float, default=EPSILON)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="case")
    given = parser.parse_args()
    for case in given.cases:
        for row in rows((case,), given.reports, given.epsilon):
            print(" | ".join(f"{name} {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
