"""How long a study of calibration takes: the default linear model, 500 replicates, n = 1000, three covariates.

    python benchmarks/calibration_sbc.py

Everything counts: imports, simulating, compiling, sampling, ranking. A fresh process is timed, with the threads that it
takes by itself, and with an empty cache of compiled programs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TRIALS, ROWS = 500, 1000
# Fewer than one value in 10,000 lies outside the bounds under this prior, as in calibration_linear.py.
_STUDY = """
import json, time
if __name__ == "__main__":
    started = time.perf_counter()
    import tacit
    from tacit.calibration.in_processes import calibrate_in_parts
    names = ["x1", "x2", "x3"]
    plan = tacit.Plan(
        tacit.LinearRegression("y ~ " + " + ".join(names)),
        tacit.Schema(y=(-1, 1), **dict.fromkeys(names, (-1, 1))),
        tacit.PureDP(1.0),
    )
    prior = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "kappa0": 20.0, "nu0": 32.0, "lambda0": (20.0, 5.0, 5.0, 5.0)}
    found = calibrate_in_parts(plan, n=%d, trials=%d, seed=1, prior=prior, processes=%d)
    seconds = time.perf_counter() - started
    p = found.p_values()
    covers = found.coverage(0.95).values()
    print(json.dumps({
        "seconds": round(seconds, 1),
        "least p, times the numbers": round(min(1.0, min(p.values()) * len(p)), 3),
        "95%% covers, percent": f"{100 * min(covers):.1f} to {100 * max(covers):.1f}",
        "failed": int(found.failed.sum()),
    }))
"""


def rows() -> list[dict[str, Any]]:
    return [_row(processes) for processes in sorted({1, min(2, os.cpu_count() or 1)})]


def _row(processes: int) -> dict[str, Any]:
    """One study in a fresh process, with an empty cache of compiled programs."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "study.py"
        script.write_text(_STUDY % (ROWS, TRIALS, processes))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "JAX_COMPILATION_CACHE_DIR": folder},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "study": f"linear, {TRIALS} replicates, n = {ROWS}, 3 covariates",
        "processes": processes,
        **json.loads(run.stdout.splitlines()[-1]),
        "seconds of processor": round(used, 1),
        "load before": round(os.getloadavg()[0], 1),
    }


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row))
