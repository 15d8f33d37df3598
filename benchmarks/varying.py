"""Varying effects: simulation-based calibration, the gain of partial pooling, and how long many groups take.

    python benchmarks/varying.py ranks "cost ~ (1 | clinic)" --groups 50 --trials 500 --out ranks
    python benchmarks/varying.py gain "cost ~ (1 | clinic)" --groups 50 --trials 100 --sigma 0.1 --out gain
    python benchmarks/varying.py time "cost ~ (1 | clinic)" --groups 1000 --rows 200000
    python benchmarks/varying.py show ranks

`ranks` draws parameters from a prior that keeps rows inside the bounds, `gain` gives the levels a spread of half of
``--sigma``. Both write one file for each of the ``--parts`` that are run beside each other (``--part 0`` and so on),
and stop after ``--seconds``. Rows, noise and chains follow from the number of the trial.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tacit
from tacit.infer import problem_of
from tacit.runtime.chain import SamplerSettings

PRIOR = {"level": 0.2, "slope": 0.15, "spread": 0.12, "sigma": 0.15}
KEPT = 100  # draws of a trial, KEEP apart
KEEP, WARMUP = 4, 400


def plan_of(said: Any) -> tacit.Plan:
    """Everything in mapped units."""
    levels = [f"c{i}" for i in range(said.groups)]
    schema = tacit.Schema(cost=(-1, 1), age=(-1, 1), sex=["f", "m"], smokes=["no", "yes"], clinic=levels)
    family = tacit.VaryingLogisticRegression if said.formula.startswith("smokes") else tacit.VaryingRegression
    return tacit.Plan(family(said.formula), schema, tacit.PureDP(said.epsilon))


def prior_of(said: Any) -> dict[str, float]:
    """The default one, but that rows have to stay inside their bounds."""
    return PRIOR if said.what == "ranks" and not said.formula.startswith("smokes") else {}


def parsed(plan: tacit.Plan, rows: Any) -> dict[str, Any]:
    """Raw ``rows`` as numbers inside their bounds and codes of levels."""
    found: dict[str, Any] = {}
    for name, cells in rows.items():
        column = plan.schema[name]
        known = {level: code for code, level in enumerate(getattr(column, "levels", ()))}
        found[name] = np.array([known[cell] for cell in cells]) if known else np.clip(cells, column.low, column.high)
    return found


def released(plan: tacit.Plan, rows: Any, rng: Any) -> Any:
    """The sums of raw ``rows`` with the noise of the plan, in real units."""
    noise, statistic = plan.noise(), plan.statistic()
    sums = np.array(statistic.batch_sum(parsed(plan, rows)), float)
    return (sums + rng.laplace(size=len(sums)) * np.array(noise.scales)) / statistic.unit


def given(plan: tacit.Plan, said: Any, rng: Any) -> tuple[Any, Any]:
    """Parameters and rows of one trial: from the prior, or with a spread of half of sigma and groups of one size."""
    model, schema = plan.model, plan.schema
    if said.what == "ranks":
        return model.draw_together(problem_of(plan, prior_of(said), said.rows).prior, schema, said.rows, rng)
    found = model.draw_parameters(model.default_prior(schema), schema, rng)
    found |= {"theta": np.full(len(found["theta"]), 0.1), "sigma": said.sigma, "spread": said.sigma / 2}
    for name in ("effect", "slope_effect"):
        if name in found:
            found[name] = said.sigma / 2 * rng.standard_normal(said.groups)
    found |= model.by_level(found, schema)
    rows = model.draw_rows(found, schema, said.rows, rng)
    levels = schema.category("clinic").levels
    rows["clinic"] = [levels[code] for code in rng.integers(0, said.groups, said.rows)]
    draws = {name: np.asarray(value)[None] for name, value in found.items()}
    rows["cost"] = model.mean_response(draws, schema, rows)[0] + said.sigma * rng.standard_normal(said.rows)
    return found, rows


def chain_of(plan: tacit.Plan, said: Any, settings: SamplerSettings) -> Any:
    """The chain of the default method, compiled when it is first called."""
    problem = problem_of(plan, prior_of(said), said.rows)
    return jax.jit(plan.model.methods["by-group"].build(problem, settings))


def trials(said: Any) -> None:
    """The trials of one part: ranks of true values among draws, errors, and whether 90% intervals hold."""
    plan, began, kept = plan_of(said), time.perf_counter(), []
    chain = chain_of(plan, said, SamplerSettings(WARMUP, KEPT * KEEP))
    for trial in range(said.part, said.trials, said.parts):
        if kept and time.perf_counter() - began > said.seconds:
            break
        rng = np.random.default_rng([said.seed, trial])
        truth, rows = given(plan, said, rng)
        z = released(plan, rows, rng)
        draws, info = chain(jax.random.key(trial), z)
        row: dict[str, Any] = {"diverging": float(np.mean(info["diverging"]))}
        for name, drawn in draws.items():
            if name in truth:
                values, true = np.asarray(drawn), np.asarray(truth[name])
                low, high = np.quantile(values, [0.05, 0.95], axis=0)
                row[f"rank {name}"] = (values[::KEEP] < true).sum(axis=0)
                row[f"held {name}"] = (low <= true) & (true <= high)
                row[f"error {name}"] = values.mean(axis=0) - true
        if "group_mean" in truth:
            parts = z[: plan.statistic().width * said.groups].reshape(said.groups, -1)[:, :2]
            row["error alone"] = (parts[:, 1] - parts[:, 0]) / np.maximum(parts.sum(axis=1), 1) - truth["group_mean"]
        kept.append(row)
        np.savez(f"{said.out}.{said.part}.npz", **{name: np.array([one[name] for one in kept]) for name in row})
    print(said.part, len(kept), "trials in", round(time.perf_counter() - began, 1), "s", flush=True)


def show(said: Any) -> None:
    """What all parts found."""
    from scipy.stats import kstest

    files = [np.load(path) for path in sorted(Path().glob(f"{said.out}.*.npz"))]
    found = {name: np.concatenate([one[name] for one in files]) for name in files[0]}
    print("trials", len(found["diverging"]), "diverging", round(found["diverging"].mean(), 5))
    rng, least = np.random.default_rng(0), {}
    for name in (name.removeprefix("rank ") for name in found if name.startswith("rank ")):
        shares = (found[f"rank {name}"] + rng.random(found[f"rank {name}"].shape)) / (KEPT + 1)
        flat = shares.reshape(len(shares), -1)
        p = [float(kstest(column, "uniform").pvalue) for column in flat.T]
        least[name] = min(p)
        tenths = np.histogram(flat, bins=10, range=(0, 1))[0] / flat.size
        rmse = np.sqrt(np.mean(found[f"error {name}"] ** 2))
        held = found[f"held {name}"].mean()
        print(
            f"{name}: least p {min(p):.4f} of {len(p)}; 90% held {held:.3f}; error {rmse:.4f}; tenths {tenths.round(3)}"
        )
    print("least p of all", round(min(least.values()), 4))
    if "error alone" not in found:
        return
    alone, pooled = (np.sqrt(np.mean(found[f"error {name}"] ** 2)) for name in ("alone", "group_mean"))
    print("error by themselves", round(alone, 4), "pooled", round(pooled, 4), "gain", round(1 - pooled / alone, 3))


def timed(said: Any) -> None:
    """Four chains at once, with and without what compiling takes."""
    plan = plan_of(said)
    truth, rows = given(plan, said, np.random.default_rng(said.seed))
    z = released(plan, rows, np.random.default_rng(said.seed + 1))
    chain = chain_of(plan, said, SamplerSettings(500, 500))
    many = jax.jit(jax.vmap(chain, in_axes=(0, None)))
    for what in ("with compiling", "alone"):
        began = time.perf_counter()
        draws, info = jax.block_until_ready(many(jax.random.split(jax.random.key(said.seed), 4), z))
        print(what, round(time.perf_counter() - began, 1), "s on", jax.devices()[0].device_kind, flush=True)
    error = np.asarray(draws["group_mean"]).mean(axis=(0, 1)) - truth["group_mean"]
    print("steps", float(np.mean(info["n_steps"])), "diverging", float(np.mean(info["diverging"])))
    print("spread of each chain", np.asarray(draws["spread"]).mean(axis=1), "error", np.sqrt(np.mean(error**2)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ranks", "gain", "time", "show"])
    parser.add_argument("formula")
    for name, default in (("groups", 50), ("rows", 10_000), ("trials", 500), ("seed", 0), ("part", 0), ("parts", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, number in (("epsilon", 0.5), ("sigma", 0.1), ("seconds", 1e9)):
        parser.add_argument(f"--{name}", type=float, default=number)
    parser.add_argument("--out", default="varying")
    arguments = parser.parse_args()
    if arguments.what == "show":
        arguments.out = arguments.formula
    with jax.enable_x64(True):
        {"ranks": trials, "gain": trials, "time": timed, "show": show}[arguments.what](arguments)
