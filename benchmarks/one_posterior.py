"""One draw from a beta-divergence posterior: how long from rows to draw, after compilation.

    python benchmarks/one_posterior.py

Logistic regression with two coefficients, and the other families, at 1,000 and 50,000 rows, through the code that a
release runs (`BetaLoss.draw`: modes, start, 250 steps of the no-U-turn sampler). Each time is the middle of three,
after one call that compiles; processor time is what it costs when other programs share the machine. The paper's Stan
models took 9 to 13 s a fit at 1,000 rows.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

ROWS = (1000, 50_000)
TIMES = 3


def rows() -> list[dict[str, Any]]:
    """One row a family and number of rows."""
    import numpy as np

    import tacit
    from tacit.boundary import collect
    from tacit.noise.entropy import OSEntropy
    from tacit.sources.open import open_source

    def free() -> dict[str, Any]:
        return {"bounds": [-1, 1], "clamp": False}

    table: list[dict[str, Any]] = []
    for n in ROWS:
        rng = np.random.default_rng(1)
        a, b = rng.standard_normal((2, n))
        u = a - 2 * b
        cases: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
            "logistic": (
                tacit.LogisticRegression("y ~ a + b - 1"),
                ["no", "yes"],
                np.where(rng.random(n) < 1 / (1 + np.exp(-u)), "yes", "no"),
                {},
            ),
            "softmax, 3 levels": (
                tacit.SoftmaxRegression("y ~ a + b"),
                ["p", "q", "r"],
                np.array(["p", "q", "r"])[np.digitize(u + rng.logistic(size=n), [-1.0, 1.0])],
                {},
            ),
            "linear": (tacit.LinearRegression("y ~ a + b"), [-10, 10], u + rng.standard_normal(n), {"sigma_min": 0.5}),
            "poisson": (tacit.PoissonRegression("y ~ a + b"), [0, 40], rng.poisson(np.log1p(np.exp(u))), {}),
        }
        for name, (model, response, y, options) in cases.items():
            mechanism = tacit.PosteriorSample(loss="beta-divergence", gamma=1e-9, assume="converged", options=options)
            schema = tacit.Schema(y=response, a=free(), b=free())
            plan = tacit.Plan(model, schema, tacit.ApproxDP(1.0, 1e-6), mechanism)
            calibrated = plan.calibrated_mechanism()
            source = open_source({"y": y, "a": a, "b": b}, calibrated.columns, schema)
            _, collected = collect(source, plan)
            begin = time.perf_counter()
            calibrated.cross(collected, n, OSEntropy())
            first = time.perf_counter() - begin
            spent: list[float] = []
            busy: list[float] = []
            for _ in range(TIMES):
                begin, start = time.perf_counter(), time.process_time()
                calibrated.cross(collected, n, OSEntropy())
                spent.append(time.perf_counter() - begin)
                busy.append(time.process_time() - start)
            row = {"family": name, "rows": n, "seconds": f"{statistics.median(spent):.2f}"}
            row |= {"processor seconds": f"{statistics.median(busy):.2f}", "with compilation": f"{first:.1f}"}
            table.append(row)
            print(table[-1], flush=True)
    return table


if __name__ == "__main__":
    rows()
