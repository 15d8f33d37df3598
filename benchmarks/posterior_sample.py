"""Posterior draws: how long a plan takes to be priced, and how long a release takes once its program is compiled.

    python benchmarks/posterior_sample.py

Each release is made three times in one process; the first, with compilation, and the least of the others are shown.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import tacit


def cases() -> dict[str, tuple[tacit.Plan, Any]]:
    """A plan and rows for each line."""
    rng = np.random.default_rng(1)
    shares = {"x": list(np.where(rng.random(100_000) < 0.3, "yes", "no"))}
    yes_no = tacit.Schema(x=["no", "yes"])
    found: dict[str, tuple[tacit.Plan, Any]] = {
        "yes/no, 100,000 rows, exact": (
            tacit.Plan(tacit.Bernoulli("x"), yes_no, tacit.ApproxDP(1.0, 1e-5), tacit.PosteriorSample()),
            shares,
        )
    }
    for n, columns, sampler in (
        (1000, 2, "rejection"),
        (1000, 2, "mcmc"),
        (50_000, 5, "mcmc"),
        (50_000, 5, "rejection"),
    ):
        names = [f"x{i}" for i in range(columns)]
        schema = tacit.Schema(y=["no", "yes"], **dict.fromkeys(names, (-1, 1)))
        x = rng.uniform(-1, 1, (n, columns))
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-x.sum(axis=1))), "yes", "no")
        said = {"sampler": sampler, **({"gamma": 1e-9, "assume": "converged"} if sampler == "mcmc" else {})}
        model, budget = tacit.LogisticRegression("y ~ " + " + ".join(names)), tacit.ApproxDP(1.0, 1e-5)
        plan = tacit.Plan(model, schema, budget, tacit.PosteriorSample(**said))
        rows = {"y": list(y), **dict(zip(names, x.T, strict=True))}
        found[f"logistic, {n:,} rows, {columns} covariates, {sampler}"] = (plan, rows)
    return found


def rows() -> list[dict[str, Any]]:
    """One line a case, in seconds."""
    lines = []
    for name, (plan, data) in cases().items():
        start = time.perf_counter()
        tacit.Plan(plan.model, plan.schema, plan.budget, plan.mechanism).event()
        priced = time.perf_counter() - start
        taken = []
        for _ in range(3):
            start = time.perf_counter()
            tacit.privatize(data, plan, ledger=None)
            taken.append(time.perf_counter() - start)
        lines.append(
            {
                "case": name,
                "priced": f"{priced:.2f}",
                "first release": f"{taken[0]:.2f}",
                "next": f"{min(taken[1:]):.2f}",
            }
        )
    return lines


if __name__ == "__main__":
    for line in rows():
        print(line)
