"""The calibration figure of bernstein2019 (Figure 3) with tacit's default method: every cell, 300 trials each.

`papers/bernstein2019.py` makes the figure; here its cells are timed in one fresh process with an empty cache,
simulating, compiling and ranking included. Beside it the paper's Gibbs sampler in plain numpy (`linear.numpy_gibbs`):
seconds of a sweep, measured here on a release of the same model, times the paper's 25,000 sweeps, 300 trials and the
number of cells.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import linear

ROOT = Path(__file__).resolve().parent.parent
CELLS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.01), (10, 1.0), (10, 10.0))
TRIALS, SWEEPS = 300, 25_000
_STUDY = """
import json, runpy, sys
sys.argv = ["bernstein2019.py"]
script = runpy.run_path({path!r}, run_name="figure")
found = [script["measure"]("wishart", n, e, {trials}, seed=2019) for n, e in {cells!r}]
print(json.dumps([max(one["ks"].values()) for one in found]))
"""


def measure(quick: bool) -> list[dict[str, Any]]:
    import numpy as np

    cells, trials = (CELLS[:1], 4) if quick else (CELLS, TRIALS)
    repeats = 1 if quick else 3
    seconds, worst = zip(*(_study(cells, trials) for _ in range(repeats)), strict=True)
    with tempfile.TemporaryDirectory() as folder:
        linear._write_problem(Path(folder), 1, 100)
        problem = dict(np.load(Path(folder) / "problem.npz"))
    sweeps: list[float] = []
    for seed in range(repeats):
        limit = 0.5 if quick else 4.0
        draws, spent = linear.numpy_gibbs(problem, limit, np.random.default_rng(seed))
        sweeps.append(spent / len(draws))
    job = f"{len(cells)} cells of {trials} trials"
    line = 1.358 / trials**0.5
    return [
        {
            "job": job,
            "who": "tacit",
            "seconds": seconds,
            "target": 100.0,
            "why": "simulating, compiling and ranking count for tacit, sweeps alone for the sampler",
            "quality": f"largest KS distance {max(worst):.3f}, 95% line {line:.3f}",
        },
        {
            "job": job,
            "who": "the paper's Gibbs sampler, numpy",
            "seconds": [one * SWEEPS * trials * len(cells) for one in sweeps],
            "note": f"extrapolated from {1e3 * float(np.median(sweeps)):.2f} ms a sweep, {SWEEPS:,} sweeps a trial",
        },
    ]


def _study(cells: Any, trials: int) -> tuple[float, float]:
    """Seconds of a fresh process with an empty cache, and the largest distance that it found."""
    with tempfile.TemporaryDirectory() as folder:
        script = _STUDY.format(path=str(ROOT / "papers" / "bernstein2019.py"), trials=trials, cells=cells)
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "JAX_COMPILATION_CACHE_DIR": folder},
        )
        return time.perf_counter() - begin, max(json.loads(done.stdout.splitlines()[-1]))
