"""Waiting: `import tacit`, `tacit --help`, and `tacit infer` from a cold and a warm start, beside other imports."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOOL = str(Path(sys.executable).parent / "tacit")
MODULES = {"opendp": "opendp.prelude", "diffprivlib": "diffprivlib.models", "pymc": "pymc", "numpyro": "numpyro"}
MODULES["dp_accounting"] = "dp_accounting"
PLANS = {
    "a share of three": "tacit.Categorical('x'), tacit.Schema(x=['a', 'b', 'c'])",
    "linear, 3 covariates": "tacit.LinearRegression('y ~ a + b + c'), "
    "tacit.Schema(y=(-1, 1), a=(-1, 1), b=(-1, 1), c=(-1, 1))",
}


def measure(quick: bool) -> list[dict[str, Any]]:
    repeats = 1 if quick else 5
    job = "import"
    ours = _times([sys.executable, "-c", "import tacit"], repeats)
    rows = [{"job": job, "who": "tacit", "seconds": ours, "target": 1.0}]
    for package, module in MODULES.items():
        row: dict[str, Any] = {"job": job, "who": package}
        if importlib.util.find_spec(package) is None:
            rows.append({**row, "note": "skipped: not installed"})
            continue
        rows.append({**row, "seconds": _times([sys.executable, "-c", f"import {module}"], repeats)})
    rows.append(
        {
            "job": "python -c pass",
            "who": "a bare interpreter",
            "seconds": _times([sys.executable, "-c", "pass"], repeats),
        }
    )
    rows.append({"job": "tacit --help", "who": "tacit", "seconds": _times([TOOL, "--help"], repeats)})
    for name, plan in PLANS.items():
        rows += _infer(name, plan, 1 if quick else 3)
    return rows


def _times(
    command: list[str], repeats: int, environment: dict[str, str] | None = None, warm: bool = True
) -> list[float]:
    found: list[float] = []
    for repeat in range(repeats + warm):  # the first fills the file cache
        begin = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True, env={**os.environ, **(environment or {})})
        if repeat >= warm:
            found.append(time.perf_counter() - begin)
    return found


def _infer(name: str, plan: str, repeats: int) -> list[dict[str, Any]]:
    """From the start of the process to a saved posterior."""
    with tempfile.TemporaryDirectory() as folder:
        states = {"empty": (1000, 1.0), "warm": (1000, 1.0), "warm from another n and epsilon": (1500, 0.5)}
        found: dict[str, list[float]] = {state: [] for state in states}
        for n, epsilon in set(states.values()):
            make = f"import tacit; p = tacit.Plan({plan}, tacit.PureDP({epsilon})); "
            make += f"tacit.simulate(p, n={n}, seed=0).release.save({f'{folder}/{n}.json'!r})"
            subprocess.run([sys.executable, "-c", make], capture_output=True, check=True)
        for repeat in range(repeats):
            for state, (n, _) in states.items():
                command = [TOOL, "infer", f"{folder}/{n}.json", "-o", f"{folder}/p.nc", "--overwrite"]
                environment = {"XDG_CACHE_HOME": f"{folder}/cache{repeat}"}
                found[state] += _times(command, 1, environment, warm=False)
    jobs = {state: f"tacit infer, {name}, cache {state}" for state in found}
    return [{"job": jobs[state], "who": "tacit", "seconds": times} for state, times in found.items()]
