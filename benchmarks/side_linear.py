"""Linear regression: tacit beside the paper's Gibbs sampler in numpy, PyMC, nutpie and the exact record-level chain.

`linear.py` says what each is and runs it. All get the same release, epsilon = 1.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import linear
from side import Way, compare

HERE = Path(__file__).resolve().parent
TACIT = Way("tacit", "tacit wishart")
LEAPS = Way("tacit, leaps=16", "tacit wishart, leaps=16")
GIBBS = Way("the paper's Gibbs sampler, numpy", "numpy Gibbs", warm=0)
PYMC = Way("PyMC, marginal model", "PyMC", limit=240, packages=("pymc",))
NUTPIE = Way("nutpie, marginal model", "PyMC + nutpie", packages=("pymc", "nutpie"))
# As tacit has it; the chain of Ju, Awan, Gong and Rao 2022, which suits any release of sums.
RECORDS = Way("exact data augmentation, record by record", "tacit augment", warm=0, limit=150)
# Ahead of every peer from a cold and from a warm start; in sampling alone 100 times ahead of the Gibbs sampler.
COMPILING = "nearly all of tacit's time is starting and compiling, and the numpy sampler compiles nothing"
SWEEPS = "a draw of tacit costs tens of gradients, a sweep of the numpy sampler less than a millisecond"
SWEEPS += "; trajectories of one length, below, get there"
CASES = (
    (3, 1_000, [TACIT, LEAPS, GIBBS, NUTPIE, PYMC, RECORDS], (1.0, 1.0, 100.0)),
    (5, 100_000, [TACIT, GIBBS], (None, None, 100.0)),
)


def measure(quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for d, n, ways, targets in CASES:
        with tempfile.TemporaryDirectory() as folder:
            linear._write_problem(Path(folder), d, n)
            job = f"linear, {d} covariates, n = {n:,}"
            said: dict[str, Any] = {"quick": quick, "targets": targets, "whys": (COMPILING, COMPILING, SWEEPS)}
            said["against"] = ("", "", "Gibbs")
            rows += compare(job, str(HERE / "linear.py"), Path(folder), ways, **said)
    return rows
