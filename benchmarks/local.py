"""Local reports: how long to 1,000 effective draws from a million reports, from a fresh process, compilation included.

    python benchmarks/local.py [--reports 1000000] [--epsilon 1] [case ...]

Effective draws: the least bulk effective sample size over all parameters, 4 chains together. Every case runs in a new
process with an empty compilation cache and starts from a file of simulated reports, so the time holds reading, counting
or binning the reports, compiling, and sampling:

    normal, exponential, poisson, geometric    Laplace noise on one number, or Gaussian noise where the case says so
    response 16, unary 16, unary 50            randomized response and unary encoding with so many levels

A run has a fixed length, which need not give 1,000 effective draws. The time is then scaled: what comes before the
first kept draw counts once, the rest in proportion.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TARGET = 1000
REPORTS, EPSILON = 1_000_000, 1.0
LIMIT = 900  # seconds a process may take
WARMUP, DRAWS, CHAINS = 300, 500, 4
CASES = (
    "normal",
    "normal, gaussian",
    "exponential",
    "poisson",
    "geometric",
    "response 16",
    "unary 16",
    "unary 50",
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
    empty: dict[str, Any] = {"seconds": None, "effective": None, "measured": None, "warm": None, "note": ""}
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--time", str(path), str(time.time())]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                env={**os.environ, "XDG_CACHE_HOME": cache},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {**empty, "note": f"stopped after {LIMIT} s"}
    if done.returncode:
        return {**empty, "note": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:200]}"}
    found = json.loads(done.stdout.splitlines()[-1])
    scaled = found["until"] + max(found["sampling"], 0.0) * (TARGET / found["effective"] - 1)
    return {
        "seconds": round(scaled, 1),
        "effective": round(found["effective"]),
        "measured": round(found["until"], 1),
        "warm": round(found["sampling"], 1),
        "note": f"R-hat {found['rhat']:.3f}",
    }


def _time(path: Path, started: float) -> dict[str, float]:
    """What runs in the fresh process; ``sampling`` is the draws' share of a second run, for which all is compiled."""
    import tacit

    sizes: dict[str, Any] = {"warmup": WARMUP, "draws": DRAWS, "chains": CHAINS}
    posterior = tacit.infer(path, seed=1, **sizes)
    until = time.time() - started
    again = time.time()
    tacit.infer(path, seed=2, **sizes)
    again = time.time() - again
    summary = posterior.summary()
    return {
        "until": until,
        "sampling": again * DRAWS / (WARMUP + DRAWS),
        "effective": min(row.ess_bulk for row in summary),
        "rhat": max(row.r_hat for row in summary),
    }


def main() -> None:
    if "--time" in sys.argv:
        print(json.dumps(_time(Path(sys.argv[-2]), float(sys.argv[-1]))))
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
