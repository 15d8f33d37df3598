"""Private gradient descent: how far its end is from the truth by loss, and how long it takes.

    python benchmarks/dp_sgd.py [--repeats 20]

The first table: a logistic regression with coefficients 0.5, 1.5 and -1, and a linear one with 0.2, 0.5 and -0.3 and a
standard deviation of 0.2 around it, in mapped units; covariates uniform on (-1, 1), delta = 1e-5, everything else as a
plan leaves it. A number is the mean over repeats of |estimate - truth| with its standard error; a column sees the same
data all through. The second table: a network with ``hidden`` units, 8 covariates, 8,192 rows, one release after the
first, which compiles. Noise comes from the operating system, so that a second run differs within the errors.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

DELTA, SEED, REPEATS = 1e-5, 2016, 20
COLUMNS = ((1.0, 1_000), (1.0, 10_000), (5.0, 1_000))  # epsilon, rows
LOGISTIC, LINEAR = (0.5, 1.5, -1.0), (0.2, 0.5, -0.3)
SIZES = ((10, 256, 1000), (50, 256, 1000), (10, 8192, 100))  # units, batch, steps


def data(n: int, repeat: int) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng([SEED, n, repeat])
    a, b = rng.uniform(-1, 1, (2, n))
    chances = 1 / (1 + np.exp(-(LOGISTIC[0] + LOGISTIC[1] * a + LOGISTIC[2] * b)))
    z = LINEAR[0] + LINEAR[1] * a + LINEAR[2] * b + 0.2 * rng.standard_normal(n)
    return {"a": a, "b": b, "y": np.where(rng.random(n) < chances, "yes", "no").tolist(), "z": np.clip(z, -2, 2)}


def plans(epsilon: float, n: int) -> dict[str, Any]:
    import tacit

    schema = tacit.Schema(y=["no", "yes"], z=(-1, 1), a=(-1, 1), b=(-1, 1))
    logistic, linear = tacit.LogisticRegression("y ~ a + b"), tacit.LinearRegression("z ~ a + b")
    ways = {
        "log-likelihood, clip 1": {},
        "beta-divergence, proved bound": {"loss": "beta-divergence"},
        "beta-divergence, clip 1": {"loss": "beta-divergence", "clip": 1.0},
    }
    found: dict[str, Any] = {}
    for family, model, options in (("logistic", logistic, {}), ("linear", linear, {"sigma_min": 0.05})):
        for name, way in ways.items():
            mechanism = tacit.DPSGD(n=n, options=options, **way)
            found[f"{family}, {name}"] = tacit.Plan(model, schema, tacit.ApproxDP(epsilon, DELTA), mechanism)
    return found


def accuracy(repeats: int) -> list[dict[str, Any]]:
    """One row a family and loss."""
    import numpy as np

    import tacit

    table: dict[str, dict[str, Any]] = {}
    for epsilon, n in COLUMNS:
        for name, plan in plans(epsilon, n).items():
            truth = np.array(LOGISTIC if name.startswith("logistic") else LINEAR)
            off = [
                float(
                    np.linalg.norm(
                        tacit.released_draws(tacit.privatize(data(n, i), plan, ledger=None)).values[0, :3] - truth
                    )
                )
                for i in range(repeats)
            ]
            row = table.setdefault(name, {"descent": name})
            row[f"epsilon {epsilon:g}, {n:,} rows"] = f"{np.mean(off):.3f} ± {np.std(off, ddof=1) / repeats**0.5:.3f}"
            print(name, epsilon, n, row, flush=True)
    return list(table.values())


def seconds() -> list[dict[str, Any]]:
    """One row a size."""
    import numpy as np

    import tacit

    n, rng = 8192, np.random.default_rng(SEED)
    names = [f"x{i}" for i in range(8)]
    x = rng.uniform(-1, 1, (n, 8))
    some = {**dict(zip(names, x.T, strict=True)), "z": np.clip(np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2], -3, 3)}
    schema = tacit.Schema(z=(-3, 3), **dict.fromkeys(names, (-1, 1)))
    found: list[dict[str, Any]] = []
    for hidden, batch, steps in SIZES:
        model = tacit.Network(f"z ~ {' + '.join(names)}", hidden=hidden)
        mechanism = tacit.DPSGD(n=n, batch=batch, steps=steps, options={"sigma_min": 0.1})
        plan = tacit.Plan(model, schema, tacit.ApproxDP(1.0, DELTA), mechanism)
        times: list[float] = []
        for _ in range(4):
            started = time.perf_counter()
            tacit.privatize(some, plan, ledger=None)
            times.append(time.perf_counter() - started)
        found.append(
            {
                "units": hidden,
                "batch": batch,
                "steps": steps,
                "seconds, first": f"{times[0]:.1f}",
                "seconds": f"{np.median(times[1:]):.1f}",
            }
        )
        print(found[-1], flush=True)
    return found


def rows(repeats: int = REPEATS) -> list[dict[str, Any]]:
    """Both tables."""
    return [*accuracy(repeats), *seconds()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    rows(parser.parse_args().repeats)


if __name__ == "__main__":
    main()
