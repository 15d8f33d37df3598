"""How far the end of a private chain is from the truth, chain by chain, beside one draw from the posterior.

    python benchmarks/private_chains.py [--repeats 20] [--page docs/private-networks.md]

A logistic regression with coefficients 0.5 and 1.5, x uniform on (-1, 1), beta = 1.5, delta = 1e-5; 1,000 noisy sums
for every chain (250 trajectories for hmc). A number is the mean over repeats of |estimate - truth|, with its standard
error; the same rows are used in all of a column. Always saying 0 scores 1.58. Noise comes from the operating system, so
that a second run differs within the errors.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

TRUTH = (0.5, 1.5)
COLUMNS = ((1.0, 1_000), (1.0, 10_000), (5.0, 1_000))  # epsilon, rows
REPEATS, SUMS, DELTA, SEED = 20, 1000, 1e-5, 2023
BEGIN, END = "<!-- begin chains -->", "<!-- end chains -->"


def data(n: int, repeat: int) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng([SEED, n, repeat])
    x = rng.uniform(-1, 1, n)
    chances = 1 / (1 + np.exp(-TRUTH[0] - TRUTH[1] * x))
    return {"x": x, "y": np.where(rng.random(n) < chances, "yes", "no")}


def plans(epsilon: float, n: int) -> dict[str, Any]:
    import tacit

    model, schema = tacit.LogisticRegression("y ~ x"), tacit.Schema(x=(-1, 1), y=["no", "yes"])
    budget = tacit.ApproxDP(epsilon, DELTA)
    chain: dict[str, Any] = {"loss": "beta-divergence", "gamma": 1e-9, "assume": "converged"}
    found = {
        "no privacy: one draw, weight 1": tacit.Plan(
            model,
            schema,
            tacit.ApproxDP(4.001, DELTA),
            tacit.PosteriorSample(**chain, options={"beta": 1.5, "weight": 1.0}),
        ),
        "one draw, if its chain converged": tacit.Plan(
            model,
            schema,
            budget,
            tacit.PosteriorSample(**chain, options={"beta": 1.5}),
        ),
    }
    for name, said in (
        ("sgld", {"steps": SUMS}),
        ("sgld on n / 10 rows", {"steps": SUMS, "batch": n // 10}),
        ("penalty", {"steps": SUMS}),
        ("fast-mh on n / 10 rows", {"steps": SUMS, "batch": n // 10}),
        ("barker", {"steps": SUMS}),
        ("hmc", {"steps": SUMS // 4}),
    ):
        found[name] = tacit.Plan(model, schema, budget, tacit.PrivateChain(name.split()[0], n=n, **said))
    return found


def rows(repeats: int = REPEATS) -> list[dict[str, Any]]:
    """One row a method."""
    import numpy as np

    import tacit

    table: dict[str, dict[str, Any]] = {}
    for epsilon, n in COLUMNS:
        for name, plan in plans(epsilon, n).items():
            off: list[float] = []
            seconds: list[float] = []
            for repeat in range(repeats):
                some = data(n, repeat)
                started = time.perf_counter()
                found = tacit.released_draws(tacit.privatize(some, plan, ledger=None)).values[-1]
                seconds.append(time.perf_counter() - started)
                off.append(float(np.linalg.norm(found - TRUTH)))
            row = table.setdefault(name, {"chain": name})
            row[f"epsilon {epsilon:g}, {n:,} rows"] = f"{np.mean(off):.2f} ± {np.std(off, ddof=1) / repeats**0.5:.2f}"
            if n == max(n for _, n in COLUMNS):
                row["seconds"] = f"{np.median(seconds):.1f}"
            print(name, epsilon, n, row, flush=True)
    return list(table.values())


def markdown(found: list[dict[str, Any]]) -> str:
    names = [*(f"epsilon {epsilon:g}, {n:,} rows" for epsilon, n in COLUMNS), "seconds"]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    lines += [f"| {row['chain']} | " + " | ".join(row[name] for name in names) + " |" for row in found]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    table = markdown(rows(options.repeats))
    print(table)
    if options.page is not None:
        text = options.page.read_text()
        before, rest = text.split(BEGIN)
        options.page.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
