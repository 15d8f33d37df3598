"""Waiting: imports, `tacit --help`, and what a person types, `tacit infer` and `tacit report`, from a cold start on.

Wall seconds from the start of the process to its end, and beside them what does not depend on who else is there: the
seconds of processor that the process used, and its largest resident set.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
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
    **{
        f"{family}, {count} covariates": f"tacit.{kind}('y ~ ' + ' + '.join({list('abcdefghij'[:count])})), "
        f"tacit.Schema(y={response}, **dict.fromkeys({list('abcdefghij'[:count])}, (-1, 1)))"
        for family, kind, response in (
            ("linear", "LinearRegression", "(-1, 1)"),
            ("logistic", "LogisticRegression", "['no', 'yes']"),
        )
        for count in (3, 10)
    },
}


def measure(quick: bool) -> list[dict[str, Any]]:
    repeats = 1 if quick else 5
    job = "import"
    rows = [{"job": job, "who": "tacit", **_times([sys.executable, "-c", "import tacit"], repeats), "target": 1.0}]
    for package, module in MODULES.items():
        row: dict[str, Any] = {"job": job, "who": package}
        if importlib.util.find_spec(package) is None:
            rows.append({**row, "note": "skipped: not installed"})
            continue
        rows.append({**row, **_times([sys.executable, "-c", f"import {module}"], repeats)})
    bare = _times([sys.executable, "-c", "pass"], repeats)
    rows.append({"job": "python -c pass", "who": "a bare interpreter", **bare})
    rows.append({"job": "tacit --help", "who": "tacit", **_times([TOOL, "--help"], repeats)})
    for name, plan in PLANS.items():
        rows += _infer(name, plan, 1 if quick else 3)
    return rows


def _times(
    command: list[str], repeats: int, environment: dict[str, str] | None = None, warm: bool = True
) -> dict[str, Any]:
    """The fields of a row: wall seconds, and in words the middle seconds of processor and the largest memory."""
    wall: list[float] = []
    processor: list[float] = []
    most = 0
    for repeat in range(repeats + warm):  # the first fills the file cache
        begin = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
        ) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        if repeat >= warm:
            wall.append(time.perf_counter() - begin)
            processor.append(used.ru_utime + used.ru_stime)
            most = max(most, used.ru_maxrss // 1024)
    return {"seconds": wall, "processor": processor, "note": f"{_middle(processor)}, {most} MiB"}


def _middle(processor: list[float]) -> str:
    return f"{statistics.median(processor):.2g} s of processor"


def _infer(name: str, plan: str, repeats: int) -> list[dict[str, Any]]:
    """From the start of the process to a saved posterior, and then to a page."""
    with tempfile.TemporaryDirectory() as folder:
        releases = {"empty": (1000, 1.0), "warm": (1000, 1.0), "warm from another n and epsilon": (1500, 0.5)}
        for n, epsilon in set(releases.values()):
            make = f"import tacit; p = tacit.Plan({plan}, tacit.PureDP({epsilon})); "
            make += f"tacit.simulate(p, n={n}, seed=0).release.save({f'{folder}/{n}.json'!r})"
            subprocess.run([sys.executable, "-c", make], capture_output=True, check=True)
        found: dict[str, list[dict[str, Any]]] = {}
        for repeat in range(repeats):
            cache = {"XDG_CACHE_HOME": f"{folder}/cache{repeat}"}
            for state, (n, _) in releases.items():
                files = [f"{folder}/{n}.json", "-o", f"{folder}/p.nc", "--overwrite"]
                job = f"tacit infer, {name}, cache {state}"
                found.setdefault(job, []).append(_times([TOOL, "infer", *files], 1, cache, warm=False))
            for state in ("empty", "warm"):
                files = [f"{folder}/p.nc", "-o", f"{folder}/p.html", "--overwrite"]
                job = f"tacit report, {name}, cache {state} of the report"
                found.setdefault(job, []).append(_times([TOOL, "report", *files], 1, cache, warm=False))
    return [{"job": job, "who": "tacit", **_joined(times)} for job, times in found.items()]


def _joined(times: list[dict[str, Any]]) -> dict[str, Any]:
    processor = [value for one in times for value in one["processor"]]
    memory = max(int(one["note"].split(", ")[1].split()[0]) for one in times)
    wall = [value for one in times for value in one["seconds"]]
    return {"seconds": wall, "processor": processor, "note": f"{_middle(processor)}, {memory} MiB"}
