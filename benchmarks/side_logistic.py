"""Logistic regression: tacit beside the same model in PyMC and nutpie. `glm.py` says what each is and runs it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import glm
from side import Way, compare

WHYS = ("nutpie by JAX compiles about as long as tacit does, which is nearly all of either time", "", "")
HERE = Path(__file__).resolve().parent
COVARIATES = 3


def measure(quick: bool) -> list[dict[str, Any]]:
    ways = [
        Way("tacit", "tacit gaussian-covariates"),
        Way("nutpie, same model", "PyMC + nutpie", packages=("pymc", "nutpie")),
        Way("nutpie, same model, compiled by JAX", "nutpie, JAX", packages=("pymc", "nutpie")),
        Way("PyMC, same model", "PyMC", packages=("pymc",)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        glm.write_problem(Path(folder), COVARIATES, glm.ROWS)
        job = f"logistic, {COVARIATES} covariates, n = {glm.ROWS:,}"
        said: dict[str, Any] = {"quick": quick, "targets": (3.0, 2.0, 1.0), "whys": WHYS}
        return compare(job, str(HERE / "glm.py"), Path(folder), ways, **said)
