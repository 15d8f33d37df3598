"""What docs/unknown-n.md says of an n that is not public: calibration with n from a Poisson distribution, and seconds.

    python benchmarks/unknown_n.py --calibrate --trials 200 --seed 21
    python benchmarks/unknown_n.py --calibrate --only gamma-regression --chunks 0:5 --out results/unknown_n
    python benchmarks/unknown_n.py --table --out results/unknown_n
    python benchmarks/unknown_n.py --time --only linear

Calibration: for each family, made-up tables of about 300 rows (500 for regressions by scores in rounds, 1,000 for
families by likelihood) under add-remove neighbours, at epsilon = 1 (rho = 0.5 for rounds). Printed are the least
p-value of uniform ranks, times the number of tests, and how often the 95% intervals hold. With ``--out`` trials come in
chunks of 20 or 5, each with a seed and a file of its own, so that a long run may be stopped and shared out. With
``--neighbours replace-one`` n is public. Time: processor seconds of `tacit.infer` with its usual settings for releases
of 10,000 rows, with a public n and without, for the first release of a plan and once what is needed has been compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.calibration.calibrate import Calibration
from tacit.models.likelihood_steps import fitted
from tacit.models.registry import SCORED
from tacit.posterior.score_sites import score_sites

SCHEMA = tacit.Schema(
    y=(-10, 10),
    a=(-1, 1),
    b=(-1, 1),
    g=["p", "q"],
    h=[f"h{i}" for i in range(5)],
    x=["no", "yes"],
    k=["a", "b", "c", "d"],
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
    "varying shares": (tacit.VaryingLogisticRegression("x ~ (1 | h)"), None, SUMS, None),
    "logistic by cells": (tacit.LogisticRegression("x ~ g"), "exact-cells", SUMS, {"theta_sd": 1.0}),
    "logistic from sums": (tacit.LogisticRegression("x ~ a"), "gaussian-covariates", SUMS, {**WIDE, "theta_sd": 1.0}),
    "poisson from sums": (
        tacit.PoissonRegression("c ~ a", link="log"),
        "gaussian-covariates",
        SUMS,
        {**WIDE, "theta_sd": 0.7},
    ),
    "poisson from sums, softplus": (
        tacit.PoissonRegression("c ~ a"),
        "gaussian-covariates",
        SUMS,
        {**WIDE, "theta_sd": 0.7},
    ),
    "logistic by scores": (tacit.LogisticRegression("x ~ a"), None, ROUNDS, None),
    "poisson by scores": (tacit.PoissonRegression("c ~ a", link="log"), None, ROUNDS, {"theta_sd": 0.7}),
    "poisson by scores, softplus": (tacit.PoissonRegression("c ~ a"), None, ROUNDS, {"theta_sd": 0.7}),
}
BY_LIKELIHOOD = {name: family.examples()[0] for name, family in SCORED.items()}
CASES |= {name: (one.model, None, ROUNDS, one.prior) for name, one in BY_LIKELIHOOD.items()}
CHUNK, FEW = 20, 5
"""Trials of a chunk; of families by likelihood a few, one by one, as a batch of them waits for the longest."""


def plan_of(name: str, neighbours: str, rho: float = 0.5) -> tacit.Plan:
    """The plan of a case, with the columns that it reads; ``rho`` is the budget of scores in rounds."""
    model, _, mechanism, _ = CASES[name]
    pure = mechanism is SUMS
    budget = tacit.PureDP(1.0, neighbours=neighbours) if pure else tacit.ZCDP(rho, neighbours=neighbours)
    schema = BY_LIKELIHOOD[name].schema if name in BY_LIKELIHOOD else SCHEMA
    whole = tacit.Plan(model, schema, budget, mechanism)
    return replace(whole, schema=tacit.Schema({column: schema[column] for column in whole.reads}))


def study(name: str, trials: int, seed: int, said: argparse.Namespace) -> Calibration:
    """Releases of made-up tables, and where the truth lies among the draws of each."""
    _, method, mechanism, prior = CASES[name]
    n = said.n or (1000 if name in BY_LIKELIHOOD else 300 if mechanism is SUMS else 500)
    plan = plan_of(name, said.neighbours, said.rho)
    settings = {key: getattr(said, key) for key in ("draws", "warmup") if getattr(said, key) is not None}
    return tacit.calibrate(plan, n=n, trials=trials, seed=seed, method=method, prior=prior, **settings)


def line(name: str, found: Calibration) -> str:
    """One line of a table: trials, the least p-value times the number of tests, and the coverage of each number."""
    held, least = found.coverage(0.95), found.least_p()
    worst = min(least, key=lambda key: least[key])
    ends = f"{100 * min(held.values()):.1f} to {100 * max(held.values()):.1f}"
    return f"| {name} | {len(found.failed)} | {least[worst]:.3g} ({worst}) | {ends} | {int(found.refused.sum())} |"


def chunk(name: str, place: int, said: argparse.Namespace) -> None:
    """Calibrate with a seed of this chunk's own, and keep what came out, unless that is there."""
    path = said.out / f"{name.replace(' ', '-')}.{said.neighbours}.{place}.json"
    if path.exists():
        return
    start = time.process_time()
    one_by_one = name in BY_LIKELIHOOD
    sizes = [1] * FEW if one_by_one else [CHUNK]
    parts = [study(name, size, 1000 * said.seed + place * len(sizes) + i, said) for i, size in enumerate(sizes)]
    kept = {
        "name": name,
        "neighbours": said.neighbours,
        "draws": parts[0].draws,
        "ranks": {key: np.concatenate([one.ranks[key] for one in parts]).tolist() for key in parts[0].ranks},
        "failed": np.concatenate([one.failed for one in parts]).tolist(),
        "diverging": np.concatenate([one.diagnostics.get("diverging", 0.0 * one.failed) for one in parts]).tolist(),
        "seconds": time.process_time() - start,
    }
    said.out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept))


def table(out: Path) -> None:
    """Print a line for each case of which there are chunks."""
    chunks = [json.loads(path.read_text()) for path in sorted(out.glob("*.*.json"))]
    for name, neighbours in dict.fromkeys((one["name"], one["neighbours"]) for one in chunks):
        own = [one for one in chunks if (one["name"], one["neighbours"]) == (name, neighbours)]
        whole = Calibration(
            ranks={key: np.concatenate([one["ranks"][key] for one in own]) for key in own[0]["ranks"]},
            draws=own[0]["draws"],
            failed=np.concatenate([one["failed"] for one in own]),
            diagnostics={"diverging": np.concatenate([one["diverging"] for one in own])},
            **{key: {} for key in ("truths", "means", "sds", "intervals")},
            released=None,
        )
        print(line(f"{name}, {neighbours}", whole), f"{sum(one['seconds'] for one in own):.0f} s", flush=True)


def moved(name: str, said: argparse.Namespace) -> str:
    """How far estimates by likelihood move if they are told n: in medians, over how far they are off.

    The largest of all numbers; how many of the releases have one that moves by more than half of the median error, as
    there are two places that the anchor may be at; and the standard deviation of the noise of n.
    """
    plan, prior, found = plan_of(name, "add-remove", said.rho), CASES[name][3], []
    whole = replace(plan.mechanism.default_prior(plan.model, plan.schema), **prior)
    for seed in range(said.trials):
        n = int(np.random.default_rng([said.seed, seed]).poisson(said.n or 1000))
        one = tacit.simulate(plan, n=n, seed=1000 * said.seed + seed, prior=prior)
        ((rounds, values, noisy),) = score_sites([one.release])
        both = [fitted(plan.model, plan.schema, rounds, values, rows, whole, 8).anchor for rows in (noisy, float(n))]
        named = [*(plan.model.named(at, plan.schema, np) for at in both), one.parameters]
        found.append([np.concatenate([np.ravel(own[key]) for key in one.parameters]) for own in named])
    latent, known, truth = np.array(found).transpose(1, 0, 2)
    off, moves = np.median(np.abs(known - truth), axis=0), np.abs(latent - known)
    jumps = int((moves > off / 2).any(axis=1).sum())
    largest = (np.median(moves, axis=0) / off).max()
    return f"| {name} | {said.trials} | {largest:.2g} | {jumps} | {one.release.noisy_n[1]:.3g} |"


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
        "v": np.minimum(rng.exponential(6, n), 30),
        "w": np.minimum(rng.exponential(1, n), 3),
        "m": np.minimum(rng.exponential(15, n), 24),
        "c": np.minimum(rng.poisson(2, n), 12),
    }


def rows_of(name: str, plan: tacit.Plan, n: int, seed: int) -> Any:
    """A table for a case."""
    if name not in BY_LIKELIHOOD:
        return rows(n, seed)
    rng = np.random.default_rng(seed)
    prior = replace(plan.mechanism.default_prior(plan.model, plan.schema), theta_sd=0.5)
    return plan.model.draw_rows(plan.model.draw_parameters(prior, plan.schema, rng), plan.schema, n, rng)


def seconds(name: str, neighbours: str, n: int = 10_000) -> tuple[float, float]:
    """Of a process's first inference, and of one whose programs were compiled for another release of the same plan."""
    method, plan = CASES[name][1], plan_of(name, neighbours)

    def spent(release: tacit.Release, times: int) -> float:
        start = time.process_time()
        for seed in range(times):
            tacit.infer(release, method=method, seed=seed, anyway=True)
        return (time.process_time() - start) / times

    releases = [tacit.privatize(rows_of(name, plan, n, seed), plan, ledger=None) for seed in range(4)]
    first = spent(releases[0], 1)
    again = spent(releases[1], 1)
    times = max(1, min(20, round(0.5 / again)))
    return first, min(again, *(spent(release, times) for release in releases[1:]))


def timed(name: str, neighbours: str) -> tuple[float, float]:
    """The same in a process of its own that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--seconds", "--only", name, "--neighbours", neighbours]
        done = subprocess.run(command, env={**os.environ, "XDG_CACHE_HOME": cache}, capture_output=True, check=True)
    first, again = json.loads(done.stdout.decode().splitlines()[-1])
    return first, again


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--table", action="store_true", help="print what is kept in --out")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--moved", action="store_true", help="how far estimates by likelihood move if n is said")
    parser.add_argument("--seconds", action="store_true", help="of one case, in this process")
    parser.add_argument("--only", help="cases, with semicolons between them")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--neighbours", default="add-remove", choices=["add-remove", "replace-one"])
    parser.add_argument("--n", type=int, help="about so many rows")
    parser.add_argument("--rho", type=float, default=0.5, help="the budget of scores in rounds")
    parser.add_argument("--chunks", default="0:5", help="the first one, and the one after the last")
    parser.add_argument("--out", type=Path, help="where chunks are kept")
    parser.add_argument("--draws", type=int, help="that the truth is ranked among")
    parser.add_argument("--warmup", type=int)
    said = parser.parse_args()
    if said.table:
        table(said.out)
        return
    for name in said.only.split(";") if said.only else CASES:
        if said.moved and name in BY_LIKELIHOOD:
            print(moved(name, said), flush=True)
        if said.seconds:
            print(json.dumps(seconds(name, said.neighbours)))
        if said.calibrate and said.out:
            for place in range(*map(int, said.chunks.split(":"))):
                chunk(name, place, said)
        elif said.calibrate:
            print(line(name, study(name, said.trials, said.seed, said)), flush=True)
        if said.time:
            (cold, known), (first, latent) = (timed(name, one) for one in ("replace-one", "add-remove"))
            both = f"{known:.2g} | {latent:.2g} | {latent / known:.2g}"
            print(f"| {name} | {both} | {cold:.3g} | {first:.3g} | {first / cold:.2g} |", flush=True)


if __name__ == "__main__":
    main()
