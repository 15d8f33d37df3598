"""What docs/unknown-n.md says of an n that is not public: calibration with n from a Poisson distribution, and seconds.

    python benchmarks/unknown_n.py --calibrate --trials 200 --seed 21
    python benchmarks/unknown_n.py --time --only linear

Calibration: for each family, made-up tables of about 300 rows (500 for scores in rounds) under add-remove neighbours,
at epsilon = 1 (rho = 0.5). Printed are the least p-value of uniform ranks, times the number of tests, and how often the
95% intervals hold. Time: processor seconds of `tacit.infer` with its usual settings for releases of 10,000 rows, once
what is needed has been compiled, with a public n and without.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

import tacit

SCHEMA = tacit.Schema(
    y=(-10, 10),
    a=(-1, 1),
    b=(-1, 1),
    g=["p", "q"],
    h=[f"h{i}" for i in range(5)],
    x=["no", "yes"],
    k=["a", "b", "c", "d"],
    s=["low", "middle", "high"],
    v=(0, 30),
    w=(0, 3),
    m=(0, 24),
    c=(0, 12),
)
SUMS, ROUNDS = tacit.AddNoise(), tacit.Newton()
WIDE = {"mean_sd": 0.15, "scale": 0.15}
LINEAR = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "nu0": 30.0, "kappa0": 20.0, "lambda0": (20.0, 5.0, 5.0)}
CASES: dict[str, tuple[Any, str | None, Any, Any]] = {
    "share": (tacit.Bernoulli("x"), None, SUMS, None),
    "levels": (tacit.Categorical("k"), None, SUMS, None),
    "histogram": (tacit.Histogram("w", [1, 2]), None, SUMS, None),
    "quantiles": (tacit.Quantiles("w", [0.5], [1, 2]), None, SUMS, None),
    "shares by group": (tacit.Shares("x", by="k"), None, SUMS, None),
    "survival curve": (tacit.SurvivalCurve("m", "x", (6, 12)), None, SUMS, None),
    "mean": (tacit.Mean("v"), None, SUMS, None),
    "mean by group": (tacit.Mean("v", by="g"), None, SUMS, None),
    "normal": (tacit.Normal("v"), None, SUMS, None),
    "exponential": (tacit.Exponential("v"), None, SUMS, None),
    "poisson": (tacit.Poisson("c"), None, SUMS, None),
    "geometric": (tacit.Geometric("v"), None, SUMS, None),
    "linear": (tacit.LinearRegression("y ~ a + b"), "wishart", SUMS, LINEAR),
    "linear with levels": (tacit.LinearRegression("y ~ g + a"), "cell-moments", SUMS, {"a0": 20.0, "b0": 0.5}),
    "varying": (
        tacit.VaryingRegression("y ~ (1 | h)"),
        None,
        SUMS,
        {"level": 0.2, "spread": 0.12, "sigma": 0.15},
    ),
    "logistic by cells": (tacit.LogisticRegression("x ~ g"), "exact-cells", SUMS, {"theta_sd": 1.0}),
    "logistic from sums": (tacit.LogisticRegression("x ~ a"), "gaussian-covariates", SUMS, {**WIDE, "theta_sd": 1.0}),
    "poisson from sums": (
        tacit.PoissonRegression("c ~ a", link="log"),
        "gaussian-covariates",
        SUMS,
        {**WIDE, "theta_sd": 0.7},
    ),
    "logistic by scores": (tacit.LogisticRegression("x ~ a"), None, ROUNDS, None),
    "poisson by scores": (tacit.PoissonRegression("c ~ a", link="log"), None, ROUNDS, None),
    "ordinal by scores": (tacit.OrdinalRegression("s ~ a"), None, ROUNDS, {"theta_sd": 1.0}),
}


def plan_of(name: str, neighbours: str) -> tacit.Plan:
    """The plan of a case, with the columns that it reads."""
    model, _, mechanism, _ = CASES[name]
    pure = mechanism is SUMS
    budget = tacit.PureDP(1.0, neighbours=neighbours) if pure else tacit.ZCDP(0.5, neighbours=neighbours)
    whole = tacit.Plan(model, SCHEMA, budget, mechanism)
    return replace(whole, schema=tacit.Schema({column: SCHEMA[column] for column in whole.reads}))


def calibrate(name: str, trials: int, seed: int, settings: dict[str, int]) -> str:
    """One line of a table: the least p-value, times the number of tests, and the coverage of each number."""
    _, method, mechanism, prior = CASES[name]
    n = 300 if mechanism is SUMS else 500
    plan = plan_of(name, "add-remove")
    found = tacit.calibrate(plan, n=n, trials=trials, seed=seed, method=method, prior=prior, **settings)
    held = found.coverage(0.95).values()
    return f"{min(found.least_p().values()):.3g} | {100 * min(held):.1f} to {100 * max(held):.1f}"


def rows(n: int, seed: int) -> dict[str, Any]:
    """A table with all columns, which fits every case."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0, 0.3, (2, n)).clip(-1, 1)
    g = rng.random(n) < 0.4
    return {
        "y": np.clip(1 + 2 * a - b + 1.5 * g + rng.normal(0, 2, n), -10, 10),
        "a": a,
        "b": b,
        "g": np.where(g, "q", "p"),
        "h": rng.choice([f"h{i}" for i in range(5)], n),
        "x": np.where(rng.random(n) < 1 / (1 + np.exp(0.5 - a - 0.5 * g)), "yes", "no"),
        "k": rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1]),
        "s": rng.choice(["low", "middle", "high"], n),
        "v": np.minimum(rng.exponential(6, n), 30),
        "w": np.minimum(rng.exponential(1, n), 3),
        "m": np.minimum(rng.exponential(15, n), 24),
        "c": np.minimum(rng.poisson(2, n), 12),
    }


def seconds(name: str, neighbours: str, n: int = 10_000) -> float:
    """Of an inference whose programs were compiled for another release of the same plan."""
    method, plan, found = CASES[name][1], plan_of(name, neighbours), []
    for seed in range(3):
        release = tacit.privatize(rows(n, seed), plan, ledger=None)
        start = time.process_time()
        tacit.infer(release, method=method, seed=seed, anyway=True)
        found.append(time.process_time() - start)
    return min(found[1:])


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--only", help="cases, with commas between them")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--draws", type=int, help="that the truth is ranked among")
    parser.add_argument("--warmup", type=int)
    said = parser.parse_args()
    settings = {key: getattr(said, key) for key in ("draws", "warmup") if getattr(said, key) is not None}
    for name in said.only.split(",") if said.only else CASES:
        if said.calibrate:
            print(f"| {name} | {said.trials} | {calibrate(name, said.trials, said.seed, settings)} |", flush=True)
        if said.time:
            known, latent = (seconds(name, neighbours) for neighbours in ("replace-one", "add-remove"))
            print(f"| {name} | {known:.3g} | {latent:.3g} | {latent / known:.2g} |", flush=True)


if __name__ == "__main__":
    main()
