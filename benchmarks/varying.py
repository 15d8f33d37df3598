"""Varying effects: simulation-based calibration, the gain of partial pooling, and how long many groups take.

    python benchmarks/varying.py ranks "cost ~ (1 | clinic)" --groups 50 --trials 500 --out ranks
    python benchmarks/varying.py gain "cost ~ (1 | clinic)" --groups 50 --trials 100 --sigma 0.1 --out gain
    python benchmarks/varying.py time "cost ~ (1 | clinic)" --groups 1000 --rows 200000
    python benchmarks/varying.py show ranks

`ranks` draws parameters from a prior that keeps nearly all rows inside the bounds; those outside are summed as they
are, since clamping is no part of the model. `gain` gives the levels a spread of half of ``--sigma``. Both write one
file for each of the ``--parts`` that are run beside each other (``--part 0`` and so on), and stop after ``--seconds``.
Rows, noise and chains follow from the number of the trial. On a GPU run many trials at once, with trajectories of one
length: ``--batch 250 --leapfrogs 32``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

import tacit
from tacit.infer import problem_of
from tacit.runtime.chain import SamplerSettings
from tacit.statistics.group_gram import GroupGram

PRIOR = {"level": 0.2, "slope": 0.15, "spread": 0.12, "sigma": 0.15}
KEPT = 100  # draws of a trial that are ranked, `--keep` apart


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


def released(plan: tacit.Plan, rows: Any, rng: Any, *, clamped: bool = True) -> Any:
    """The sums of raw ``rows`` with the noise of the plan, in real units."""
    noise, statistic, cells = plan.noise(), plan.statistic(), parsed(plan, rows)
    if clamped or not isinstance(statistic, GroupGram):
        sums = np.array(statistic.batch_sum(cells), float) / statistic.unit
    else:
        v = [column.values(cells, statistic.steps) / statistic.steps for column in statistic.design]
        v.append(np.asarray(rows["cost"], float))
        parts = [(1 - v[-1]) / 2, (1 + v[-1]) / 2, *(v[j] for j in statistic.single)]
        parts += [v[j] * v[k] for j, k in statistic.block]
        group = statistic.by.codes(cells)
        blocks = np.stack([np.bincount(group, weights=part, minlength=statistic.by.size) for part in parts], axis=1)
        sums = np.append(blocks.reshape(-1), [v[j] @ v[k] for j, k in statistic.pooled])
    return sums + rng.laplace(size=len(sums)) * np.array(noise.scales) / statistic.unit


def given(plan: tacit.Plan, said: Any, rng: Any) -> tuple[Any, Any]:
    """Parameters and rows of one trial: from the prior, or with a spread of half of sigma and groups of one size."""
    model, schema = plan.model, plan.schema
    if said.what == "ranks":
        found = model.draw_parameters(problem_of(plan, prior_of(said), said.rows).prior, schema, rng)
        return found, model.draw_rows(found, schema, said.rows, rng)
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
    chain = chain_of(plan, said, SamplerSettings(said.warmup, KEPT * said.keep, said.leapfrogs or None))
    chain = jax.jit(jax.vmap(chain)) if said.batch > 1 else chain
    mine = range(said.part, said.trials, said.parts)
    for first in range(0, len(mine), said.batch):
        if kept and time.perf_counter() - began > said.seconds:
            break
        these = mine[first : first + said.batch]
        rngs = [np.random.default_rng([said.seed, trial]) for trial in these]
        made = [given(plan, said, rng) for rng in rngs]
        zs = [
            released(plan, rows, rng, clamped=said.what != "ranks") for (_, rows), rng in zip(made, rngs, strict=True)
        ]
        keys = jax.vmap(jax.random.key)(np.array(these))
        found = chain(keys, np.array(zs)) if said.batch > 1 else jax.tree.map(lambda a: a[None], chain(keys[0], zs[0]))
        draws, info = jax.tree.map(np.asarray, found)
        for i, (truth, _) in enumerate(made):
            one = ({name: values[i] for name, values in what.items()} for what in (draws, info))
            kept.append(row_of(plan, said, truth, zs[i], *one))
        np.savez(f"{said.out}.{said.part}.npz", **{name: np.array([one[name] for one in kept]) for name in kept[0]})
        print(said.part, len(kept), "trials in", round(time.perf_counter() - began, 1), "s", flush=True)


def row_of(plan: tacit.Plan, said: Any, truth: Any, z: Any, draws: Any, info: Any) -> dict[str, Any]:
    """What is kept of one trial."""
    row: dict[str, Any] = {"diverging": float(np.mean(info["diverging"])), "steps": float(np.mean(info["n_steps"]))}
    for name, values in draws.items():
        if name in truth:
            true = np.asarray(truth[name])
            low, high = np.quantile(values, [0.05, 0.95], axis=0)
            row[f"rank {name}"] = (values[:: said.keep] < true).sum(axis=0)
            row[f"held {name}"] = (low <= true) & (true <= high)
            row[f"error {name}"] = values.mean(axis=0) - true
            row[f"sd {name}"] = values.std(axis=0)
            row[f"size {name}"] = effective_sample_size(values[None])
    name = "group_mean" if "group_mean" in truth else "group_share"
    row |= of_ranks(draws[name], truth[name])
    if "group_mean" in truth:
        parts = z[: plan.statistic().width * said.groups].reshape(said.groups, -1)[:, :2]
        row["error alone"] = (parts[:, 1] - parts[:, 0]) / np.maximum(parts.sum(axis=1), 1) - truth["group_mean"]
    return row


def of_ranks(values: Any, truth: Any) -> dict[str, Any]:
    """Whether 90% intervals of ranks hold the true ones; the probability of being the largest that the truly largest
    group has, and what it is on average if these probabilities are right.
    """
    ranks, true = np.argsort(np.argsort(values, axis=1), axis=1), np.argsort(np.argsort(truth))
    low, high = np.floor(np.quantile(ranks, 0.05, axis=0)), np.ceil(np.quantile(ranks, 0.95, axis=0))
    best = np.mean(ranks == len(true) - 1, axis=0)
    return {"ranks held": (low <= true) & (true <= high), "best": best[true.argmax()], "best expected": best @ best}


def show(said: Any) -> None:
    """What all parts found."""
    from scipy.stats import kstest

    files = [np.load(path) for path in sorted(Path().glob(f"{said.out}.*.npz"))]
    found = {name: np.concatenate([one[name] for one in files]) for name in files[0]}
    print("trials", len(found["diverging"]), "diverging", round(found["diverging"].mean(), 5))
    print("steps", round(found["steps"].mean(), 1))
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
        size = np.quantile(found[f"size {name}"], [0.01, 0.1, 0.5])
        print(f"  effective draws (worst 1% and 10%, median) {size.round()}")
    print("least p of all", round(min(least.values()), 4))
    if "best" in found:
        best = (f"{found[name].mean():.3f}" for name in ("best", "best expected"))
        print(f"ranks: 90% held {found['ranks held'].mean():.3f}; largest: probability {', expected '.join(best)}")
    if "error alone" not in found:
        return
    alone, pooled = (np.sqrt(np.mean(found[f"error {name}"] ** 2)) for name in ("alone", "group_mean"))
    print("error by themselves", round(alone, 4), "pooled", round(pooled, 4), "gain", round(1 - pooled / alone, 3))


def timed(said: Any) -> None:
    """Four chains at once, with and without what compiling takes."""
    plan = plan_of(said)
    truth, rows = given(plan, said, np.random.default_rng(said.seed))
    z = released(plan, rows, np.random.default_rng(said.seed + 1))
    chain = chain_of(plan, said, SamplerSettings(said.warmup, KEPT * said.keep, said.leapfrogs or None))
    many = jax.jit(jax.vmap(chain, in_axes=(0, None)))
    keys = jax.random.split(jax.random.key(said.seed), 4)
    for what in ("with compiling", "alone"):
        began = time.perf_counter()
        draws, info = jax.block_until_ready(many(keys, z))
        print(what, round(time.perf_counter() - began, 1), "s on", jax.devices()[0].device_kind, flush=True)
    mean = "group_mean" if "group_mean" in truth else "group_share"
    error = np.asarray(draws[mean]).mean(axis=(0, 1)) - truth[mean]
    print("steps", float(np.mean(info["n_steps"])), "diverging", float(np.mean(info["diverging"])))
    for name in (mean, "spread", "sigma", "theta"):
        if name in draws:
            values = np.asarray(draws[name])
            size, rhat = np.min(effective_sample_size(values)), np.max(split_gelman_rubin(values))
            print(name, "least effective draws", round(float(size)), "largest R-hat", round(float(rhat), 3))
    print("error", np.sqrt(np.mean(error**2)), "largest count", np.asarray(draws.get("count", np.zeros(1))).max())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ranks", "gain", "time", "show"])
    parser.add_argument("formula")
    for name, default in (("groups", 50), ("rows", 10_000), ("trials", 500), ("seed", 0), ("part", 0), ("parts", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("warmup", 400), ("batch", 1), ("leapfrogs", 0), ("keep", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, number in (("epsilon", 0.5), ("sigma", 0.1), ("seconds", 1e9)):
        parser.add_argument(f"--{name}", type=float, default=number)
    parser.add_argument("--out", default="varying")
    arguments = parser.parse_args()
    if arguments.what == "show":
        arguments.out = arguments.formula
    with jax.enable_x64(True):
        {"ranks": trials, "gain": trials, "time": timed, "show": show}[arguments.what](arguments)
